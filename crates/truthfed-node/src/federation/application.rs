//! A member that makes its own key: its request for a certificate, and taking over what the operator issued for it.
//!
//! The folder that [`apply`] makes becomes the member's bundle once [`join`] has put the issued files beside the key.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use truthfed::auction::ClientId;

use super::bundle::{AUTHORITY, Bundle, FILE, MEMBER, TERMS, open_bundle, write_key};
use super::create::{Scratch, is_taken, replace};
use super::open::{OpenError, file, read_text};
use crate::digest::Digest;
use crate::identity::{
    NameError, PrivateFileError, Request, check_name, create_private_folder, read_private, write_private, write_public,
};
use crate::signature::Signer;

/// The request, in the member's folder.
const REQUEST: &str = "request.json";

/// A folder with a new key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    pub member: ClientId,
    /// The file for the operator. It has no secret.
    pub request: PathBuf,
}

/// Why no request is made. All are the member's to mend; nothing was left behind.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("{} exists already and is not an empty folder: choose another name, or remove it", .0.display())]
    Exists(PathBuf),
    #[error("{} does not name a new folder: give it a name, such as `zoe`", .0.display())]
    Unnamed(PathBuf),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("cannot make {}: {error}: name a place that exists and can be written to", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Why a member does not take over what was issued. Its folder is as it was.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Key(#[from] PrivateFileError),
    /// Somebody else's federation: ask the operator, on another way than the files came.
    #[error(
        "the files are of federation {found}, not of {expected}: ask the operator which is right, on another way than the files came"
    )]
    Federation { found: Digest, expected: Digest },
    #[error("cannot write {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Makes a new folder with a new key, and a request to be certified under a name; by default that of the folder.
pub fn apply(folder: &Path, name: Option<&str>) -> Result<Application, ApplyError> {
    let place = folder.file_name().and_then(|name| name.to_str());
    let place = place.ok_or_else(|| ApplyError::Unnamed(folder.to_owned()))?;
    let member = check_name(name.unwrap_or(place))?;
    if is_taken(folder) {
        return Err(ApplyError::Exists(folder.to_owned()));
    }
    let signer = Signer::random();
    let make = || {
        let scratch = Scratch::beside(folder)?;
        create_private_folder(&scratch.path)?;
        write_key(&scratch.path, MEMBER, &signer)?;
        write_public(&scratch.path.join(REQUEST), &Request::text(&member, &signer))?;
        scratch.move_to(folder)
    };
    make().map_err(|error| match is_taken(folder) {
        true => ApplyError::Exists(folder.to_owned()),
        false => ApplyError::Io { path: folder.to_owned(), error },
    })?;
    Ok(Application { member, request: folder.join(REQUEST) })
}

/// Puts the files that the operator issued beside the member's key, if they are for that key, and for the federation that
/// is expected, if one is.
pub fn join(folder: &Path, issued: &Path, expected: Option<Digest>) -> Result<Bundle, JoinError> {
    let files = [FILE.to_owned(), TERMS.to_owned(), format!("{AUTHORITY}.pem"), format!("{MEMBER}.pem")];
    let texts: Result<Vec<String>, OpenError> = files.iter().map(|name| read_text(&issued.join(name))).collect();
    let (texts, key) = (texts?, read_private(&file(folder, MEMBER, "key"))?);
    let io = |error| JoinError::Io { path: folder.to_owned(), error };
    // Put together aside, so that what does not fit changes nothing.
    let trial = Scratch::beside(folder).map_err(io)?;
    create_private_folder(&trial.path).map_err(io)?;
    for (name, text) in files.iter().zip(&texts) {
        write_public(&trial.path.join(name), text).map_err(io)?;
    }
    write_private(&file(&trial.path, MEMBER, "key"), &key).map_err(io)?;
    let bundle = open_bundle(&trial.path).map_err(|error| within(error, &trial.path, issued))?;
    if let Some(expected) = expected.filter(|expected| *expected != bundle.federation) {
        return Err(JoinError::Federation { found: bundle.federation, expected });
    }
    // The file that makes it a bundle comes last.
    for (name, text) in files.iter().zip(&texts).rev() {
        replace(&folder.join(name), text).map_err(io)?;
    }
    // The request has served its purpose; if it stays, nothing is lost.
    let _ = fs::remove_file(folder.join(REQUEST));
    Ok(Bundle { folder: folder.to_owned(), ..bundle })
}

/// The same problem of the file as the member knows it.
fn within(error: OpenError, trial: &Path, issued: &Path) -> OpenError {
    let known = |path: PathBuf| path.strip_prefix(trial).map_or(path.clone(), |name| issued.join(name));
    match error {
        OpenError::Content { path, problem } if path == file(trial, MEMBER, "key") => {
            // The certificate is for another key.
            OpenError::Content { path: file(issued, MEMBER, "pem"), problem }
        }
        OpenError::Content { path, problem } => OpenError::Content { path: known(path), problem },
        OpenError::Foreign(path) => OpenError::Foreign(known(path)),
        error => error,
    }
}
