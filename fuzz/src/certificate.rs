//! Certificates, keys and names, and the bundle of a member that is made of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use truthfed_node::digest::Digest;
use truthfed_node::federation::{Bundle, InitOptions, OpenError, init, open_bundle};
use truthfed_node::identity::{Authority, Certificate, REQUEST_SCHEMA, RenewalRequest, Request, check_name};
use truthfed_node::signature::{Signer, Verifier};
use truthfed_node::wire::Envelope;

use crate::text::text;

/// A certificate or a key in PEM form, or else the bytes inside of one; or a name; or a request for a
/// certificate or a renewal.
pub fn certificate(bytes: &[u8]) -> bool {
    if let Some(text) = text(bytes) {
        check_name_is_one(text);
        check_key(text);
        check_request(text);
        check_renewal(text);
        if let Ok(certificate) = Certificate::from_pem(text) {
            check_certificate(&certificate, text);
            return true;
        }
    }
    check_key(&armoured("PRIVATE KEY", bytes));
    let pem = armoured("CERTIFICATE", bytes);
    let Ok(certificate) = Certificate::from_pem(&pem) else { return false };
    assert_eq!(certificate.der().as_ref(), bytes);
    check_certificate(&certificate, &pem);
    true
}

fn armoured(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// One certificate, with the key that it says, and nothing else beside it.
fn check_certificate(certificate: &Certificate, text: &str) {
    assert_eq!(certificate.pem(), text);
    assert_eq!(certificate.digest(), Digest::of(certificate.der()));
    let key = certificate.key();
    assert!(certificate.der().windows(32).any(|window| window == key.0), "a key that is not in it");
    assert_eq!(text.matches("-----BEGIN").count(), 1, "something else beside it");
    assert_eq!(Certificate::from_pem(&armoured("CERTIFICATE", certificate.der())).map(|again| again.key()), Ok(key));
}

fn check_key(text: &str) {
    let Ok(signer) = Signer::from_pem(text) else { return };
    let again = Signer::from_pem(&signer.to_pem()).expect("a key that we wrote is a key");
    assert_eq!(again.public(), signer.public());
    // A certificate and its key may stand in one file.
    if let Ok(authority) = Authority::from_pem(text, text) {
        check_name(authority.name()).expect("the name of an authority is one");
    }
}

/// The same of a renewal, whose new key signed it too.
fn check_renewal(text: &str) {
    let Ok(renewal) = RenewalRequest::read(text) else { return };
    check_name(renewal.request.member().as_str()).expect("the name in a renewal is one");
    Verifier::new(&renewal.request.key()).expect("a key that signed is one");
}

/// Whoever made it holds the key that it names, and its name is one.
fn check_request(text: &str) {
    let Ok(request) = Request::read(text) else { return };
    check_name(request.member().as_str()).expect("the name in a request is one");
    let envelope: Envelope = serde_json::from_str(text).expect("a request is an envelope");
    assert!(envelope.is_signed_by(&request.key(), REQUEST_SCHEMA));
}

fn check_name_is_one(text: &str) {
    if let Ok(name) = check_name(text) {
        assert_eq!(Path::new(name.as_str()).file_name().and_then(|name| name.to_str()), Some(text), "not one folder");
        assert!(!text.starts_with('.') && text.len() <= 64);
    }
}

/// A bundle as it was issued. Its keys are new in every run; where its files differ from run to run is of no interest.
struct Issued {
    folder: tempfile::TempDir,
    files: [(PathBuf, String); 5],
}

static ISSUED: LazyLock<Issued> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    init(&folder.path().join("fed"), &InitOptions::with_members(1)).expect("a federation is made");
    let bundle = folder.path().join("fed/members/m1");
    let files = ["member.toml", "terms.json", "authority.pem", "member.pem", "member.key"].map(|name| {
        let path = bundle.join(name);
        let text = fs::read_to_string(&path).expect("a file of the bundle");
        (path, text)
    });
    Issued { folder, files }
});

/// A bundle in which one file was edited: the first byte says which, then `@` a place, the length that goes, and what
/// comes instead.
pub fn bundle(bytes: &[u8]) -> bool {
    let Some((&which, edit)) = bytes.split_first() else { return false };
    let Issued { folder, files } = &*ISSUED;
    let (path, issued) = &files[usize::from(which) % files.len()];
    let Some(edited) = edited(issued, edit) else { return false };
    fs::write(path, &edited).expect("the file can be written");
    let opened = open_bundle(&folder.path().join("fed/members/m1"));
    fs::write(path, issued).expect("the file can be written");
    check_bundle(opened, path, edited == *issued)
}

/// The text with some bytes in the place of others.
fn edited(text: &str, edit: &[u8]) -> Option<String> {
    let [high, low, gone, put @ ..] = edit else { return Some(text.to_owned()) };
    let at = (usize::from(*high) << 8 | usize::from(*low)) % text.len();
    let end = (at + usize::from(*gone)).min(text.len());
    let mut changed = text.as_bytes().to_vec();
    changed.splice(at..end, put.iter().copied());
    String::from_utf8(changed).ok()
}

/// What is opened belongs together, whatever was done to a file of it.
fn check_bundle(opened: Result<Bundle, OpenError>, path: &Path, is_issued: bool) -> bool {
    let Ok(bundle) = opened else {
        assert!(!is_issued, "the bundle as it was issued is not opened: {opened:?}");
        return false;
    };
    let Bundle { member, federation, agreement, authority, identity, .. } = &bundle;
    check_name(member.as_str()).expect("the name of a member is one");
    assert_eq!(authority.digest(), *federation);
    assert_eq!(identity.certificate().key(), identity.signer().public());
    let terms = fs::read_to_string(path.with_file_name("terms.json")).expect("a file of the bundle");
    assert_eq!(agreement.text(), terms, "other terms than were issued");
    true
}
