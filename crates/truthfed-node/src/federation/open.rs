//! Opening the folder of a federation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use truthfed::auction::ClientId;

use super::settings::{Settings, SettingsError};
use crate::digest::{Digest, PublicKey};
use crate::identity::{
    Authority, AuthorityError, Certificate, CertificateError, Identity, IdentityError, PrivateFileError, Purpose,
    check_name, read_private,
};
use crate::store::Location;

/// Where everything lies.
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
    folder: PathBuf,
    settings: Settings,
    authority: Certificate,
    server: Identity,
    operator: Certificate,
    roster: Vec<Enrolment>,
}

/// A member as it is enrolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    /// Its name.
    pub member: ClientId,
    /// Signs its offers and deliveries.
    pub key: PublicKey,
    /// The hash of its certificate.
    pub certificate: Digest,
}

/// Why a folder or a bundle is not opened. Operator or member, whoever holds it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not such a folder, or a part was moved away.
    #[error("{} is missing: name a folder that `truthfed init` made, or put the file back", .0.display())]
    Missing(PathBuf),
    /// The file system refuses.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// The settings have a mistake: mend the line.
    #[error("{}: {error}", path.display())]
    Settings { path: PathBuf, error: SettingsError },
    /// A file has a mistake: take the one that was issued.
    #[error("{}: {problem}", path.display())]
    Content { path: PathBuf, problem: String },
    /// A key file is not there, or open to others.
    #[error(transparent)]
    PrivateFile(#[from] PrivateFileError),
    /// A certificate.
    #[error("{}: {error}", path.display())]
    Certificate { path: PathBuf, error: CertificateError },
    /// A certificate and its key.
    #[error("{}: {error}", path.display())]
    Identity { path: PathBuf, error: IdentityError },
    /// A certificate of another federation, or for another use: take the one that was issued.
    #[error("{} was not issued by this federation's authority for this use", .0.display())]
    Foreign(PathBuf),
    /// The authority.
    #[error("{}: {error}", path.display())]
    Authority { path: PathBuf, error: AuthorityError },
}

/// Opens the folder of a federation. The error names the first file that is missing, open to others, or not what was
/// made.
pub fn open(folder: &Path) -> Result<Federation, OpenError> {
    let settings = read_settings(folder)?;
    let authority = read_certificate(&file(folder, AUTHORITY, "pem"))?;
    let server = read_identity(folder, SERVER)?;
    check_issued(server.certificate(), &authority, Purpose::Server, &file(folder, SERVER, "pem"))?;
    let operator_file = file(folder, OPERATOR, "pem");
    let operator = read_certificate(&operator_file)?;
    check_issued(&operator, &authority, Purpose::Client, &operator_file)?;
    let roster = read_roster(&folder.join(ROSTER), &authority)?;
    Ok(Federation { folder: folder.to_owned(), settings, authority, server, operator, roster })
}

impl Federation {
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The federation: the hash of its authority's certificate.
    pub fn id(&self) -> Digest {
        self.authority.digest()
    }

    /// Whom everybody of the federation trusts.
    pub fn authority(&self) -> &Certificate {
        &self.authority
    }

    /// The coordinator: its certificate, and the key that signs receipts.
    pub fn server(&self) -> &Identity {
        &self.server
    }

    /// The hash of the operator's certificate.
    pub fn operator(&self) -> Digest {
        self.operator.digest()
    }

    /// Every member that was added, by name; some may have been revoked since.
    pub fn roster(&self) -> &[Enrolment] {
        &self.roster
    }

    /// The operator's certificate and key, to call the coordinator with. Fails when the key is not there, or open to
    /// others.
    pub fn operator_identity(&self) -> Result<Identity, OpenError> {
        read_identity(&self.folder, OPERATOR)
    }

    /// The store, with the path of a file inside the folder.
    pub fn store(&self) -> Location {
        self.settings.store.within(&self.folder)
    }
}

impl Enrolment {
    pub(super) fn new(member: ClientId, certificate: &Certificate) -> Enrolment {
        Enrolment { member, key: certificate.key(), certificate: certificate.digest() }
    }
}

pub(super) fn read_settings(folder: &Path) -> Result<Settings, OpenError> {
    let path = folder.join(SETTINGS);
    Settings::read(&read_text(&path)?).map_err(|error| OpenError::Settings { path, error })
}

pub(super) fn read_authority(folder: &Path) -> Result<Authority, OpenError> {
    let path = file(folder, AUTHORITY, "pem");
    let (certificate, key) = (read_text(&path)?, read_private(&file(folder, AUTHORITY, "key"))?);
    Authority::from_pem(&certificate, &key).map_err(|error| OpenError::Authority { path, error })
}

pub(super) fn read_identity(folder: &Path, stem: &str) -> Result<Identity, OpenError> {
    let path = file(folder, stem, "pem");
    let (certificate, key) = (read_text(&path)?, read_private(&file(folder, stem, "key"))?);
    Identity::from_pem(&certificate, &key).map_err(|error| OpenError::Identity { path, error })
}

pub(super) fn read_certificate(path: &Path) -> Result<Certificate, OpenError> {
    let text = read_text(path)?;
    Certificate::from_pem(&text).map_err(|error| OpenError::Certificate { path: path.to_owned(), error })
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

/// A text of bounded size.
pub(super) fn read_text(path: &Path) -> Result<String, OpenError> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => OpenError::Missing(path.to_owned()),
        _ => OpenError::Unreadable { path: path.to_owned(), error },
    };
    if fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
        let problem = format!("has more than {MAX_BYTES} bytes");
        return Err(OpenError::Content { path: path.to_owned(), problem });
    }
    fs::read_to_string(path).map_err(unreadable)
}

pub(super) fn file(folder: &Path, stem: &str, extension: &str) -> PathBuf {
    folder.join(format!("{stem}.{extension}"))
}

fn read_roster(folder: &Path, authority: &Certificate) -> Result<Vec<Enrolment>, OpenError> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => OpenError::Missing(folder.to_owned()),
        _ => OpenError::Unreadable { path: folder.to_owned(), error },
    };
    let mut roster = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // What begins with a dot was not finished.
        if name.starts_with('.') {
            continue;
        }
        let member = name.strip_suffix(".pem").and_then(|name| check_name(name).ok());
        let problem = || "is not the certificate of a member: remove it".to_owned();
        let member = member.ok_or_else(|| OpenError::Content { path: path.clone(), problem: problem() })?;
        let certificate = read_certificate(&path)?;
        check_issued(&certificate, authority, Purpose::Client, &path)?;
        roster.push(Enrolment::new(member, &certificate));
    }
    roster.sort_by(|a, b| a.member.cmp(&b.member));
    Ok(roster)
}
