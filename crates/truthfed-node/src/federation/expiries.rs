//! Until when the certificates of a federation last.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::Federation;
use crate::identity::Certificate;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// From when on the end of a member's certificate is shown.
pub const NOTICE_DAYS: i64 = 30;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expiry {
    /// Whose certificate.
    pub of: String,
    /// Its last day.
    pub until: String,
    /// Below zero once it has expired.
    pub days: i64,
}

impl Expiry {
    /// Those of authority, coordinator and operator, and of members if they end within 30 days.
    pub fn of_federation(federation: &Federation) -> Vec<Expiry> {
        Expiry::all(&dated(federation))
    }

    /// The same at this moment, of certificates by name; the first three are always shown.
    pub(crate) fn all(dated: &[(String, Certificate)]) -> Vec<Expiry> {
        let expiries = dated.iter().map(|(of, certificate)| Expiry::of(of, certificate)).enumerate();
        expiries.filter(|(place, expiry)| *place < 3 || expiry.days < NOTICE_DAYS).map(|(_, expiry)| expiry).collect()
    }

    pub(crate) fn of(of: &str, certificate: &Certificate) -> Expiry {
        let left = match certificate.expires().duration_since(SystemTime::now()) {
            Ok(left) => left.as_secs() as i64,
            Err(over) => -(over.duration().as_secs() as i64),
        };
        Expiry { of: of.to_owned(), until: certificate.last_day(), days: left.div_euclid(DAY.as_secs() as i64) }
    }
}

/// All certificates by name: first those of authority, coordinator and operator.
pub(crate) fn dated(federation: &Federation) -> Vec<(String, Certificate)> {
    let own = [
        ("authority", &federation.authority),
        ("coordinator", federation.server.certificate()),
        ("operator", federation.operator_certificate()),
    ];
    let members = federation.certificates().map(|(member, certificate)| (member.as_str(), certificate));
    own.into_iter().chain(members).map(|(of, certificate)| (of.to_owned(), certificate.clone())).collect()
}
