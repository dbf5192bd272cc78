//! The OpenAPI 3.1 document, made from the table of routes.

use axum::http::Method;
use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::service::routes;
use crate::call::{Form, Takes, Who};
use crate::error::Refusal;

/// The request for the document itself.
pub(super) static FORM: Form = Form {
    call: "Document",
    method: Method::GET,
    path: "/openapi.json",
    who: Who::Anyone,
    summary: "This document.",
    is_large: false,
    takes: &[],
    gives: |generator| generator.subschema_for::<Value>(),
};

pub(super) fn text() -> String {
    let forms: Vec<&Form> = routes().iter().map(|route| route.form).collect();
    describe(&forms).to_string()
}

fn describe(forms: &[&Form]) -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for form in forms {
        let path = paths.entry(form.path).or_insert_with(|| json!({}));
        path[form.method.as_str().to_lowercase()] = operation(form, &mut generator);
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

fn operation(form: &Form, generator: &mut SchemaGenerator) -> Value {
    let who = match form.who {
        Who::Member => "members",
        Who::Operator => "operator",
        Who::Anyone => "everyone",
    };
    let mut operation = json!({
        "operationId": identifier(form),
        "summary": form.summary,
        "tags": [who],
        "responses": {
            "200": { "description": "Done.", "content": content((form.gives)(generator)) },
            "default": { "description": "Refused.", "content": content(generator.subschema_for::<Refusal>()) },
        },
    });
    let mut takes = Takes::default();
    form.takes.iter().for_each(|describe| describe(generator, &mut takes));
    if let Some(schema) = takes.body {
        operation["requestBody"] = json!({ "required": true, "content": content(schema) });
    }
    if !takes.parameters.is_empty() {
        operation["parameters"] = takes.parameters.into();
    }
    operation
}

/// `post-v1-rounds-round-offer`.
fn identifier(form: &Form) -> String {
    let words = form.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let method = form.method.as_str().to_lowercase();
    std::iter::once(method.as_str()).chain(words).collect::<Vec<_>>().join("-")
}

fn content(schema: Schema) -> Value {
    json!({ "application/json": { "schema": Value::from(schema) } })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::coordinator::service::Route;

    #[test]
    fn every_route_is_in_the_document_and_nothing_else_is() {
        let routes = routes();
        let document: Value = serde_json::from_str(&text()).unwrap();
        let names = routes.iter().map(|route| (route.form.path, route.form.method.as_str().to_lowercase()));
        let table: BTreeSet<(&str, String)> = names.collect();
        assert_eq!(table.len(), routes.len(), "no route is in the table twice");
        let mut described = BTreeSet::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            described.extend(operations.as_object().unwrap().keys().map(|method| (path.as_str(), method.clone())));
        }
        assert_eq!(table, described);
    }

    #[test]
    fn every_operation_says_what_it_takes_and_gives() {
        let document: Value = serde_json::from_str(&text()).unwrap();
        for Route { form, .. } in routes() {
            let operation = &document["paths"][form.path][form.method.as_str().to_lowercase()];
            let name = form.name();
            assert!(operation["summary"].as_str().unwrap().ends_with('.'), "{name}");
            for answer in ["200", "default"] {
                let schema = &operation["responses"][answer]["content"]["application/json"]["schema"];
                assert!(!schema.is_null(), "{name} {answer}");
            }
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(in_path, form.path.matches('{').count(), "{name}");
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
