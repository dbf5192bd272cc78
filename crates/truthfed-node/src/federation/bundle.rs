//! The bundle of a member: all it needs to take part, in one folder that can be moved to another machine.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;

use super::open::{OpenError, check_holder, check_issued, file, read_certificate, read_identity, read_text};
use super::settings::host_of;
use crate::digest::{Digest, PublicKey};
use crate::identity::{Certificate, Identity, Purpose, check_name, create_private_folder, write_private, write_public};
use crate::signature::Signer;
use crate::terms::{Agreement, RawTerms};

pub(super) const FILE: &str = "member.toml";
pub(super) const TERMS: &str = "terms.json";
pub(super) const AUTHORITY: &str = "authority";
pub(super) const MEMBER: &str = "member";
/// The public keys that the member had before it renewed, oldest first, one a line.
pub(super) const EARLIER_KEYS: &str = "earlier-keys.txt";

const HEADER: &str = "\
# A member's bundle of a truthfed federation. Keep the folder together and to yourself: member.key is the member.
# Only `coordinator` and `server_name` may be changed, when the coordinator moves.

";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleFile {
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

/// An open bundle: what [`BundleFile`] says, and the files beside it.
#[derive(Debug, Clone)]
pub struct Bundle {
    pub folder: PathBuf,
    pub member: ClientId,
    pub coordinator: String,
    pub server_name: String,
    pub federation: Digest,
    pub coordinator_key: PublicKey,
    pub agreement: Agreement,
    pub authority: Certificate,
    /// The member's certificate, and the key that signs offers and deliveries.
    pub identity: Identity,
    /// The keys it had before, oldest first.
    pub earlier_keys: Vec<PublicKey>,
}

/// Opens the bundle of a member. The error names the first file that is not as it was issued.
pub fn open_bundle(folder: &Path) -> Result<Bundle, OpenError> {
    let path = folder.join(FILE);
    let file: BundleFile = toml::from_str(&read_text(&path)?).map_err(|error| OpenError::content(&path, &error))?;
    let member = check_name(&file.member).map_err(|error| OpenError::content(&path, &error))?;
    if host_of(&file.coordinator).is_none() {
        let problem = format!("coordinator is `{}`: it must be host:port, such as 127.0.0.1:7443", file.coordinator);
        return Err(OpenError::content(&path, &problem));
    }
    let authority = read_certificate(&self::file(folder, AUTHORITY, "pem"))?;
    if authority.digest() != file.federation {
        let problem = "federation is not the hash of authority.pem: take the issued files";
        return Err(OpenError::content(&path, problem));
    }
    let identity = read_identity(folder, MEMBER)?;
    let certificate_file = self::file(folder, MEMBER, "pem");
    check_issued(identity.certificate(), &authority, Purpose::Client, &certificate_file)?;
    check_holder(identity.certificate(), &member, &certificate_file)?;
    Ok(Bundle {
        agreement: read_terms(&folder.join(TERMS), file.terms)?,
        folder: folder.to_owned(),
        coordinator: file.coordinator,
        server_name: file.server_name,
        federation: file.federation,
        earlier_keys: read_keys(&folder.join(EARLIER_KEYS))?,
        coordinator_key: file.coordinator_key,
        identity,
        member,
        authority,
    })
}

/// None if there is no file: it did not renew yet.
fn read_keys(path: &Path) -> Result<Vec<PublicKey>, OpenError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let read = |line: &str| line.parse().map_err(|error| OpenError::content(path, &error));
    read_text(path)?.lines().map(read).collect()
}

fn read_terms(path: &Path, hash: Digest) -> Result<Agreement, OpenError> {
    let text = read_text(path)?;
    let document: RawTerms = serde_json::from_str(&text).map_err(|error| OpenError::content(path, &error))?;
    let agreement = Agreement::try_from(document).map_err(|error| OpenError::content(path, &error))?;
    match Digest::of(text.as_bytes()) == hash && agreement.hash() == hash {
        true => Ok(agreement),
        false => Err(OpenError::content(path, "has another hash than member.toml says: take the issued file")),
    }
}

/// Writes a bundle without the member's key into a new folder.
pub(super) fn write_bundle(
    folder: &Path,
    content: &BundleFile,
    agreement: &Agreement,
    authority: &Certificate,
    certificate: &Certificate,
) -> io::Result<()> {
    create_private_folder(folder)?;
    let text = toml::to_string(content).map_err(io::Error::other)?;
    write_public(&folder.join(FILE), &format!("{HEADER}{text}"))?;
    write_public(&folder.join(TERMS), agreement.text())?;
    write_public(&file(folder, AUTHORITY, "pem"), authority.pem())?;
    write_public(&file(folder, MEMBER, "pem"), certificate.pem())
}

pub(super) fn write_identity(folder: &Path, stem: &str, identity: &Identity) -> io::Result<()> {
    write_public(&file(folder, stem, "pem"), identity.certificate().pem())?;
    write_key(folder, stem, identity.signer())
}

pub(super) fn write_key(folder: &Path, stem: &str, signer: &Signer) -> io::Result<()> {
    write_private(&file(folder, stem, "key"), &signer.to_pem())
}
