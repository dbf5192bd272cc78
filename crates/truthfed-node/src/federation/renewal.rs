//! A member's next key and certificate.
//!
//! The member makes its next key and lets its present one sign it ([`ask_renewal`]). The operator certifies it
//! ([`certify_renewal`]), has it journaled, and puts it on the roster ([`finish_renewal`]). The member takes it over
//! ([`take_renewal`]). Each step can be repeated after a crash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::bundle::{AUTHORITY, Bundle, EARLIER_KEYS, MEMBER, open_bundle, write_key};
use super::certified::{RENEWALS, file_name};
use super::create::{AddError, check_own_key, replace};
use super::open::{
    Enrolment, OpenError, ROSTER, check_holder, check_issued, file, open, read_authority, read_certificate, read_text,
};
use crate::identity::{
    Certificate, PrivateFileError, Purpose, Renewal, RenewalRequest, Validity, create_private_folder, read_private,
};
use crate::signature::Signer;

/// The member's next key, in its bundle, until it is certified.
const NEXT: &str = "next";
/// The request, in the member's bundle.
const REQUEST: &str = "renewal.json";

/// Why a member does not renew. Its bundle is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RenewError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Key(#[from] PrivateFileError),
    #[error("{} is no private key: remove it, and ask for the renewal again", .0.display())]
    NoKey(PathBuf),
    /// The operator certified an earlier request, or somebody else's.
    #[error("{} is for another key than the one in {}: send {REQUEST} to the operator again", issued.display(), key.display())]
    OtherKey { issued: PathBuf, key: PathBuf },
    #[error("{} is not the certificate that the bundle has, and no renewal was asked for: run `truthfed member renew` first", .0.display())]
    NotAsked(PathBuf),
    #[error("cannot write {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Makes the member's next key, unless it has one, and the request for the operator, whose file is returned.
pub fn ask_renewal(folder: &Path) -> Result<PathBuf, RenewError> {
    let bundle = open_bundle(folder)?;
    let path = file(folder, NEXT, "key");
    let next = match path.exists() {
        true => read_key(&path)?,
        false => {
            let signer = Signer::random();
            write_key(folder, NEXT, &signer).map_err(|error| RenewError::Io { path, error })?;
            signer
        }
    };
    let request = folder.join(REQUEST);
    let text = RenewalRequest::text(bundle.federation, &bundle.member, bundle.identity.signer(), &next);
    replace(&request, &text).map_err(|error| RenewError::Io { path: request.clone(), error })?;
    Ok(request)
}

/// Puts the certificate that the operator issued for the member's next key, and that key, in the place of the present ones.
pub fn take_renewal(folder: &Path, issued: &Path) -> Result<Bundle, RenewError> {
    let certificate = read_certificate(issued)?;
    let key = file(folder, NEXT, "key");
    if key.exists() {
        if read_key(&key)?.public() != certificate.key() {
            return Err(RenewError::OtherKey { issued: issued.to_owned(), key });
        }
        exchange(folder, issued, &certificate)?;
    }
    let bundle = open_bundle(folder)?;
    match bundle.identity.certificate().digest() == certificate.digest() {
        true => Ok(bundle),
        false => Err(RenewError::NotAsked(issued.to_owned())),
    }
}

/// The key comes last: until then the same can be done again.
fn exchange(folder: &Path, issued: &Path, certificate: &Certificate) -> Result<(), RenewError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| RenewError::Io { path, error }
    };
    let place = file(folder, MEMBER, "pem");
    let (authority, present) = (read_certificate(&file(folder, AUTHORITY, "pem"))?, read_certificate(&place)?);
    check_issued(certificate, &authority, Purpose::Client, issued)?;
    let member = present.name().ok_or_else(|| OpenError::content(&place, "has no name: take the issued file"))?;
    let member = member.parse().map_err(|error| OpenError::content(&place, &error))?;
    check_holder(certificate, &member, issued)?;
    if present.key() != certificate.key() {
        let earlier = folder.join(EARLIER_KEYS);
        let known = if earlier.exists() { read_text(&earlier)? } else { String::new() };
        let line = format!("{}\n", present.key());
        if !known.ends_with(&line) {
            replace(&earlier, &(known + &line)).map_err(io(&earlier))?;
        }
        replace(&place, certificate.pem()).map_err(io(&place))?;
    }
    let key = file(folder, MEMBER, "key");
    fs::rename(file(folder, NEXT, "key"), &key).map_err(io(&key))?;
    // The request has served its purpose; if it stays, nothing is lost.
    let _ = fs::remove_file(folder.join(REQUEST));
    Ok(())
}

fn read_key(path: &Path) -> Result<Signer, RenewError> {
    Signer::from_pem(&read_private(path)?).map_err(|_| RenewError::NoKey(path.to_owned()))
}

/// Certifies a member's next key. The coordinator must still be told, and then the roster ([`finish_renewal`]).
pub fn certify_renewal(folder: &Path, renewal: &RenewalRequest) -> Result<Enrolment, AddError> {
    let (federation, request) = (open(folder)?, &renewal.request);
    let member = request.member();
    if renewal.federation != federation.authority.digest() {
        let (found, expected) = (renewal.federation, federation.authority.digest());
        return Err(AddError::OtherFederation { found, expected });
    }
    let on_roster = federation.roster.into_iter().find(|enrolment| enrolment.member == *member);
    let on_roster = on_roster.ok_or_else(|| AddError::Unknown(member.clone()))?;
    if on_roster.key == request.key() {
        // Finished before.
        return Ok(on_roster);
    }
    let handed_over = Renewal { federation: renewal.federation, member: member.clone(), key: request.key() };
    if !handed_over.is_signed_by(&on_roster.key, &renewal.signature) {
        return Err(AddError::NotHandedOver(member.clone()));
    }
    check_own_key(folder, request)?;
    let place = folder.join(RENEWALS).join(file_name(member.as_str(), request.key()));
    let earlier = if place.exists() { Some(read_certificate(&place)?) } else { None };
    let certificate = match earlier.filter(|certificate| certificate.key() == request.key()) {
        Some(certificate) => certificate,
        None => {
            let certificate = read_authority(folder)?.certify(request, Validity::leaf());
            let io = |error| AddError::Io { path: place.clone(), error };
            let renewals = folder.join(RENEWALS);
            if !renewals.exists() {
                create_private_folder(&renewals).map_err(io)?;
            }
            replace(&place, certificate.pem()).map_err(io)?;
            certificate
        }
    };
    Ok(Enrolment::new(member.clone(), &certificate))
}

/// Puts a certificate whose renewal is journaled on the roster, and returns its file: the member needs it. The one before is
/// kept: auditors need it.
pub fn finish_renewal(folder: &Path, enrolment: &Enrolment) -> Result<PathBuf, AddError> {
    let (name, renewals) = (enrolment.member.as_str(), folder.join(RENEWALS));
    let on_roster = folder.join(ROSTER).join(format!("{name}.pem"));
    let before = read_certificate(&on_roster)?;
    if before.digest() != enrolment.certificate {
        let certificate = read_certificate(&renewals.join(file_name(name, enrolment.key)))?;
        let kept = renewals.join(file_name(name, before.key()));
        for (place, pem) in [(&kept, before.pem()), (&on_roster, certificate.pem())] {
            replace(place, pem).map_err(|error| AddError::Io { path: place.clone(), error })?;
        }
    }
    Ok(on_roster)
}
