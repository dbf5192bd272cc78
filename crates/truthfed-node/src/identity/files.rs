//! Files that nobody else may read, and files that survive a crash once they are written.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// Longest file of a key; a real one has about 200 bytes.
const MAX_BYTES: u64 = 16 * 1024;
/// Permissions of everybody but the owner.
const OTHERS: u32 = 0o077;

/// Why a private file is not read. Operator or member, whoever holds the file.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    /// Others can read or change it: close it, and issue a new key if they may have read it.
    #[error("{} can be read by others (mode {mode:03o}): chmod 600 {}", path.display(), path.display())]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{} is missing: put it back from where it is kept, for as long as this takes", .0.display())]
    Missing(PathBuf),
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// It is no key: take the file that was issued.
    #[error("{} has more than {MAX_BYTES} bytes: it is not a private key", path.display())]
    TooLarge { path: PathBuf },
}

/// Reads a file that only its owner can read. Fails when others can read it too, or nobody can.
pub fn read_private(path: &Path) -> Result<Zeroizing<String>, PrivateFileError> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => PrivateFileError::Missing(path.to_owned()),
        _ => PrivateFileError::Unreadable { path: path.to_owned(), error },
    };
    let file = File::open(path).map_err(unreadable)?;
    // Of the open file: what is checked is what is read.
    let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(PrivateFileError::Exposed { path: path.to_owned(), mode });
    }
    // Reserved at once: a buffer that grew would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(MAX_BYTES as usize + 1));
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(PrivateFileError::TooLarge { path: path.to_owned() });
    }
    Ok(text)
}

/// Writes a new file that only its owner can read, and waits until it is on disk.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    write_new(path, text, 0o600)
}

/// Writes a new file that everybody can read, and waits until it is on disk.
pub fn write_public(path: &Path, text: &str) -> io::Result<()> {
    write_new(path, text, 0o644)
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    // The mask of the process may have taken more away than is meant.
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}

/// Makes a new folder that only its owner can enter. Fails when it exists or cannot be made.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_file_is_read_back_and_refused_once_others_can_read_it() {
        let folder = crate::testing::folder();
        let path = folder.path().join("x.key");
        write_private(&path, "secret").unwrap();
        assert_eq!(read_private(&path).unwrap().as_str(), "secret");
        assert!(write_private(&path, "other").is_err(), "never overwritten");
        for mode in [0o640, 0o604, 0o620, 0o601, 0o777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = read_private(&path).unwrap_err();
            assert!(matches!(&error, PrivateFileError::Exposed { mode: found, .. } if *found == mode), "{error}");
            assert!(error.to_string().ends_with(&format!("chmod 600 {}", path.display())), "{error}");
        }
        for mode in [0o600, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(read_private(&path).is_ok());
        }
    }

    #[test]
    fn what_is_no_key_file_is_refused_by_name() {
        let folder = crate::testing::folder();
        let (missing, large) = (folder.path().join("missing.key"), folder.path().join("large.key"));
        assert!(read_private(&missing).unwrap_err().to_string().contains("missing.key"));
        write_private(&large, &"x".repeat(MAX_BYTES as usize + 1)).unwrap();
        assert!(matches!(read_private(&large), Err(PrivateFileError::TooLarge { .. })));
    }
}
