//! The certificates of members, present and past, and the keys that a journal gives them.
//!
//! `roster` has the present certificate of every member. `renewals` has what renewals issued or replaced, and nothing is ever
//! removed from it, so that an auditor finds a certificate for every key in the journal: the operator cannot enrol a key that the
//! authority never certified, and renew it away.

use std::fs;
use std::path::Path;

use truthfed::auction::ClientId;

use super::open::{Enrolment, Federation, OpenError, ROSTER, check_issued, read_certificate, read_roster};
use crate::coordinator::operator::read_member_infos;
use crate::digest::PublicKey;
use crate::identity::{Certificate, Purpose, check_name};
use crate::store::{Store, StoreError};

/// Certificates that renewals issued or replaced, as `NAME-KEY.pem`.
pub(super) const RENEWALS: &str = "renewals";

/// Every key that a journal gives to a member, with the certificate it names; the oldest of each member first.
pub fn journaled(store: &mut dyn Store) -> Result<Vec<Enrolment>, StoreError> {
    let mut all = Vec::new();
    for (member, info) in read_member_infos(store)? {
        let pairs = info.past.iter().map(|past| (past.key, past.certificate)).chain([(info.key, info.certificate)]);
        all.extend(pairs.map(|(key, certificate)| Enrolment { member: member.clone(), key, certificate }));
    }
    Ok(all)
}

impl Federation {
    /// Every certificate that a member has, had or is about to have, as they are in the folder now.
    pub fn certified(&self) -> Result<Vec<Enrolment>, OpenError> {
        // The roster first: a renewal copies what it replaces to the others before.
        let mut all = read_roster(&self.folder.join(ROSTER), &self.authority)?;
        all.extend(read_renewals(&self.folder.join(RENEWALS), &self.authority)?);
        Ok(all.into_iter().map(|(enrolment, _)| enrolment).collect())
    }
}

/// What renewals issued or replaced; none if there was no renewal.
pub(super) fn read_renewals(
    folder: &Path,
    authority: &Certificate,
) -> Result<Vec<(Enrolment, Certificate)>, OpenError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let unreadable = |error| OpenError::unreadable(folder, error);
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // What begins with a dot was not finished.
        if !name.starts_with('.') {
            all.push(read_renewal(&path, name, authority)?);
        }
    }
    all.sort_by(|(a, _), (b, _)| (&a.member, a.key).cmp(&(&b.member, b.key)));
    Ok(all)
}

/// A certificate under the name that says whose it is and for which key.
pub(super) fn read_renewal(
    path: &Path,
    name: &str,
    authority: &Certificate,
) -> Result<(Enrolment, Certificate), OpenError> {
    let foreign = || OpenError::content(path, "is not the certificate of a renewal: remove it");
    let (member, key) = parts(name).ok_or_else(foreign)?;
    let certificate = read_certificate(path)?;
    check_issued(&certificate, authority, Purpose::Client, path)?;
    match certificate.key() == key && certificate.name().as_deref() == Some(member.as_str()) {
        true => Ok((Enrolment::new(member, &certificate), certificate)),
        false => Err(foreign()),
    }
}

/// Whose certificate a file has, and for which key. One place for each key: no certificate takes the place of another.
pub(super) fn file_name(member: &str, key: PublicKey) -> String {
    format!("{member}-{key}.pem")
}

pub(super) fn parts(name: &str) -> Option<(ClientId, PublicKey)> {
    let (member, key) = name.strip_suffix(".pem")?.rsplit_once('-')?;
    Some((check_name(member).ok()?, key.parse().ok()?))
}
