//! The OpenAPI 3.1 document, made from the table of routes.

use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::route::{Call, Nothing, Reply, Route, Takes, Who};
use super::table;
use crate::error::Refusal;
use crate::schema;

pub(super) async fn document(call: Call, _: Nothing) -> Result<Reply<Value>, Refusal> {
    Ok(Reply::written(call.service.document.clone()))
}

/// The document.
pub(super) fn text() -> String {
    describe(&table::routes()).to_string()
}

fn describe(routes: &[Route]) -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in routes {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation(route, &mut generator);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "truthfed coordinator",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Federated linear bandits whose members are paid by a truthful auction. Every connection is TLS \
                            1.3 with a client certificate of the federation's authority; the certificate alone says who \
                            asks. docs/protocol.md tells what the messages mean.",
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "certificate": { "type": "mutualTLS" } },
        },
        "security": [{ "certificate": [] }],
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let who = match route.who {
        Who::Member => "members",
        Who::Operator => "operator",
        Who::Either => "everyone",
    };
    let mut operation = json!({
        "operationId": identifier(route),
        "summary": route.summary,
        "tags": [who],
        "responses": {
            "200": { "description": "Done.", "content": content((route.gives)(generator)) },
            "default": { "description": "Refused.", "content": content(generator.subschema_for::<Refusal>()) },
        },
    });
    let mut parameters: Vec<Value> = path_parameters(route, generator);
    match (route.takes)(generator) {
        Takes::Nothing => {}
        Takes::Query(schema) => parameters.extend(query_parameters(&schema.into())),
        Takes::Body(schema) => {
            operation["requestBody"] = json!({ "required": true, "content": content(schema) });
        }
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    operation
}

/// `post-v1-rounds-round-offer`.
fn identifier(route: &Route) -> String {
    let words = route.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let method = route.method.as_str().to_lowercase();
    std::iter::once(method.as_str()).chain(words).collect::<Vec<_>>().join("-")
}

fn content(schema: Schema) -> Value {
    json!({ "application/json": { "schema": Value::from(schema) } })
}

fn path_parameters(route: &Route, generator: &mut SchemaGenerator) -> Vec<Value> {
    let names = route.path.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let parameter = |(name, _): (&str, &str)| {
        let schema = match name {
            "round" => generator.subschema_for::<schema::Round>(),
            _ => generator.subschema_for::<schema::Member>(),
        };
        json!({ "name": name, "in": "path", "required": true, "schema": schema })
    };
    names.map(parameter).collect()
}

fn query_parameters(schema: &Value) -> Vec<Value> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let parameter = |(name, schema): (&String, &Value)| json!({ "name": name, "in": "query", "schema": schema });
    properties.map(parameter).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_is_in_the_document_and_nothing_else_is() {
        let routes = table::routes();
        let document: Value = serde_json::from_str(&text()).unwrap();
        let table: BTreeSet<(String, String)> =
            routes.iter().map(|route| (route.path.to_owned(), route.method.as_str().to_lowercase())).collect();
        assert_eq!(table.len(), routes.len(), "no route is in the table twice");
        let described: BTreeSet<(String, String)> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, operations)| {
                operations.as_object().unwrap().keys().map(move |method| (path.clone(), method.clone()))
            })
            .collect();
        assert_eq!(table, described);
    }

    #[test]
    fn every_operation_says_what_it_takes_and_gives() {
        let document: Value = serde_json::from_str(&text()).unwrap();
        for route in table::routes() {
            let operation = &document["paths"][route.path][route.method.as_str().to_lowercase()];
            let name = route.name();
            assert!(operation["summary"].as_str().unwrap().ends_with('.'), "{name}");
            for answer in ["200", "default"] {
                let schema = &operation["responses"][answer]["content"]["application/json"]["schema"];
                assert!(!schema.is_null(), "{name} {answer}");
            }
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(in_path, route.path.matches('{').count(), "{name}");
        }
    }

    #[test]
    fn every_reference_leads_to_a_schema() {
        fn references(value: &Value, found: &mut BTreeSet<String>) {
            match value {
                Value::Object(map) => {
                    found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    map.values().for_each(|value| references(value, found));
                }
                Value::Array(values) => values.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document: Value = serde_json::from_str(&text()).unwrap();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 10);
        for reference in found {
            assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
        }
    }
}
