//! Opening the folder of a federation.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use truthfed::auction::ClientId;

use super::settings::Settings;
use crate::digest::{Digest, PublicKey};
use crate::identity::{
    Authority, Certificate, Identity, IdentityError, PrivateFileError, Purpose, check_name, read_private,
};
use crate::store::Location;

pub(super) const SETTINGS: &str = "federation.toml";
pub(super) const AUTHORITY: &str = "authority/authority";
pub(super) const SERVER: &str = "server/server";
pub(super) const OPERATOR: &str = "operator/operator";
pub(super) const ROSTER: &str = "roster";
pub(super) const MEMBERS: &str = "members";

/// Largest public file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// An open folder: settings, the coordinator's identity, and whom it can trust.
#[derive(Debug, Clone)]
pub struct Federation {
    pub folder: PathBuf,
    pub settings: Settings,
    /// Whom everybody of the federation trusts.
    pub authority: Certificate,
    /// The coordinator: its certificate, and the key that signs receipts.
    pub server: Identity,
    operator: Certificate,
    /// Every member that was added, by name; some may have been revoked since.
    pub roster: Vec<Enrolment>,
    certificates: Vec<Certificate>,
}

/// A member as it is enrolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    pub member: ClientId,
    /// Signs its offers and deliveries.
    pub key: PublicKey,
    pub certificate: Digest,
}

/// Why a folder or a bundle is not opened. Operator or member, whoever holds it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is missing: {}", .0.display(), origin(.0))]
    Missing(PathBuf),
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// A file has a mistake: mend the line of the settings, or take the file that was issued.
    #[error("{}: {problem}", path.display())]
    Content { path: PathBuf, problem: String },
    #[error(transparent)]
    PrivateFile(#[from] PrivateFileError),
    /// A certificate of another federation, or for another use: take the one that was issued.
    #[error("{} was not issued by this federation's authority for this use: take the one that was", .0.display())]
    Foreign(PathBuf),
}

impl OpenError {
    pub(super) fn content(path: &Path, problem: &(impl ToString + ?Sized)) -> OpenError {
        OpenError::Content { path: path.to_owned(), problem: problem.to_string() }
    }

    pub(super) fn unreadable(path: &Path, error: io::Error) -> OpenError {
        match error.kind() {
            io::ErrorKind::NotFound => OpenError::Missing(path.to_owned()),
            _ => OpenError::Unreadable { path: path.to_owned(), error },
        }
    }
}

/// Where a file comes from that is missing.
fn origin(path: &Path) -> &'static str {
    match path.file_name().and_then(|name| name.to_str()) {
        Some(SETTINGS) => "name a folder that `truthfed init` made, or put the file back",
        Some(super::bundle::FILE) => {
            "name a member's bundle (what the operator issued, after `truthfed member join` if the member made its own key)"
        }
        _ => "put back the file that was issued",
    }
}

/// Opens the folder of a federation. The error names the first file that is not as it was made.
pub fn open(folder: &Path) -> Result<Federation, OpenError> {
    let settings = read_settings(folder)?;
    let authority = read_certificate(&file(folder, AUTHORITY, "pem"))?;
    let server = read_identity(folder, SERVER)?;
    check_issued(server.certificate(), &authority, Purpose::Server, &file(folder, SERVER, "pem"))?;
    let operator_file = file(folder, OPERATOR, "pem");
    let operator = read_certificate(&operator_file)?;
    check_issued(&operator, &authority, Purpose::Client, &operator_file)?;
    let (roster, certificates) = read_roster(&folder.join(ROSTER), &authority)?.into_iter().unzip();
    Ok(Federation { folder: folder.to_owned(), settings, authority, server, operator, roster, certificates })
}

impl Federation {
    /// The federation: the hash of its authority's certificate.
    pub fn id(&self) -> Digest {
        self.authority.digest()
    }

    /// Where the certificates of its members lie.
    pub(crate) fn roster_folder(&self) -> PathBuf {
        self.folder.join(ROSTER)
    }

    pub fn operator(&self) -> Digest {
        self.operator.digest()
    }

    pub fn operator_certificate(&self) -> &Certificate {
        &self.operator
    }

    /// The certificates of the members on the roster.
    pub fn certificates(&self) -> impl Iterator<Item = (&ClientId, &Certificate)> {
        self.roster.iter().map(|enrolment| &enrolment.member).zip(&self.certificates)
    }

    /// The operator's certificate and key, to call the coordinator with.
    pub fn operator_identity(&self) -> Result<Identity, OpenError> {
        read_identity(&self.folder, OPERATOR)
    }

    /// The store, with the path of a file inside the folder.
    pub fn store(&self) -> Location {
        self.settings.store.within(&self.folder)
    }

    /// What `federation.toml` says now.
    pub fn read_settings_again(&self) -> Result<Settings, OpenError> {
        read_settings(&self.folder)
    }
}

impl Enrolment {
    pub(super) fn new(member: ClientId, certificate: &Certificate) -> Enrolment {
        Enrolment { member, key: certificate.key(), certificate: certificate.digest() }
    }
}

pub(super) fn read_settings(folder: &Path) -> Result<Settings, OpenError> {
    let path = folder.join(SETTINGS);
    Settings::read(&read_text(&path)?).map_err(|error| OpenError::content(&path, &error))
}

pub(super) fn read_authority(folder: &Path) -> Result<Authority, OpenError> {
    read_pair(folder, AUTHORITY, Authority::from_pem)
}

pub(super) fn read_identity(folder: &Path, stem: &str) -> Result<Identity, OpenError> {
    read_pair(folder, stem, Identity::from_pem)
}

/// Reads a certificate and its key. The error names the file that is at fault.
fn read_pair<T>(
    folder: &Path,
    stem: &str,
    read: impl Fn(&str, &str) -> Result<T, IdentityError>,
) -> Result<T, OpenError> {
    let [certificate, key] = ["pem", "key"].map(|extension| file(folder, stem, extension));
    read(&read_text(&certificate)?, &read_private(&key)?).map_err(|error| match error {
        IdentityError::Key(_) | IdentityError::Mismatch => OpenError::content(&key, &error),
        IdentityError::Pem | IdentityError::Content | IdentityError::Foreign => {
            OpenError::content(&certificate, &error)
        }
    })
}

pub(super) fn read_certificate(path: &Path) -> Result<Certificate, OpenError> {
    Certificate::from_pem(&read_text(path)?).map_err(|error| OpenError::content(path, &error))
}

pub(super) fn check_issued(
    certificate: &Certificate,
    authority: &Certificate,
    purpose: Purpose,
    path: &Path,
) -> Result<(), OpenError> {
    match certificate.is_foreign_to(authority, purpose) {
        true => Err(OpenError::Foreign(path.to_owned())),
        false => Ok(()),
    }
}

/// A member is known by its certificate: one under another name makes it act as somebody else.
pub(super) fn check_holder(certificate: &Certificate, member: &ClientId, path: &Path) -> Result<(), OpenError> {
    let name = certificate.name().unwrap_or_else(|| "somebody else".to_owned());
    match name == member.as_str() {
        true => Ok(()),
        false => {
            let problem = format!("is the certificate of {name}, not of {member}: take the one that was issued");
            Err(OpenError::content(path, &problem))
        }
    }
}

pub(super) fn read_text(path: &Path) -> Result<String, OpenError> {
    let unreadable = |error| OpenError::unreadable(path, error);
    if fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
        return Err(OpenError::content(path, &format!("has more than {MAX_BYTES} bytes")));
    }
    fs::read_to_string(path).map_err(unreadable)
}

pub(super) fn file(folder: &Path, stem: &str, extension: &str) -> PathBuf {
    folder.join(format!("{stem}.{extension}"))
}

pub(super) fn read_roster(folder: &Path, authority: &Certificate) -> Result<Vec<(Enrolment, Certificate)>, OpenError> {
    let unreadable = |error| OpenError::unreadable(folder, error);
    let mut roster = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // What begins with a dot was not finished.
        if name.starts_with('.') {
            continue;
        }
        let member = name.strip_suffix(".pem").and_then(|name| check_name(name).ok());
        let foreign = || OpenError::content(&path, "is not the certificate of a member: remove it");
        let member = member.ok_or_else(foreign)?;
        let certificate = read_certificate(&path)?;
        check_issued(&certificate, authority, Purpose::Client, &path)?;
        check_holder(&certificate, &member, &path)?;
        roster.push((Enrolment::new(member, &certificate), certificate));
    }
    roster.sort_by(|(a, _), (b, _)| a.member.cmp(&b.member));
    check_keys(roster.iter().map(|(enrolment, _)| enrolment), folder)?;
    Ok(roster)
}

/// A signature must tell who signed.
fn check_keys<'a>(roster: impl Iterator<Item = &'a Enrolment>, folder: &Path) -> Result<(), OpenError> {
    let mut holders = BTreeMap::new();
    for Enrolment { member, key, .. } in roster {
        if let Some(holder) = holders.insert(*key, member) {
            let path = folder.join(format!("{member}.pem"));
            let problem =
                format!("has the key of {holder}: a key is one member's only, so take the one that was issued");
            return Err(OpenError::content(&path, &problem));
        }
    }
    Ok(())
}
