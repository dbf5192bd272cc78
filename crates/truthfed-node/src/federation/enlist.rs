//! Takes in a member whom the authority has certified already: elsewhere, where its key is.
//!
//! Promise: the authority's key is not needed, and nobody is put on the roster whom it did not certify.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use truthfed::auction::ClientId;

use super::create::replace;
use super::open::{Enrolment, OpenError, read_roster};
use crate::identity::{Certificate, IdentityError, Purpose, check_name};

/// Why a certificate lets nobody in. All are the operator's to mend.
#[derive(Debug, thiserror::Error)]
pub enum EnlistError {
    #[error("{0}: take the file of the member from `roster`, where it was added")]
    Certificate(#[from] IdentityError),
    #[error("this federation's authority did not issue the certificate to a member: take the one that was issued")]
    Foreign,
    #[error("the certificate is no member's: take the file of the member from `roster`, where it was added")]
    Nameless,
    #[error("the certificate of {member} expired on {day}: issue another")]
    Expired { member: ClientId, day: String },
    #[error("{0} has another certificate on the roster: choose another name")]
    Exists(ClientId),
    /// Two members with one key could not be told apart.
    #[error("{holder} has this key already: {member} must make a key of its own")]
    SharedKey { member: ClientId, holder: ClientId },
    #[error(transparent)]
    Roster(#[from] OpenError),
    #[error("cannot write {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Whose certificate this is, if it lets a member in who is not on the roster, or is there with the same certificate.
pub(crate) fn certified(
    pem: &str,
    authority: &Certificate,
    roster: &Path,
) -> Result<(Enrolment, Certificate), EnlistError> {
    let certificate = Certificate::from_pem(pem)?;
    if certificate.is_foreign_to(authority, Purpose::Client) {
        return Err(EnlistError::Foreign);
    }
    let member = certificate.name().and_then(|name| check_name(&name).ok()).ok_or(EnlistError::Nameless)?;
    if certificate.expires() < SystemTime::now() {
        return Err(EnlistError::Expired { member, day: certificate.last_day() });
    }
    let enrolment = Enrolment::new(member, &certificate);
    for (known, _) in read_roster(roster, authority)? {
        if known.member == enrolment.member && known != enrolment {
            return Err(EnlistError::Exists(known.member));
        }
        if known.member != enrolment.member && known.key == enrolment.key {
            return Err(EnlistError::SharedKey { member: enrolment.member, holder: known.member });
        }
    }
    Ok((enrolment, certificate))
}

/// Puts a member on the roster, where an auditor finds its certificate.
pub(crate) fn enlist(roster: &Path, enrolment: &Enrolment, certificate: &Certificate) -> Result<(), EnlistError> {
    let path = roster.join(format!("{}.pem", enrolment.member));
    replace(&path, certificate.pem()).map_err(|error| EnlistError::Io { path, error })
}
