//! Hashes, keys, signatures and nonces as they appear in messages: lower-case hexadecimal of a fixed length.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// Fixed bytes, written as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hex<const N: usize>(pub [u8; N]);

/// A SHA-256 hash.
pub type Digest = Hex<32>;
pub type PublicKey = Hex<32>;
pub type Signature = Hex<64>;
/// Random bytes that are used once.
pub type Nonce = Hex<16>;

/// A text is not the hexadecimal form of that many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {0} lower-case hexadecimal digits")]
pub struct HexError(usize);

impl Digest {
    pub fn of(bytes: &[u8]) -> Digest {
        Hex(Sha256::digest(bytes).into())
    }

    /// The hash of several parts, each preceded by its length so that no two lists of parts agree.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Hex(hasher.finalize().into())
    }
}

impl Nonce {
    pub fn random() -> Nonce {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system gives randomness");
        Hex(bytes)
    }
}

/// Digits of the longest of them.
const MOST_DIGITS: usize = 128;

impl<const N: usize> Hex<N> {
    /// Hands over its digits: written in one piece, as journals have millions.
    fn with_digits<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        let mut digits = [0; MOST_DIGITS];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        take(std::str::from_utf8(&digits[..2 * N]).expect("digits are text"))
    }
}

fn digit(nibble: u8) -> u8 {
    b"0123456789abcdef"[usize::from(nibble)]
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_digits(|digits| f.write_str(digits))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const N: usize> FromStr for Hex<N> {
    type Err = HexError;

    fn from_str(text: &str) -> Result<Hex<N>, HexError> {
        let digits = text.as_bytes();
        if digits.len() != 2 * N {
            return Err(HexError(2 * N));
        }
        let mut bytes = [0; N];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = 16 * nibble(pair[0]).ok_or(HexError(2 * N))? + nibble(pair[1]).ok_or(HexError(2 * N))?;
        }
        Ok(Hex(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_digits(|digits| serializer.serialize_str(digits))
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hex<N>, D::Error> {
        struct Digits<const N: usize>;

        impl<const N: usize> Visitor<'_> for Digits<N> {
            type Value = Hex<N>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Hex<N>, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_read_as_it_is_written_and_nothing_else_is() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for wrong in ["", "ba", &"BA".repeat(32), &"g0".repeat(32), &"a".repeat(63)] {
            assert_eq!(wrong.parse::<Digest>(), Err(HexError(64)), "{wrong}");
        }
    }

    #[test]
    fn parts_are_hashed_with_their_borders() {
        let of = |parts: &[&str]| Digest::of_parts(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["ab"]), of(&["ab", ""]));
    }
}
