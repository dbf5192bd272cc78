//! The secret that an application shows to its agent, so that other users of the machine cannot decide and learn in its place.

use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::digest::Digest;
use crate::identity::{PrivateFileError, read_private, write_private};

/// Fewest characters; a token that we make has 64.
const LEAST: usize = 32;

/// A secret text, in a file that only its owner can read. It is never printed.
#[derive(Clone)]
pub struct Token(Zeroizing<String>);

/// Why there is no token. All are the member's to mend.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("{}: a token has at least {LEAST} characters, without spaces; remove the file to get a new one", .0.display())]
    Content(PathBuf),
    #[error("cannot write {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl Token {
    /// The token in a file; a new one, if there is no file yet.
    pub fn at(path: &Path) -> Result<Token, TokenError> {
        if !path.exists() {
            let [first, second] = [(); 2].map(|()| crate::digest::Nonce::random().to_string());
            let text = Zeroizing::new(format!("{first}{second}\n"));
            match write_private(path, &text) {
                // Somebody else was first: that one stands.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(TokenError::Io { path: path.to_owned(), error });
                }
                _ => {}
            }
        }
        Token::read(path)
    }

    /// The token in a file that is there.
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        let text = read_private(path)?;
        let token = Zeroizing::new(text.trim_end().to_owned());
        match token.len() >= LEAST && token.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Token(token)),
            false => Err(TokenError::Content(path.to_owned())),
        }
    }

    /// The value of the header `Authorization`.
    pub(crate) fn header(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("Bearer {}", self.0.as_str()))
    }

    /// Whether a header is this one's. Hashes are compared: how long it takes says nothing about the token.
    pub(super) fn is_in(&self, header: &[u8]) -> bool {
        Digest::of(header) == Digest::of(self.header().as_bytes())
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_only_its_owner_can_read_it() {
        let folder = crate::testing::folder();
        let path = folder.path().join("agent.token");
        let made = Token::at(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let header = made.header();
        assert!(Token::at(&path).unwrap().is_in(header.as_bytes()), "the same again");
        assert_eq!(header.len(), "Bearer ".len() + 64);
        assert!(!format!("{made:?}").contains(&header["Bearer ".len()..]));
        let other = Token::at(&folder.path().join("other.token")).unwrap();
        for wrong in [other.header().as_bytes(), b"", b"Bearer ", &header.as_bytes()[..70], &header.as_bytes()[7..]] {
            assert!(!made.is_in(wrong));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Token::at(&path).unwrap_err().to_string().contains("chmod 600"));
    }

    #[test]
    fn what_is_no_token_is_refused_by_its_file() {
        let folder = crate::testing::folder();
        for (name, text) in
            [("empty", ""), ("short", "abc\n"), ("spaces", &"a b ".repeat(20)), ("lines", &"a\n".repeat(40))]
        {
            let path = folder.path().join(name);
            write_private(&path, text).unwrap();
            assert!(matches!(Token::at(&path), Err(TokenError::Content(_))), "{name}");
        }
        assert!(matches!(Token::read(&folder.path().join("none")), Err(TokenError::File(_))));
        assert!(matches!(Token::at(&folder.path().join("none/token")), Err(TokenError::Io { .. })));
    }
}
