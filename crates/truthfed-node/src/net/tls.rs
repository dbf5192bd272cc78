//! TLS 1.3 with a certificate on both sides, for HTTP/1.1.
//!
//! No other version, no default of the process, and no resumption: every connection is a full handshake, so that a revoked
//! certificate has no way around it.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};

use super::{Refusals, Revocations};
use crate::digest::Digest;
use crate::identity::{Certificate, Identity};

const HTTP: &[u8] = b"http/1.1";

/// The certificates or the key cannot be used. Operator or member: use the files that were issued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the certificates cannot be used for TLS: {0}")]
pub struct TlsError(String);

/// How a coordinator takes connections: from holders of the authority's certificates that are not revoked.
#[derive(Debug, Clone)]
pub struct ServerTls {
    pub(super) config: Arc<ServerConfig>,
    pub(super) revocations: Revocations,
    pub(super) refusals: Refusals,
    genuine: Arc<dyn ClientCertVerifier>,
}

impl ServerTls {
    /// With the coordinator's certificate and key. Fails when the certificates cannot be used.
    pub fn new(server: &Identity, authority: &Certificate, revocations: Revocations) -> Result<ServerTls, TlsError> {
        let provider = provider();
        let roots = Arc::new(roots(authority)?);
        let genuine =
            WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build().map_err(tls_error)?;
        let refusals = Refusals::default();
        let verifier =
            NotRevoked { genuine: genuine.clone(), revocations: revocations.clone(), refusals: refusals.clone() };
        let verifier = Arc::new(verifier);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(tls_error)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![server.certificate().der().clone()], server.tls_key())
            .map_err(tls_error)?;
        config.alpn_protocols = vec![HTTP.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(ServerTls { config: Arc::new(config), revocations, refusals, genuine })
    }

    /// The handshakes that it refuses.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// With this clock instead of the operating system's.
    pub fn with_clock(mut self, clock: Arc<dyn TimeProvider>) -> ServerTls {
        Arc::make_mut(&mut self.config).time_provider = clock;
        self
    }

    /// The last moment of a certificate that a handshake took: at the end of all time, it is said to have expired then.
    pub(super) fn end_of(&self, certificate: &CertificateDer<'_>) -> UnixTime {
        let never = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX));
        match self.genuine.verify_client_cert(certificate, &[], never) {
            Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => not_after,
            // Not issued by the authority itself: it has no time here.
            _ => UnixTime::since_unix_epoch(Duration::ZERO),
        }
    }

    pub(super) fn is_past(&self, moment: UnixTime) -> bool {
        self.config.time_provider.current_time().is_none_or(|now| now > moment)
    }
}

/// How a member or the operator connects: to a server that the authority certified.
pub fn client_tls(client: &Identity, authority: &Certificate) -> Result<Arc<ClientConfig>, TlsError> {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(tls_error)?
        .with_root_certificates(roots(authority)?)
        .with_client_auth_cert(vec![client.certificate().der().clone()], client.tls_key())
        .map_err(tls_error)?;
    config.alpn_protocols = vec![HTTP.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(authority: &Certificate) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).map_err(tls_error)?;
    Ok(roots)
}

fn tls_error(error: impl std::fmt::Display) -> TlsError {
    TlsError(error.to_string())
}

#[derive(Debug)]
struct NotRevoked {
    genuine: Arc<dyn ClientCertVerifier>,
    revocations: Revocations,
    refusals: Refusals,
}

impl NotRevoked {
    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.genuine.verify_client_cert(end_entity, intermediates, now)?;
        match self.revocations.contains(&Digest::of(end_entity)) {
            true => Err(CertificateError::Revoked.into()),
            false => Ok(verified),
        }
    }
}

impl ClientCertVerifier for NotRevoked {
    fn client_auth_mandatory(&self) -> bool {
        true
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.genuine.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.verify(end_entity, intermediates, now).inspect_err(|error| self.refusals.certificate(end_entity, error))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.genuine.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.genuine.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.genuine.supported_verify_schemes()
    }
}
