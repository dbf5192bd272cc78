//! Handshakes that are refused: counted by cause, and logged, each cause at most once a minute.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, Error};

use crate::identity::holder;
use crate::seldom::Seldom;

/// Why no connection came of handshakes, and how often. Clones share one count.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    counts: BTreeMap<&'static str, u64>,
    seldom: Seldom,
}

const TOO_SLOW: &str = "too-slow";

impl Refusals {
    /// How often for each cause.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.inner().counts.clone()
    }

    /// A handshake failed.
    pub(super) fn failed(&self, address: SocketAddr, error: &io::Error) {
        let why = error.get_ref().and_then(|inner| inner.downcast_ref()).map_or("gone", cause);
        let mut inner = self.inner();
        *inner.counts.entry(why).or_default() += 1;
        // Whoever looks for open doors comes and goes: that is told to those who ask.
        match why {
            "gone" => tracing::debug!(%address, %error, "handshake refused"),
            _ => {
                inner.seldom.tell(why, |times| tracing::warn!(%address, why, %error, times, "handshake refused"));
            }
        }
    }

    pub(super) fn too_slow(&self, address: SocketAddr) {
        let mut inner = self.inner();
        *inner.counts.entry(TOO_SLOW).or_default() += 1;
        inner.seldom.tell(TOO_SLOW, |times| tracing::warn!(%address, times, "handshake took too long"));
    }

    /// A certificate that the authority issued counts no more: whose, and since when.
    pub(super) fn certificate(&self, der: &CertificateDer<'_>, error: &Error) {
        let (why, told) = match error {
            Error::InvalidCertificate(CertificateError::Revoked) => ("revoked", "certificate-revoked"),
            error if cause(error) == "expired" => ("expired", "certificate-expired"),
            _ => return,
        };
        let Some((name, last_day)) = holder(der) else { return };
        self.inner().seldom.tell(told, |times| {
            tracing::warn!(name, last_day, why, times, "a certificate is refused");
        });
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cause(error: &Error) -> &'static str {
    match error {
        Error::NoCertificatesPresented => "no-certificate",
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => "expired",
        Error::InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
            "not-valid-yet"
        }
        Error::InvalidCertificate(CertificateError::Revoked) => "revoked",
        Error::InvalidCertificate(_) => "foreign",
        // The other side does not trust the coordinator's certificate.
        Error::AlertReceived(_) => "refused-by-peer",
        _ => "not-tls",
    }
}
