//! Parameters of mechanisms: keys of `[rounds]`, as the catalog lists them.
//!
//! A configuration has a value for each parameter of each mechanism, so that a sweep can change the mechanism alone.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use truthfed::auction::catalog;
use truthfed::auction::{Kind, Parameter, Value};

/// Values by name, and whatever else stands in `[rounds]`. Money is a number of units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Value>", into = "BTreeMap<String, Value>")]
pub struct Parameters(pub(super) BTreeMap<String, Value>);

impl Default for Parameters {
    fn default() -> Parameters {
        let defaults = catalog::parameters().into_iter();
        Parameters(defaults.map(|(parameter, _)| (parameter.name.to_owned(), default(parameter))).collect())
    }
}

impl From<BTreeMap<String, Value>> for Parameters {
    fn from(written: BTreeMap<String, Value>) -> Parameters {
        let Parameters(mut values) = Parameters::default();
        for (name, value) in written {
            let value = match (values.get(&name), value) {
                (Some(Value::Real(_)), Value::Count(whole)) => Value::Real(whole as f64),
                (_, value) => value,
            };
            values.insert(name, value);
        }
        Parameters(values)
    }
}

impl From<Parameters> for BTreeMap<String, Value> {
    fn from(parameters: Parameters) -> BTreeMap<String, Value> {
        parameters.0
    }
}

fn default(parameter: &Parameter) -> Value {
    match parameter.default() {
        Value::Amount(amount) => Value::Real(amount.to_f64()),
        other => other,
    }
}

/// Lines of TOML, with the mechanisms and the meaning of each parameter.
pub(super) fn commented() -> String {
    let line = |(parameter, mechanisms): (&Parameter, Vec<&str>)| {
        let value = match default(parameter) {
            Value::Real(real) => format!("{real:?}"),
            Value::Choice(word) => format!("{word:?}"),
            other => other.to_string(),
        };
        let setting = format!("{} = {value}", parameter.name);
        format!("{setting:<25} # {}: {}\n", mechanisms.join(", "), parameter.help)
    };
    catalog::parameters().into_iter().map(line).collect()
}

impl JsonSchema for Parameters {
    fn schema_name() -> Cow<'static, str> {
        "Parameters".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let property = |(parameter, mechanisms): (&Parameter, Vec<&str>)| {
            let mut schema = match parameter.kind {
                Kind::Real { least, most, .. } => json_schema!({"type": "number", "minimum": least, "maximum": most}),
                Kind::Amount { .. } => json_schema!({"type": "number", "exclusiveMinimum": 0}),
                Kind::Count { .. } => json_schema!({"type": "integer", "minimum": 0}),
                Kind::Switch => json_schema!({"type": "boolean"}),
                Kind::Choice(words) => json_schema!({"enum": words}),
            };
            let help = format!("{}: {}.", mechanisms.join(", "), parameter.help);
            schema.insert("description".to_owned(), help.into());
            (parameter.name.to_owned(), schema.to_value())
        };
        let properties: serde_json::Map<_, _> = catalog::parameters().into_iter().map(property).collect();
        json_schema!({"type": "object", "properties": properties})
    }
}
