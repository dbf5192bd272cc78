//! A certificate, and a certificate with its private key.

use std::time::{Duration, SystemTime};

use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use time::OffsetDateTime;

use super::check_name;
use crate::digest::{Digest, Hex, PublicKey};
use crate::signature::{KeyError, Signer};

/// What the public key of an Ed25519 certificate begins with: algorithm 1.3.101.112 and the length of the key.
const ED25519_KEY: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A certificate with an Ed25519 key. Whether it is genuine is found out in a handshake, not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    pem: String,
    der: CertificateDer<'static>,
    key: PublicKey,
    expires: SystemTime,
}

impl Certificate {
    /// Reads a certificate in PEM form: exactly one, and nothing else. Fails when it is not one.
    pub fn from_pem(pem: &str) -> Result<Certificate, IdentityError> {
        let sections: Option<Vec<_>> = CertificateDer::pem_slice_iter(pem.as_bytes()).map(Result::ok).collect();
        let only = sections.and_then(|sections| <[CertificateDer<'static>; 1]>::try_from(sections).ok());
        let [der] = only.ok_or(IdentityError::Pem)?;
        let key = public_key(&der).ok_or(IdentityError::Content)?;
        let expires = expires(&der).ok_or(IdentityError::Content)?;
        Ok(Certificate { pem: pem.to_owned(), der, key, expires })
    }

    pub fn pem(&self) -> &str {
        &self.pem
    }

    pub fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }

    /// The hash of its DER form: who the holder is, on a connection and in the journal.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.der)
    }

    /// The key that its holder signs with.
    pub fn key(&self) -> PublicKey {
        self.key
    }

    /// The last second in which it is valid.
    pub fn expires(&self) -> SystemTime {
        self.expires
    }

    /// The day on which it expires, such as `2028-11-17`, in UTC.
    pub fn last_day(&self) -> String {
        day(self.expires)
    }

    /// The name of its holder, if its subject is a common name and nothing else, and one that [`check_name`] takes.
    pub(crate) fn name(&self) -> Option<String> {
        name(&self.der)
    }

    /// Whether an authority certainly did not issue it for this use. Of a certificate whose time is over, or has not come,
    /// this says no: the handshake refuses it anyway, by the other side's clock.
    pub(crate) fn is_foreign_to(&self, authority: &Certificate, purpose: Purpose) -> bool {
        let mut roots = RootCertStore::empty();
        if roots.add(authority.der.clone()).is_err() {
            return true;
        }
        let (provider, now) = (rustls::crypto::ring::default_provider(), UnixTime::now());
        let verified = match purpose {
            Purpose::Server => ParsedCertificate::try_from(&self.der).and_then(|leaf| {
                let algorithms = provider.signature_verification_algorithms.all;
                verify_server_cert_signed_by_trust_anchor(&leaf, &roots, &[], now, algorithms)
            }),
            Purpose::Client => {
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.into()).build();
                let verifier = verifier.expect("there is a root");
                verifier.verify_client_cert(&self.der, &[], now).map(drop)
            }
        };
        verified.is_err_and(|error| !is_about_time(&error))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Server,
    Client,
}

fn is_about_time(error: &rustls::Error) -> bool {
    use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    let rustls::Error::InvalidCertificate(reason) = error else { return false };
    matches!(reason, Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. })
}

/// What a check at the end of all time says: no certificate lasts as long, and the refusal has its end.
fn expires(der: &CertificateDer<'static>) -> Option<SystemTime> {
    use rustls::CertificateError::ExpiredContext;
    let (leaf, end) = (ParsedCertificate::try_from(der).ok()?, UnixTime::since_unix_epoch(Duration::MAX));
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms.all;
    match verify_server_cert_signed_by_trust_anchor(&leaf, &RootCertStore::empty(), &[], end, algorithms) {
        Err(rustls::Error::InvalidCertificate(ExpiredContext { not_after, .. })) => {
            Some(SystemTime::UNIX_EPOCH + Duration::from_secs(not_after.as_secs()))
        }
        _ => None,
    }
}

/// Whose certificate these bytes say they are, and their last day. Nobody checked that they are genuine.
pub(crate) fn holder(der: &CertificateDer<'_>) -> Option<(String, String)> {
    let der = der.clone().into_owned();
    Some((name(&der)?, day(expires(&der)?)))
}

fn name(der: &CertificateDer<'static>) -> Option<String> {
    let mut store = RootCertStore::empty();
    store.add(der.clone()).ok()?;
    let subject = store.roots.first()?.subject.to_vec();
    // One set of one pair: the identifier 2.5.4.3, then text whose length fits a byte.
    let [0x31, _, 0x30, _, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, length, name @ ..] = subject.as_slice() else {
        return None;
    };
    let name = std::str::from_utf8(name).ok().filter(|name| name.len() == usize::from(*length))?;
    check_name(name).ok().map(String::from)
}

fn day(time: SystemTime) -> String {
    OffsetDateTime::from(time).date().to_string()
}

fn public_key(der: &CertificateDer<'static>) -> Option<PublicKey> {
    let info = ParsedCertificate::try_from(der).ok()?.subject_public_key_info();
    let key = info.strip_prefix(&ED25519_KEY)?;
    key.try_into().ok().map(Hex)
}

#[derive(Debug, Clone)]
pub struct Identity {
    certificate: Certificate,
    signer: Signer,
}

/// Why texts are not a certificate, an identity or an authority. Operator or member: take the files that were issued together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Not PEM, truncated, or several certificates.
    #[error("not one certificate in PEM form: take the file that was issued")]
    Pem,
    /// Not X.509, or not with an Ed25519 key.
    #[error("not a certificate with an Ed25519 key: take the file that was issued")]
    Content,
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("the private key belongs to another certificate: take the two files that were issued together")]
    Mismatch,
    #[error("the certificate is not one of a federation's authority: take the file that `truthfed init` made")]
    Foreign,
}

impl Identity {
    /// Puts both together. Fails when they do not belong together.
    pub fn new(certificate: Certificate, signer: Signer) -> Result<Identity, IdentityError> {
        match certificate.key() == signer.public() {
            true => Ok(Identity { certificate, signer }),
            false => Err(IdentityError::Mismatch),
        }
    }

    /// Reads both in PEM form. Fails when one is not what it should be, or they do not belong together.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Identity, IdentityError> {
        Identity::new(Certificate::from_pem(certificate)?, Signer::from_pem(key)?)
    }

    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    pub(crate) fn tls_key(&self) -> PrivateKeyDer<'static> {
        let pem = self.signer.to_pem();
        PrivateKeyDer::from_pem_slice(pem.as_bytes()).expect("a key that we wrote is a key")
    }
}
