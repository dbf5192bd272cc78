//! The federation's own certificate authority.
//!
//! It signs the coordinator's certificate (names and addresses, for servers only) and those of members and operator (for
//! clients only). All keys are Ed25519. Nothing of it is needed while a federation runs: its private key can be kept
//! elsewhere and is needed to add members only.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyUsagePurpose, PublicKeyData,
    SerialNumber,
};
use truthfed::auction::ClientId;

use super::{Certificate, Identity, IdentityError, NameError, Request, check_name};
use crate::digest::{Digest, Nonce};
use crate::signature::Signer;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(31_556_952);

/// Common name of the operator. No member has it: it has a space.
const OPERATOR: &str = "truthfed operator";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub from: SystemTime,
    pub until: SystemTime,
}

/// The federation's certificate authority: who holds it decides who takes part.
#[derive(Debug)]
pub struct Authority {
    name: String,
    identity: Identity,
}

/// Why no certificate is issued. Operator: mend the name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IssueError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("`{0}` is neither a DNS name nor an IP address")]
    ServerName(String),
    #[error("a server needs at least one DNS name or IP address")]
    NoNames,
}

impl Validity {
    /// From a day ago, against clocks that are behind, for that long from now.
    pub fn lasting(duration: Duration) -> Validity {
        let now = SystemTime::now();
        Validity { from: now - DAY, until: now + duration }
    }

    /// Of an authority: ten years.
    pub fn authority() -> Validity {
        Validity::lasting(10 * YEAR)
    }

    /// Of everybody else: two years.
    pub fn leaf() -> Validity {
        Validity::lasting(2 * YEAR)
    }
}

impl Authority {
    /// A new authority with a new key. Fails when the name cannot stand in a certificate.
    pub fn create(name: &str, validity: Validity) -> Result<Authority, IssueError> {
        check_name(name)?;
        let signer = Signer::random();
        let mut params = within(validity, parameters(name));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issued = params.self_signed(&signer).expect("a checked name can be certified");
        let identity = Identity::new(certificate(&issued), signer).expect("it was issued for this key");
        Ok(Authority { name: name.to_owned(), identity })
    }

    /// Reads an authority in PEM form. Fails when it is not one that [`Authority::create`] made.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Authority, IdentityError> {
        let identity = Identity::from_pem(certificate, key)?;
        let name = identity.certificate().name().ok_or(IdentityError::Foreign)?;
        Ok(Authority { name, identity })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The certificate that everybody of the federation trusts, and its key.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn federation(&self) -> Digest {
        self.identity.certificate().digest()
    }

    /// A certificate for the coordinator under DNS names and IP addresses, at least one.
    pub fn issue_server(&self, names: &[String], validity: Validity) -> Result<Identity, IssueError> {
        self.renew_server(Signer::random(), names, validity)
    }

    /// Another certificate for a coordinator that keeps its key: receipts it signed before stay valid.
    pub fn renew_server(&self, key: Signer, names: &[String], validity: Validity) -> Result<Identity, IssueError> {
        let first = names.first().ok_or(IssueError::NoNames)?;
        for name in names {
            let known = rustls::pki_types::ServerName::try_from(name.as_str());
            known.map_err(|_| IssueError::ServerName(name.clone()))?;
        }
        let named = CertificateParams::new(names).map_err(|_| IssueError::ServerName(names.join(", ")))?;
        // The names proper are the alternative ones: a common name must be short.
        let common: String = first.chars().take(64).collect();
        let mut params = parameters(&common);
        params.subject_alt_names = named.subject_alt_names;
        Ok(self.issue(key, params, validity, ExtendedKeyUsagePurpose::ServerAuth))
    }

    /// A certificate for a member. Fails when the name cannot stand in a certificate.
    pub fn issue_member(&self, member: &ClientId, validity: Validity) -> Result<Identity, IssueError> {
        self.certify_member(Signer::random(), member, validity)
    }

    /// A certificate for the key of a member, which must be no other member's.
    pub(crate) fn certify_member(
        &self,
        key: Signer,
        member: &ClientId,
        validity: Validity,
    ) -> Result<Identity, IssueError> {
        check_name(member.as_str())?;
        Ok(self.issue(key, parameters(member.as_str()), validity, ExtendedKeyUsagePurpose::ClientAuth))
    }

    pub fn issue_operator(&self, validity: Validity) -> Identity {
        self.renew_operator(Signer::random(), validity)
    }

    /// Another certificate for an operator that keeps its key.
    pub fn renew_operator(&self, key: Signer, validity: Validity) -> Identity {
        self.issue(key, parameters(OPERATOR), validity, ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// A certificate for a member that made its own key, and asked for it.
    pub fn certify(&self, request: &Request, validity: Validity) -> Certificate {
        let params = parameters(request.member().as_str());
        self.certificate(&request.key(), params, validity, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(
        &self,
        signer: Signer,
        params: CertificateParams,
        validity: Validity,
        purpose: ExtendedKeyUsagePurpose,
    ) -> Identity {
        let certificate = self.certificate(&signer, params, validity, purpose);
        Identity::new(certificate, signer).expect("it was issued for this key")
    }

    fn certificate(
        &self,
        key: &impl PublicKeyData,
        params: CertificateParams,
        validity: Validity,
        purpose: ExtendedKeyUsagePurpose,
    ) -> Certificate {
        let mut params = within(validity, params);
        params.serial_number = Some(serial_number());
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        params.use_authority_key_identifier_extension = true;
        let issuer = Issuer::new(parameters(&self.name), self.identity.signer());
        certificate(&params.signed_by(key, &issuer).expect("a checked name can be certified"))
    }
}

/// A certificate under a common name, and nothing else yet.
fn parameters(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params
}

fn within(validity: Validity, mut params: CertificateParams) -> CertificateParams {
    params.not_before = validity.from.into();
    params.not_after = validity.until.into();
    params
}

/// Random, so that two certificates for one key differ too; positive, as a serial number must be.
fn serial_number() -> SerialNumber {
    let mut bytes = Nonce::random().0;
    bytes[0] = bytes[0] & 0x7f | 0x40;
    SerialNumber::from_slice(&bytes)
}

fn certificate(issued: &rcgen::Certificate) -> Certificate {
    Certificate::from_pem(&issued.pem()).expect("what was just issued is a certificate")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Purpose;
    use crate::signature::is_signed_by;

    fn authority() -> Authority {
        Authority::create("test", Validity::authority()).unwrap()
    }

    fn member(authority: &Authority) -> Identity {
        authority.issue_member(&"m1".parse().unwrap(), Validity::leaf()).unwrap()
    }

    #[test]
    fn an_authority_survives_its_files_and_issues_as_before() {
        let authority = authority();
        let identity = authority.identity();
        let read = Authority::from_pem(identity.certificate().pem(), &identity.signer().to_pem()).unwrap();
        assert_eq!((read.name(), read.federation()), ("test", authority.federation()));
        assert_eq!(read.federation(), Digest::of(identity.certificate().der()));
        for issued in [member(&authority), member(&read)] {
            let is_foreign = |purpose| issued.certificate().is_foreign_to(identity.certificate(), purpose);
            assert!(!is_foreign(Purpose::Client) && is_foreign(Purpose::Server));
        }
    }

    #[test]
    fn a_certificate_of_another_authority_is_told_apart_and_an_expired_one_is_left_to_the_handshake() {
        let (own, other) = (authority(), authority());
        let [own_root, other_root] = [&own, &other].map(|authority| authority.identity().certificate());
        let past = Validity { from: SystemTime::UNIX_EPOCH, until: SystemTime::UNIX_EPOCH + DAY };
        for (validity, told_apart) in [(Validity::leaf(), true), (past, false)] {
            let server = own.issue_server(&["localhost".to_owned()], validity).unwrap();
            let operator = own.issue_operator(validity);
            for (identity, purpose) in [(server, Purpose::Server), (operator, Purpose::Client)] {
                assert!(!identity.certificate().is_foreign_to(own_root, purpose), "{purpose:?}");
                assert_eq!(identity.certificate().is_foreign_to(other_root, purpose), told_apart, "{purpose:?}");
            }
        }
    }

    #[test]
    fn an_authority_is_not_read_from_files_that_are_not_one() {
        let (authority, other) = (authority(), authority());
        let (own, foreign, operator) =
            (authority.identity(), other.identity(), authority.issue_operator(Validity::leaf()));
        let read = |identity: &Identity, key: &Identity| {
            Authority::from_pem(identity.certificate().pem(), &key.signer().to_pem()).unwrap_err()
        };
        assert_eq!(read(own, foreign), IdentityError::Mismatch);
        assert_eq!(read(&operator, &operator), IdentityError::Foreign);
    }

    #[test]
    fn one_key_serves_tls_and_signatures() {
        let member = member(&authority());
        let key = rustls::crypto::ring::sign::any_supported_type(&member.tls_key()).unwrap();
        let signer = key.choose_scheme(&[rustls::SignatureScheme::ED25519]).unwrap();
        let signature = signer.sign(b"schema/1\ncontent").unwrap();
        let signature = crate::digest::Hex(signature.try_into().unwrap());
        assert!(is_signed_by(&member.certificate().key(), "schema/1", b"content", &signature));
    }

    #[test]
    fn a_key_is_written_in_the_form_that_all_libraries_read() {
        let member = member(&authority());
        // RFC 8410, section 7: version 0, the algorithm, and the 32 bytes of the key; nothing after.
        let key = member.tls_key();
        let (head, seed) = key.secret_der().split_at(16);
        assert_eq!(head, [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]);
        assert_eq!(seed.len(), 32);
        assert_eq!(Signer::from_pem(&member.signer().to_pem()).unwrap().public(), member.signer().public());
    }

    #[test]
    fn every_certificate_is_another_and_no_key_is_printed() {
        let authority = authority();
        let (first, second) = (member(&authority), member(&authority));
        assert_ne!(first.certificate().digest(), second.certificate().digest());
        assert!(format!("{first:?} {authority:?}").contains("Signer([redacted])"));
        assert!(!format!("{first:?} {authority:?}").contains("PRIVATE"));
    }

    #[test]
    fn names_that_cannot_be_certified_are_refused() {
        let authority = authority();
        assert!(Authority::create("", Validity::authority()).is_err());
        assert!(authority.issue_member(&"a/b".parse().unwrap(), Validity::leaf()).is_err());
        let server = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            authority.issue_server(&names, Validity::leaf()).map(drop)
        };
        assert_eq!(server(&["localhost", "127.0.0.1", "::1", "a.example.org"]), Ok(()));
        assert_eq!(server(&[]), Err(IssueError::NoNames));
        for wrong in ["a b", "", "https://a", "a:7443", "Köln.example"] {
            assert_eq!(server(&["localhost", wrong]), Err(IssueError::ServerName(wrong.to_owned())));
        }
    }
}
