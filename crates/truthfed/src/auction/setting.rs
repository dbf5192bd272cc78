//! A mechanism and its parameters, as they are written down and as they are checked.
//!
//! `{"name": "ratchet", "epsilon": 1.0, "first_budget_micros": 10000}`: money is a whole number of micro-units, or without
//! the suffix a decimal in quotes (`first_budget = "0.01"`). A parameter that is left out has its default; all are
//! written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Mechanism;
use super::catalog::{self, Claims, Entry};
use super::parameter::{Parameter, ParameterError, Value};
use crate::Amount;

/// The ending of keys whose value is a number of micro-units.
const MICROS: &str = "_micros";

/// The name and parameters of any mechanism, unchecked.
#[derive(Debug, Clone, PartialEq)]
pub struct RawMechanism {
    pub name: String,
    pub parameters: BTreeMap<String, Value>,
}

/// A mechanism of the catalog with a valid value for each of its parameters.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "RawMechanism", into = "RawMechanism")]
pub struct MechanismSetting {
    entry: &'static Entry,
    raw: RawMechanism,
}

/// Why a name and parameters are no setting. The writer must fix them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{} {}", self.key(), self.problem())]
#[non_exhaustive]
pub enum SettingError {
    Name(String),
    Misplaced { mechanism: &'static str, key: String },
    Value { mechanism: &'static str, error: ParameterError },
}

impl RawMechanism {
    /// The name and parameters of a mechanism, built in or not.
    pub fn of(mechanism: &dyn Mechanism) -> RawMechanism {
        RawMechanism { name: mechanism.name().to_owned(), parameters: mechanism.parameters() }
    }
}

impl MechanismSetting {
    /// A mechanism of the catalog with its defaults.
    pub fn named(name: &str) -> Result<MechanismSetting, SettingError> {
        let entry = catalog::find(name).ok_or_else(|| SettingError::Name(name.to_owned()))?;
        Ok(MechanismSetting::of(entry))
    }

    pub(super) fn of(entry: &'static Entry) -> MechanismSetting {
        let parameters = entry.parameters.iter().map(|parameter| parameter.with(parameter.default())).collect();
        MechanismSetting { entry, raw: RawMechanism { name: entry.name.to_owned(), parameters } }
    }

    /// The same with another value for a parameter.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Result<MechanismSetting, SettingError> {
        let mechanism = self.entry.name;
        let parameter = self.entry.parameter(key);
        let parameter = parameter.ok_or_else(|| SettingError::Misplaced { mechanism, key: key.to_owned() })?;
        let value = parameter.check(value).map_err(|error| SettingError::Value { mechanism, error })?;
        self.raw.parameters.extend([parameter.with(value)]);
        Ok(self)
    }

    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    pub fn claims(&self) -> Claims {
        (self.entry.claims)(self)
    }

    pub fn mechanism(&self) -> Box<dyn Mechanism> {
        (self.entry.build)(self)
    }

    pub(super) fn real(&self, parameter: &Parameter) -> f64 {
        let Value::Real(real) = self.value(parameter) else { panic!("bug: {} is no real", parameter.name) };
        real
    }

    pub(super) fn amount(&self, parameter: &Parameter) -> Amount {
        let Value::Amount(amount) = self.value(parameter) else { panic!("bug: {} is no amount", parameter.name) };
        amount
    }

    pub(super) fn count(&self, parameter: &Parameter) -> u64 {
        let Value::Count(count) = self.value(parameter) else { panic!("bug: {} is no count", parameter.name) };
        count
    }

    pub(super) fn is_on(&self, parameter: &Parameter) -> bool {
        self.value(parameter) == Value::Switch(true)
    }

    /// The chosen word.
    pub(super) fn choice(&self, parameter: &Parameter) -> Cow<'static, str> {
        let Value::Choice(word) = self.value(parameter) else { panic!("bug: {} is no choice", parameter.name) };
        word
    }

    fn value(&self, parameter: &Parameter) -> Value {
        self.raw.parameters.get(parameter.name).cloned().expect("a setting has all parameters of its mechanism")
    }
}

impl Default for MechanismSetting {
    fn default() -> MechanismSetting {
        MechanismSetting::named(catalog::DEFAULT).expect("the default is in the catalog")
    }
}

impl PartialEq for MechanismSetting {
    fn eq(&self, other: &MechanismSetting) -> bool {
        self.raw == other.raw
    }
}

impl TryFrom<RawMechanism> for MechanismSetting {
    type Error = SettingError;

    fn try_from(raw: RawMechanism) -> Result<MechanismSetting, SettingError> {
        let defaults = MechanismSetting::named(&raw.name)?;
        raw.parameters.into_iter().try_fold(defaults, |setting, (key, value)| setting.with(&key, value))
    }
}

impl From<MechanismSetting> for RawMechanism {
    fn from(setting: MechanismSetting) -> RawMechanism {
        setting.raw
    }
}

impl SettingError {
    /// What is wrong: `name`, or the name of the parameter.
    pub fn key(&self) -> &str {
        match self {
            SettingError::Name(_) => "name",
            SettingError::Misplaced { key, .. } => key,
            SettingError::Value { error, .. } => error.parameter.name,
        }
    }

    pub fn problem(&self) -> String {
        match self {
            SettingError::Name(name) => format!("is `{name}`: it must be one of {}", catalog::names().join(", ")),
            SettingError::Misplaced { mechanism, key } => {
                format!("is not a parameter of {mechanism}{}", owners(mechanism, key))
            }
            SettingError::Value { mechanism, error } => format!("{} for {mechanism}", error.problem()),
        }
    }
}

/// Which mechanisms have a parameter, or which parameters a mechanism has.
fn owners(mechanism: &str, key: &str) -> String {
    let has = |entry: &&Entry| entry.parameter(key).is_some();
    let others: Vec<&str> = catalog::entries().iter().filter(has).map(|entry| entry.name).collect();
    let own = catalog::find(mechanism).map_or(&[][..], |entry| entry.parameters);
    let own: Vec<&str> = own.iter().map(|parameter| parameter.name).collect();
    match (others.is_empty(), own.is_empty()) {
        (false, _) => format!(", but of {}", others.join(", ")),
        (true, false) => format!(", which has {}", own.join(", ")),
        (true, true) => ", which has none".to_owned(),
    }
}

impl Serialize for RawMechanism {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.parameters.len()))?;
        map.serialize_entry("name", &self.name)?;
        for (key, value) in &self.parameters {
            match value {
                Value::Amount(amount) => map.serialize_entry(&format!("{key}{MICROS}"), amount)?,
                value => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawMechanism {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawMechanism, D::Error> {
        deserializer.deserialize_map(MechanismVisitor)
    }
}

struct MechanismVisitor;

impl<'de> Visitor<'de> for MechanismVisitor {
    type Value = RawMechanism;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mechanism: its name and its parameters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMechanism, A::Error> {
        let (mut name, mut parameters) = (None, BTreeMap::new());
        while let Some(key) = map.next_key::<String>()? {
            let is_repeated = match key.strip_suffix(MICROS) {
                _ if key == "name" => name.replace(map.next_value()?).is_some(),
                Some(stem) => parameters.insert(stem.to_owned(), Value::Amount(map.next_value()?)).is_some(),
                None => parameters.insert(key.clone(), map.next_value()?).is_some(),
            };
            if is_repeated {
                return Err(de::Error::custom(format!("duplicate field `{key}`")));
            }
        }
        Ok(RawMechanism { name: name.ok_or_else(|| de::Error::missing_field("name"))?, parameters })
    }
}

/// Any mechanism of the catalog with all its parameters, as they are written.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for RawMechanism {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mechanism".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let choice = |entry| mechanism_schema(entry, generator);
        let choices: Vec<schemars::Schema> = catalog::entries().iter().map(choice).collect();
        schemars::json_schema!({ "description": "Who wins, and what they are paid.", "oneOf": choices })
    }
}

#[cfg(feature = "schema")]
fn mechanism_schema(entry: &Entry, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    use schemars::json_schema;

    use super::Kind;

    let mut properties = serde_json::Map::new();
    properties.insert("name".to_owned(), serde_json::json!({ "const": entry.name }));
    for parameter in entry.parameters {
        let (key, mut schema) = match parameter.kind {
            Kind::Real { least, most, .. } => {
                (parameter.name.to_owned(), json_schema!({ "type": "number", "minimum": least, "maximum": most }))
            }
            Kind::Amount { .. } => (format!("{}{MICROS}", parameter.name), generator.subschema_for::<Amount>()),
            Kind::Count { .. } => (parameter.name.to_owned(), json_schema!({ "type": "integer", "minimum": 0 })),
            Kind::Switch => (parameter.name.to_owned(), json_schema!({ "type": "boolean" })),
            Kind::Choice(words) => (parameter.name.to_owned(), json_schema!({ "enum": words })),
        };
        schema.insert("description".to_owned(), format!("{}.", parameter.help).into());
        properties.insert(key, schema.to_value());
    }
    let required: Vec<String> = properties.keys().cloned().collect();
    json_schema!({
        "description": entry.summary,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<MechanismSetting, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn every_setting_is_written_whole_and_read_again() {
        for entry in catalog::entries() {
            let setting = entry.setting();
            let text = serde_json::to_string(&setting).unwrap();
            assert_eq!(read(&text).unwrap(), setting);
            assert_eq!(RawMechanism::of(setting.mechanism().as_ref()), RawMechanism::from(setting), "{text}");
            assert_eq!(read(&format!(r#"{{"name":"{}"}}"#, entry.name)).unwrap(), entry.setting());
        }
        let ratchet = r#"{"name":"ratchet","epsilon":1.0,"first_budget_micros":10000}"#;
        assert_eq!(serde_json::to_string(&read(ratchet).unwrap()).unwrap(), ratchet);
        let decimal = r#"{"name":"ratchet","epsilon":1,"first_budget":"0.01"}"#;
        assert_eq!(read(decimal).unwrap(), read(ratchet).unwrap());
        // More digits than a float holds.
        let exact = read(r#"{"name":"ratchet","first_budget":"999999999999.999999"}"#).unwrap();
        assert!(serde_json::to_string(&exact).unwrap().contains("\"first_budget_micros\":999999999999999999"));
    }

    #[test]
    fn what_is_wrong_names_the_key_the_bound_and_the_mechanism() {
        let check = |text: &str, expected: &str| {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check(r#"{"name":"x"}"#, "name is `x`: it must be one of everyone, inc-feducb");
        check(r#"{"epsilon":1}"#, "missing field `name`");
        check(r#"{"name":"clock","name":"clock"}"#, "duplicate field `name`");
        check(r#"{"name":"ratchet","epsilon":1,"epsilon":1}"#, "duplicate field `epsilon`");
        check(
            r#"{"name":"ratchet","first_budget":"1","first_budget_micros":1}"#,
            "duplicate field `first_budget_micros`",
        );
        check(r#"{"name":"clock","epsilon":1}"#, "epsilon is not a parameter of clock, but of truth-fedban, ratchet");
        check(r#"{"name":"vcg","speed":1}"#, "speed is not a parameter of vcg, which has node_limit");
        check(r#"{"name":"clock","speed":1}"#, "speed is not a parameter of clock, which has none");
        check(r#"{"name":"ratchet","epsilon":0}"#, "epsilon is 0: it must lie between 1e-9 and 1e9 for ratchet");
        check(r#"{"name":"ratchet","epsilon":true}"#, "epsilon is true: it must lie between 1e-9 and 1e9 for ratchet");
        check(r#"{"name":"ratchet","first_budget_micros":0}"#, "first_budget is 0: it must be above 0 for ratchet");
        check(
            r#"{"name":"ratchet","first_budget":0.01}"#,
            "first_budget is 0.01: it must be above 0, and a decimal in quotes",
        );
        check(r#"{"name":"ratchet","first_budget_micros":-1}"#, "is negative: the least amount is 0");
        check(r#"{"name":"ratchet","first_budget_micros":0.5}"#, "invalid type: floating point `0.5`");
        check(
            r#"{"name":"truth-fedban","target":"lax"}"#,
            "target is `lax`: it must be one of printed, normalised, plain for truth-fedban",
        );
        check(r#"{"name":"vcg","node_limit":-1}"#, "node_limit is -1: it must be a whole number for vcg");
        check(r#"["clock"]"#, "expected a mechanism: its name and its parameters");
    }
}
