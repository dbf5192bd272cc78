//! Settings in TOML and terms in JSON: what is accepted is written and read back as the same.

use truthfed_node::federation::{RawFederation, Settings};
use truthfed_node::reading::read_json;
use truthfed_node::terms::{Agreement, RawTerms};

use crate::text::{same, text};

/// The terms of a federation as JSON.
pub fn terms(bytes: &[u8]) -> bool {
    let Ok(document) = read_json::<RawTerms>(bytes) else { return false };
    let Ok(agreement) = Agreement::try_from(document) else { return false };
    check_agreement(&agreement);
    true
}

/// The text of a `federation.toml`.
pub fn settings(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Ok(settings) = Settings::read(text) else { return false };
    check_agreement(&settings.agreement);
    assert!(settings.admin.ip().is_loopback());
    assert!(settings.names.contains(&settings.server_name), "a host without a certificate");
    let raw: RawFederation = toml::from_str(text).expect("settings are raw ones first");
    let written = toml::to_string(&raw).expect("settings are TOML");
    same(&raw, &written, |text| toml::from_str(text));
    let again = Settings::read(&written).map(|again| format!("{again:?}"));
    assert_eq!(again, Ok(format!("{settings:?}")));
    true
}

/// Members find the same terms under the same hash in their bundles.
fn check_agreement(agreement: &Agreement) {
    let again = read_json::<RawTerms>(agreement.text().as_bytes()).map(Agreement::try_from);
    let Ok(Ok(again)) = again else { panic!("agreed on, and not read again: {again:?}") };
    assert_eq!((again.raw(), again.hash()), (agreement.raw(), agreement.hash()));
    assert_eq!(*again, **agreement);
    assert_eq!(agreement.mechanism().name(), agreement.raw().mechanism.name);
}
