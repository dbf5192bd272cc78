//! From what `federation.toml` says to what is valid.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rustls::pki_types::ServerName;
use serde::{Deserialize, Serialize};

use super::lines;
use crate::coordinator::logging::Level;
use crate::identity::check_name;
use crate::net::{Limits, body_bytes};
use crate::store::{Location, LocationError};
use crate::terms::{Agreement, RawTerms, TermsError};

/// What `federation.toml` says. Their meaning stands in the commented file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawFederation {
    pub name: String,
    pub listen: String,
    pub address: String,
    pub names: Vec<String>,
    pub admin: String,
    pub store: String,
    /// Not in the files of earlier programs.
    #[serde(default)]
    pub log_level: Level,
    pub terms: RawTerms,
    pub limits: RawLimits,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLimits {
    pub connections: usize,
    pub connections_per_address: usize,
    pub connections_per_member: usize,
    pub requests_per_second: u32,
    pub burst: u32,
    pub handshake_ms: u64,
    pub header_ms: u64,
    pub body_ms: u64,
    pub stall_ms: u64,
    pub poll_ms: u64,
    pub grace_ms: u64,
}

#[derive(Debug, Clone)]
pub struct Settings {
    pub name: String,
    pub listen: SocketAddr,
    /// Where members reach it, `host:port`.
    pub address: String,
    /// The host of that address: what its certificate is checked against.
    pub server_name: String,
    pub names: Vec<String>,
    /// Where it answers in plain text: on this machine.
    pub admin: SocketAddr,
    pub store: Location,
    pub agreement: Agreement,
    pub limits: Limits,
    /// What `serve` logs, unless it is told otherwise.
    pub log_level: Level,
}

/// Why settings are refused. All are the operator's to mend.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// Not TOML, an unknown or missing key, or a wrong type. The message names the place and shows no line of the text:
    /// one may hold the password of a database.
    #[error("{0}")]
    Toml(String),
    #[error("{}{key} {problem}", line.map_or(String::new(), |line| format!("line {line}: ")))]
    Value {
        /// The key, such as `terms.reserve`.
        key: String,
        problem: String,
        line: Option<usize>,
    },
}

impl Settings {
    /// Reads and checks the text of a `federation.toml`. The error names the key, what is allowed, and the line.
    pub fn read(text: &str) -> Result<Settings, SettingsError> {
        Settings::try_from(parse(text)?).map_err(|error| match error {
            SettingsError::Value { key, problem, .. } => {
                SettingsError::Value { line: lines::find(text, &key), key, problem }
            }
            other => other,
        })
    }

    /// The keys with other values in `later` that a running coordinator cannot take over: all but `log_level` and `limits`.
    pub fn unlike(&self, later: &Settings) -> Vec<&'static str> {
        let differs = [
            ("name", self.name != later.name),
            ("listen", self.listen != later.listen),
            ("address", self.address != later.address),
            ("names", self.names != later.names),
            ("admin", self.admin != later.admin),
            ("store", self.store != later.store),
            ("terms", self.agreement.hash() != later.agreement.hash()),
        ];
        differs.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

fn parse(text: &str) -> Result<RawFederation, SettingsError> {
    let refused = |key: Option<String>, error: &toml::de::Error| {
        let line = error.span().map(|span| format!(" at line {}", text[..span.start].matches('\n').count() + 1));
        let key = key.map_or(String::new(), |key| format!("{key}: "));
        // The wrong kind of value is quoted; one that looks like an address may be the store's.
        let problem = if error.message().contains("://") { "wrong type of value" } else { error.message() };
        SettingsError::Toml(format!("TOML parse error{}: {key}{problem}", line.unwrap_or_default()))
    };
    let reader = toml::Deserializer::parse(text).map_err(|error| refused(None, &error))?;
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let key = Some(error.path().to_string()).filter(|path| path != ".");
        refused(key, error.inner())
    })
}

impl TryFrom<RawFederation> for Settings {
    type Error = SettingsError;

    fn try_from(raw: RawFederation) -> Result<Settings, SettingsError> {
        check_name(&raw.name).map_err(|error| wrong("name", format!("is unusable: {error}")))?;
        let admin = socket("admin", &raw.admin)?;
        if !admin.ip().is_loopback() {
            let problem = format!("is {admin}: plain text is for this machine only, such as 127.0.0.1:7480");
            return Err(wrong("admin", problem));
        }
        check_names(&raw.names)?;
        let server_name = host(&raw.address, &raw.names)?;
        let agreement = Agreement::try_from(raw.terms).map_err(|error| refused_terms(&error))?;
        Ok(Settings {
            listen: socket("listen", &raw.listen)?,
            store: raw.store.parse().map_err(|error: LocationError| wrong("store", error.to_string()))?,
            limits: limits(&raw.limits, agreement.dimension())?,
            log_level: raw.log_level,
            name: raw.name,
            address: raw.address,
            names: raw.names,
            server_name,
            admin,
            agreement,
        })
    }
}

fn socket(key: &'static str, text: &str) -> Result<SocketAddr, SettingsError> {
    text.parse()
        .map_err(|_| wrong(key, format!("is `{text}`: it must be an IP address and a port, such as 127.0.0.1:7443")))
}

fn check_names(names: &[String]) -> Result<(), SettingsError> {
    if names.is_empty() {
        return Err(wrong("names", "is empty: a server needs at least one name".to_owned()));
    }
    match names.iter().find(|name| ServerName::try_from(name.as_str()).is_err()) {
        Some(name) => Err(wrong("names", format!("has `{name}`, which is neither a DNS name nor an IP address"))),
        None => Ok(()),
    }
}

/// The host of `host:port`.
pub(super) fn host_of(address: &str) -> Option<&str> {
    let (host, port) = address.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    Some(host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host))
}

/// The host of `host:port`, which must be certified.
fn host(address: &str, names: &[String]) -> Result<String, SettingsError> {
    let form = || wrong("address", format!("is `{address}`: it must be host:port, such as 127.0.0.1:7443"));
    let host = host_of(address).ok_or_else(form)?;
    let same = |name: &&String| match (name.parse::<IpAddr>(), host.parse::<IpAddr>()) {
        (Ok(name), Ok(host)) => name == host,
        _ => name.eq_ignore_ascii_case(host),
    };
    let unknown = || wrong("address", format!("is at `{host}`, which is not among names: add it there"));
    names.iter().find(same).cloned().ok_or_else(unknown)
}

fn refused_terms(error: &TermsError) -> SettingsError {
    let message = error.to_string();
    // The message names the key in its own way: what follows it is the same everywhere.
    let problem = message.split_once(" is ").map_or(message.clone(), |(_, rest)| format!("is {rest}"));
    wrong(&format!("terms.{}", error.key()), problem)
}

fn limits(raw: &RawLimits, dimension: usize) -> Result<Limits, SettingsError> {
    let count = |key, value: usize| whole(key, value as u64, 1_000_000).map(|()| value);
    let rate = |key, value: u32| whole(key, u64::from(value), 1_000_000).map(|()| value);
    Ok(Limits {
        connections: count("limits.connections", raw.connections)?,
        connections_per_address: count("limits.connections_per_address", raw.connections_per_address)?,
        connections_per_member: count("limits.connections_per_member", raw.connections_per_member)?,
        requests_per_second: rate("limits.requests_per_second", raw.requests_per_second)?,
        burst: rate("limits.burst", raw.burst)?,
        handshake: milliseconds("limits.handshake_ms", raw.handshake_ms)?,
        header: milliseconds("limits.header_ms", raw.header_ms)?,
        body: milliseconds("limits.body_ms", raw.body_ms)?,
        stall: milliseconds("limits.stall_ms", raw.stall_ms)?,
        poll: milliseconds("limits.poll_ms", raw.poll_ms)?,
        grace: milliseconds("limits.grace_ms", raw.grace_ms)?,
        body_bytes: body_bytes(dimension),
    })
}

fn milliseconds(key: &'static str, value: u64) -> Result<Duration, SettingsError> {
    whole(key, value, 3_600_000).map(|()| Duration::from_millis(value))
}

fn whole(key: &'static str, value: u64, most: u64) -> Result<(), SettingsError> {
    match (1..=most).contains(&value) {
        true => Ok(()),
        false => Err(wrong(key, format!("is {value}: it must lie between 1 and {most}"))),
    }
}

fn wrong(key: &str, problem: String) -> SettingsError {
    SettingsError::Value { key: key.to_owned(), problem, line: None }
}

#[cfg(test)]
mod tests {
    use truthfed::protocol::{Quality, QualityRule, SamplesSetting};

    use super::super::DEFAULT_TOML;
    use super::*;
    use crate::terms::{Agreement, RawTerms};

    fn check_refused(key: &str, value: &str, expected: &str) {
        let text = lines::set(DEFAULT_TOML, key, value).unwrap();
        let line = lines::find(DEFAULT_TOML, key).unwrap();
        let error = Settings::read(&text).unwrap_err().to_string();
        assert!(error.contains(&format!("line {line}")) && error.contains(expected), "{key} = {value}: {error}");
    }

    fn check_parameter(mechanism: &str, line: &str, expected: &str) {
        let name = lines::find(DEFAULT_TOML, "terms.mechanism.name").unwrap();
        let text = DEFAULT_TOML.replace("name = \"clock\"", &format!("name = \"{mechanism}\"\n{line}"));
        let error = Settings::read(&text).unwrap_err().to_string();
        assert!(error.contains(&format!("line {}", name + 1)) && error.contains(expected), "{line}: {error}");
    }

    #[test]
    fn the_commented_defaults_are_valid_and_agree_with_the_defaults_of_the_code_but_for_money_and_trust() {
        let settings = Settings::read(DEFAULT_TOML).unwrap();
        assert_eq!(settings.limits, Limits { body_bytes: body_bytes(5), ..Limits::default() });
        let [reserve, purse, daily_purse] = [100, 1000, 10_000].map(truthfed::Amount::from_units);
        let (purse, daily_purse) = (Some(purse), Some(daily_purse));
        let (least_samples, rule) = (SamplesSetting::auto(), QualityRule::Hold);
        let quality = Quality { rule, ..Quality::default() };
        let defaults = RawTerms { reserve, purse, daily_purse, least_samples, quality, ..RawTerms::default() };
        let defaults = Agreement::try_from(defaults).unwrap();
        assert_eq!(settings.agreement.raw(), defaults.raw());
        assert_eq!((settings.server_name.as_str(), settings.listen.port()), ("127.0.0.1", 7443));
    }

    #[test]
    fn wrong_values_are_named_with_their_line_and_what_is_allowed() {
        check_refused("name", "\"a/b\"", "name is unusable");
        check_refused(
            "listen",
            "\"localhost:7443\"",
            "listen is `localhost:7443`: it must be an IP address and a port",
        );
        check_refused("admin", "\"0.0.0.0:7480\"", "plain text is for this machine only");
        check_refused("names", "[]", "names is empty");
        check_refused("names", "[\"a b\"]", "names has `a b`");
        check_refused("address", "\"example.org:7443\"", "address is at `example.org`, which is not among names");
        check_refused("address", "\"localhost\"", "it must be host:port");
        check_refused("store", "\"mysql://x:secret@y\"", "store is an address, but not a postgres:// one");
        check_refused("terms.coverage", "2", "terms.coverage is 2: it must be above 0 and at most 1");
        check_refused("terms.coverage", "\"x\"", "terms.coverage is `x`: it must be a number");
        check_refused("terms.reserve", "\"-1\"", "`-1` is negative: the least amount is 0");
        check_refused("terms.reserve", "\"0.0000001\"", "more than 6 decimal places");
        check_refused("terms.norm", "0.0", "terms.norm is 0: it must lie between 1e-9 and 1e9");
        check_refused("terms.reward", "nan", "terms.reward is NaN");
        check_refused("terms.samples", "0", "terms.samples is 0: it must lie in 1..=1000000000");
        check_refused("terms.offers_ms", "0", "terms.offers_ms is 0: it must lie in 1..=86400000");
        check_refused("terms.deliveries_ms", "86400001", "terms.deliveries_ms is 86400001");
        check_refused("terms.bandit.dimension", "0", "terms.bandit.dimension is 0: it must lie in 1..=512");
        check_refused("terms.bandit.lambda", "0.0", "terms.bandit.lambda is 0");
        check_refused("terms.bandit.sigma", "-1.0", "terms.bandit.sigma is -1");
        check_refused("terms.bandit.delta", "1.0", "terms.bandit.delta is 1");
        check_refused("terms.trigger.threshold", "-1.0", "terms.trigger.threshold is -1");
        check_refused("terms.trigger.since", "\"x\"", "unknown variant `x`");
        check_refused("terms.mechanism.name", "\"x\"", "terms.mechanism.name is `x`: it must be one of everyone");
        check_parameter("ratchet", "epsilon = 0.0", "terms.mechanism.epsilon is 0: it must lie between 1e-9");
        check_parameter("truth-fedban", "gamma = \"0\"", "terms.mechanism.gamma is 0: it must be above 0");
        check_parameter("ratchet", "first_budget = \"0\"", "terms.mechanism.first_budget is 0");
        check_parameter("ratchet", "first_budget = \"x\"", "`x` is not a finite decimal number");
        check_parameter("ratchet", "first_budget = 0.5", "it must be above 0, and a decimal in quotes");
        check_parameter("clock", "epsilon = 1.0", "terms.mechanism.epsilon is not a parameter of clock, but of");
        check_refused("limits.connections", "0", "limits.connections is 0: it must lie between 1 and 1000000");
        check_refused("limits.poll_ms", "3600001", "limits.poll_ms is 3600001");
        check_refused("limits.burst", "\"many\"", "invalid type");
    }

    #[test]
    fn unknown_and_missing_keys_are_refused() {
        let refused = |text: &str| Settings::read(text).unwrap_err().to_string();
        assert!(refused(&DEFAULT_TOML.replace("[terms]\n", "[terms]\nprice = 3\n")).contains("unknown field `price`"));
        assert!(refused(&DEFAULT_TOML.replace("norm = 1.0\n", "")).contains("missing field `norm`"));
        assert!(refused(&DEFAULT_TOML[..600]).contains("line"));
    }

    #[test]
    fn a_password_is_not_printed() {
        let text = lines::set(DEFAULT_TOML, "store", "\"postgres://me:secret@host/db\"").unwrap();
        let settings = Settings::read(&text).unwrap();
        assert_eq!(settings.store, "postgres://me:secret@host/db".parse().unwrap());
        assert!(!format!("{settings:?}").contains("secret"));
    }

    #[test]
    fn an_error_in_the_settings_showed_the_line_with_the_password() {
        let url = "postgres://me:secret@host/db";
        let stores = [
            format!("store = \"{url}"),
            format!("store = {url}"),
            format!("store = [\"{url}\"]"),
            format!("store \"{url}\""),
            format!("store = \"{url}\" limits = 3"),
            format!("store = \"{url}\"\nstore = \"{url}\""),
            format!("stores = \"{url}\""),
            format!("store = \"ledger.db\"\nlimits = \"{url}\""),
        ];
        for store in stores {
            let text = DEFAULT_TOML.replace("store = \"ledger.db\"", &store);
            let error = Settings::read(&text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
            assert!(error.to_string().contains("line"), "{error}");
        }
    }

    #[test]
    fn an_address_may_be_a_name_or_an_ip_address_of_either_kind() {
        let names = ["localhost", "::1", "a.example.org"].map(str::to_owned);
        let host = |address| host(address, &names).ok();
        assert_eq!(host("[::1]:7443").as_deref(), Some("::1"));
        assert_eq!(host("[0:0::1]:7443").as_deref(), Some("::1"));
        assert_eq!(host("A.example.org:1").as_deref(), Some("a.example.org"));
        assert_eq!(host("localhost:99999"), None);
    }
}
