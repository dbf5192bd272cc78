//! Certificates that do not count any more, known to every connection at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

use crate::digest::Digest;

/// The certificates that are revoked. Clones share one set.
#[derive(Debug, Clone, Default)]
pub struct Revocations(Arc<watch::Sender<BTreeSet<Digest>>>);

impl Revocations {
    /// Revokes a certificate: handshakes refuse it from now on, and its open connections end.
    pub fn revoke(&self, certificate: Digest) {
        self.0.send_modify(|revoked| {
            revoked.insert(certificate);
        });
    }

    pub fn contains(&self, certificate: &Digest) -> bool {
        self.0.borrow().contains(certificate)
    }

    pub(super) async fn wait_for(&self, certificate: &Digest) {
        let mut revoked = self.0.subscribe();
        let waited = revoked.wait_for(|revoked| revoked.contains(certificate)).await;
        assert!(waited.is_ok(), "the sender lives as long as this");
    }
}

impl FromIterator<Digest> for Revocations {
    fn from_iter<I: IntoIterator<Item = Digest>>(revoked: I) -> Revocations {
        Revocations(Arc::new(watch::Sender::new(revoked.into_iter().collect())))
    }
}
