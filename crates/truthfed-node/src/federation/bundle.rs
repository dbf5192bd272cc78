//! The bundle of a member: all it needs to take part, in one folder that can be moved to another machine.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;

use super::open::{OpenError, check_issued, file, read_certificate, read_identity, read_text};
use crate::digest::{Digest, PublicKey};
use crate::identity::{Certificate, Identity, Purpose, check_name, create_private_folder, write_private, write_public};
use crate::terms::{Agreement, RawTerms};

const FILE: &str = "member.toml";
const TERMS: &str = "terms.json";
const AUTHORITY: &str = "authority";
pub(super) const MEMBER: &str = "member";

const HEADER: &str = "\
# A member's bundle of a truthfed federation. Keep the folder together and to yourself: member.key is the member.
# Only `coordinator` and `server_name` may be changed, when the coordinator moves.

";

/// What `member.toml` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleFile {
    /// The member's name.
    pub member: String,
    /// Where the coordinator is reached, `host:port`.
    pub coordinator: String,
    /// The name its certificate is checked against.
    pub server_name: String,
    /// The federation: the hash of the certificate in `authority.pem`.
    pub federation: Digest,
    /// The key that signs receipts.
    pub coordinator_key: PublicKey,
    /// The hash of `terms.json`.
    pub terms: Digest,
}

/// An open bundle.
#[derive(Debug, Clone)]
pub struct Bundle {
    pub folder: PathBuf,
    /// The member's name.
    pub member: ClientId,
    /// Where the coordinator is reached, `host:port`.
    pub coordinator: String,
    /// The name its certificate is checked against.
    pub server_name: String,
    pub federation: Digest,
    /// The key that signs receipts.
    pub coordinator_key: PublicKey,
    /// What the federation agreed on.
    pub agreement: Agreement,
    /// Whom the member trusts.
    pub authority: Certificate,
    /// The member's certificate, and the key that signs offers and deliveries.
    pub identity: Identity,
}

/// Opens the bundle of a member. The error names the first file that is missing, open to others, or not what was
/// issued.
pub fn open_bundle(folder: &Path) -> Result<Bundle, OpenError> {
    let path = folder.join(FILE);
    let content = |path: &Path, problem: String| OpenError::Content { path: path.to_owned(), problem };
    let file: BundleFile = toml::from_str(&read_text(&path)?).map_err(|error| content(&path, error.to_string()))?;
    let member = check_name(&file.member).map_err(|error| content(&path, error.to_string()))?;
    let authority = read_certificate(&self::file(folder, AUTHORITY, "pem"))?;
    if authority.digest() != file.federation {
        return Err(content(&path, "federation is not the hash of authority.pem: take the issued files".to_owned()));
    }
    let identity = read_identity(folder, MEMBER)?;
    check_issued(identity.certificate(), &authority, Purpose::Client, &self::file(folder, MEMBER, "pem"))?;
    Ok(Bundle {
        agreement: read_terms(&folder.join(TERMS), file.terms)?,
        folder: folder.to_owned(),
        coordinator: file.coordinator,
        server_name: file.server_name,
        federation: file.federation,
        coordinator_key: file.coordinator_key,
        identity,
        member,
        authority,
    })
}

fn read_terms(path: &Path, hash: Digest) -> Result<Agreement, OpenError> {
    let refused = |problem: String| OpenError::Content { path: path.to_owned(), problem };
    let text = read_text(path)?;
    let document: RawTerms = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    let agreement = Agreement::try_from(document).map_err(|error| refused(error.to_string()))?;
    match Digest::of(text.as_bytes()) == hash && agreement.hash() == hash {
        true => Ok(agreement),
        false => Err(refused("has another hash than member.toml says: take the issued file".to_owned())),
    }
}

/// What a bundle is made of.
pub(super) struct Contents<'a> {
    pub(super) file: BundleFile,
    pub(super) agreement: &'a Agreement,
    pub(super) authority: &'a Certificate,
    pub(super) identity: &'a Identity,
}

/// Writes a bundle into a new folder.
pub(super) fn write_bundle(folder: &Path, contents: &Contents<'_>) -> io::Result<()> {
    create_private_folder(folder)?;
    let text = toml::to_string(&contents.file).map_err(io::Error::other)?;
    write_public(&folder.join(FILE), &format!("{HEADER}{text}"))?;
    write_public(&folder.join(TERMS), contents.agreement.text())?;
    write_public(&file(folder, AUTHORITY, "pem"), contents.authority.pem())?;
    write_identity(folder, MEMBER, contents.identity)
}

/// Writes a certificate and its key into a folder.
pub(super) fn write_identity(folder: &Path, stem: &str, identity: &Identity) -> io::Result<()> {
    write_public(&file(folder, stem, "pem"), identity.certificate().pem())?;
    write_private(&file(folder, stem, "key"), &identity.key_pem())
}
