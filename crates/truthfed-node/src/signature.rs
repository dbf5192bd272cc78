//! Ed25519 signatures over contents.
//!
//! What is signed is the schema, a line feed, and the content: a signature under one schema means nothing under another.

use std::fmt;

use curve25519_dalek::edwards::EdwardsPoint;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey, KeypairBytes};
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::digest::{Digest, Hex, Nonce, PublicKey, Signature};
use crate::wire::Envelope;

/// A private key. It is wiped from memory when dropped, and never printed.
#[derive(Clone)]
pub struct Signer(SigningKey);

/// A text is not a private Ed25519 key. Operator or member: take the file that was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a private Ed25519 key in PKCS#8 PEM form: take the file that was issued")]
pub struct KeyError;

impl Signer {
    pub fn random() -> Signer {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut_slice()).expect("the operating system gives randomness");
        Signer(SigningKey::from_bytes(&seed))
    }

    /// The key of a seed, the same every time: for simulations and tests. Who knows the seed has the key.
    pub fn from_seed(seed: [u8; 32]) -> Signer {
        Signer(SigningKey::from_bytes(&seed))
    }

    /// Reads a key in PKCS#8 PEM form. Fails when it is not one.
    pub fn from_pem(pem: &str) -> Result<Signer, KeyError> {
        SigningKey::from_pkcs8_pem(pem).map(Signer).map_err(|_| KeyError)
    }

    /// The PKCS#8 PEM form, without the public key beside it: OpenSSL, and so curl, reads no other.
    pub fn to_pem(&self) -> Zeroizing<String> {
        let pair = KeypairBytes { public_key: None, ..KeypairBytes::from(&self.0) };
        pair.to_pkcs8_pem(LineEnding::LF).expect("an Ed25519 key has a PEM form")
    }

    pub fn public(&self) -> PublicKey {
        Hex(self.0.verifying_key().to_bytes())
    }

    pub fn sign(&self, schema: &str, content: &[u8]) -> Signature {
        Hex(self.0.sign(&signed_bytes(schema, content)).to_bytes())
    }

    /// A number that nobody without the key can know, the same for the same content.
    pub fn nonce(&self, schema: &str, content: &[u8]) -> Nonce {
        let Hex(digest) = Digest::of(&self.sign(schema, content).0);
        Hex(*digest.first_chunk().expect("a hash has 32 bytes"))
    }

    pub fn seal(&self, schema: &str, content: &impl Serialize) -> Envelope {
        let content = serde_json::value::to_raw_value(content).expect("our own contents are JSON");
        let signature = self.sign(schema, content.get().as_bytes());
        Envelope { content, signature }
    }
}

/// Whether the holder of the key signed these bytes under this schema.
pub fn is_signed_by(key: &PublicKey, schema: &str, content: &[u8], signature: &Signature) -> bool {
    Verifier::new(key).is_some_and(|key| key.is_signed(schema, content, signature))
}

/// A public key, read once to check many signatures.
#[derive(Debug, Clone, Copy)]
pub struct Verifier(VerifyingKey);

impl Verifier {
    /// None when the bytes are no key, or one under which anybody can sign.
    pub fn new(key: &PublicKey) -> Option<Verifier> {
        VerifyingKey::from_bytes(&key.0).ok().filter(|key| !key.is_weak()).map(Verifier)
    }

    /// Whether the holder of the key signed these bytes under this schema.
    pub fn is_signed(&self, schema: &str, content: &[u8], signature: &Signature) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        self.0.verify_strict(&signed_bytes(schema, content), &signature).is_ok()
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    pub(crate) fn point(&self) -> EdwardsPoint {
        self.0.to_edwards()
    }
}

impl Envelope {
    pub fn is_signed_by(&self, key: &PublicKey, schema: &str) -> bool {
        is_signed_by(key, schema, self.content.get().as_bytes(), &self.signature)
    }
}

fn signed_bytes(schema: &str, content: &[u8]) -> Vec<u8> {
    [schema.as_bytes(), b"\n", content].concat()
}

impl rcgen::PublicKeyData for PublicKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_ED25519
    }
}

impl rcgen::PublicKeyData for Signer {
    fn der_bytes(&self) -> &[u8] {
        let key: &VerifyingKey = self.0.as_ref();
        key.as_bytes()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_ED25519
    }
}

/// Signs certificates.
impl rcgen::SigningKey for Signer {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        Ok(self.0.sign(message).to_bytes().to_vec())
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_key_its_schema_and_its_bytes_only() {
        let (signer, other) = (Signer::random(), Signer::random());
        let envelope = signer.seal("a/1", &["content"]);
        assert!(envelope.is_signed_by(&signer.public(), "a/1"));
        assert!(!envelope.is_signed_by(&other.public(), "a/1"));
        assert!(!envelope.is_signed_by(&signer.public(), "b/1"));
        let altered = Envelope { content: serde_json::value::to_raw_value(&["contenT"]).unwrap(), ..envelope };
        assert!(!altered.is_signed_by(&signer.public(), "a/1"));
    }

    #[test]
    fn a_key_under_which_anybody_can_sign_is_none() {
        assert!(Verifier::new(&Hex([0; 32])).is_none());
        let identity = Hex(std::array::from_fn(|index| u8::from(index == 0)));
        assert!(Verifier::new(&identity).is_none());
        assert!(!is_signed_by(&identity, "a/1", b"content", &Hex([0; 64])));
    }

    #[test]
    fn a_key_survives_its_pem_form_and_is_not_printed() {
        let signer = Signer::random();
        assert_eq!(Signer::from_pem(&signer.to_pem()).unwrap().public(), signer.public());
        assert_eq!(format!("{signer:?}"), "Signer([redacted])");
        assert_eq!(Signer::from_pem("-----BEGIN PRIVATE KEY-----").unwrap_err(), KeyError);
    }
}
