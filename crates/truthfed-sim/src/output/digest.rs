//! SHA-256 of what is written and read.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::OutputError;

/// Passes everything on, and hashes it.
pub(super) struct Hashing<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Hashing<W> {
    pub(super) fn new(inner: W) -> Hashing<W> {
        Hashing { inner, hash: Sha256::new() }
    }

    /// The hash of everything that was passed on.
    pub(super) fn finish(self) -> String {
        hex(&self.hash.finalize())
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The hash of some bytes, in hexadecimal digits.
pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hash_file(path: &Path) -> Result<String, OutputError> {
    let hash = || {
        let mut hash = Hashing::new(io::sink());
        io::copy(&mut File::open(path)?, &mut hash)?;
        Ok(hash.finish())
    };
    hash().map_err(|error| OutputError::Io { verb: "read", path: path.display().to_string(), error })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_standard() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex_digest(b"abc"), expected);
        let mut hashing = Hashing::new(Vec::new());
        hashing.write_all(b"a").unwrap();
        hashing.write_all(b"bc").unwrap();
        assert_eq!(hashing.inner, b"abc");
        assert_eq!(hashing.finish(), expected);
    }
}
