//! The document that is served tells the truth: real messages are what its schemas say.

use serde_json::{Value, json};

use super::renewal;
use super::support::{Answer, World, docs, some_data, text};

/// Whether a value is what a schema says. Knows the words that our schemas use, and stumbles over any other.
fn check(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if *schema == json!(true) {
        return Ok(());
    }
    let words = schema.as_object().ok_or_else(|| format!("{at}: {schema} is no schema"))?;
    for (word, said) in words {
        let holds = match word.as_str() {
            "title" | "description" | "format" | "default" => true,
            "$ref" => {
                let target = document.pointer(&said.as_str().unwrap()[1..]).ok_or(format!("{at}: no {said}"))?;
                check(document, target, value, at)?;
                true
            }
            "type" => match said {
                Value::Array(types) => types.iter().any(|kind| is(kind, value)),
                kind => is(kind, value),
            },
            "const" => value == said,
            "enum" => said.as_array().unwrap().contains(value),
            "anyOf" => said.as_array().unwrap().iter().any(|one| check(document, one, value, at).is_ok()),
            "oneOf" => {
                said.as_array().unwrap().iter().filter(|one| check(document, one, value, at).is_ok()).count() == 1
            }
            "minimum" => value.as_f64().is_none_or(|number| number >= said.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= said.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= said.as_u64().unwrap()),
            "maxLength" => value.as_str().is_none_or(|text| text.len() as u64 <= said.as_u64().unwrap()),
            "pattern" => value.as_str().is_none_or(|text| matches(said.as_str().unwrap(), text)),
            "required" => said.as_array().unwrap().iter().all(|field| value.get(field.as_str().unwrap()).is_some()),
            "additionalProperties" => {
                assert_eq!(*said, json!(false));
                value.as_object().into_iter().flatten().all(|(field, _)| !schema["properties"][field].is_null())
            }
            "properties" => {
                for (field, schema) in said.as_object().unwrap() {
                    if let Some(value) = value.get(field) {
                        check(document, schema, value, &format!("{at}/{field}"))?;
                    }
                }
                true
            }
            "items" => {
                for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                    check(document, said, value, &format!("{at}/{index}"))?;
                }
                true
            }
            other => return Err(format!("{at}: unknown word {other}")),
        };
        if !holds {
            return Err(format!("{at}: {value} is not of {word} {said}"));
        }
    }
    Ok(())
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    }
}

/// Our only patterns are so many hexadecimal digits.
fn matches(pattern: &str, text: &str) -> bool {
    let length = pattern.strip_prefix("^[0-9a-f]{").and_then(|rest| rest.strip_suffix("}$")).expect(pattern);
    text.len() == length.parse::<usize>().unwrap() && text.bytes().all(|byte| b"0123456789abcdef".contains(&byte))
}

/// The document, and what of it was seen to be true.
struct Checked {
    document: Value,
    seen: std::collections::BTreeSet<String>,
}

impl Checked {
    fn reply(&mut self, path: &str, answer: &Answer) -> Value {
        let method = answer.what.split(' ').next().unwrap().to_lowercase();
        let name = if answer.status == 200 { "200" } else { "default" };
        let schema = &self.document["paths"][path][&method]["responses"][name]["content"]["application/json"]["schema"];
        let value: Value = serde_json::from_slice(&answer.body).unwrap();
        check(&self.document, schema, &value, &answer.what).unwrap();
        if answer.status == 200 {
            self.seen.insert(format!("{method} {path}"));
        }
        value
    }

    fn request(&self, path: &str, body: &str) {
        let schema = &self.document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        check(&self.document, schema, &serde_json::from_str(body).unwrap(), path).unwrap();
    }
}

#[tokio::test]
async fn every_reply_and_request_is_what_the_document_says() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let operator = world.operator(running.addresses());
    let document: Value = operator.get("/openapi.json").await.ok();
    let mut checked = Checked { document: document.clone(), seen: Default::default() };
    assert_eq!(document["openapi"], "3.1.0");
    checked.seen.insert("get /openapi.json".to_owned());

    checked.reply("/v1/view", &m1.client.get("/v1/view").await);
    checked.reply("/v1/view", &m1.client.get("/v1/view?x=1").await);
    let (open, data) = (m1.round().await, some_data());
    let path = "/v1/rounds/{round}/offer";
    let offer = m1.offer_of(&open, &data, 1_000_000);
    checked.request(path, &text(&offer));
    checked.reply(path, &m1.send_offer(open.round, &offer).await);
    checked.reply(path, &m1.client.post("/v1/rounds/1/offer", "x").await);
    checked.reply("/v1/view", &m2.client.get("/v1/view").await);
    checked.reply("/v1/operator/rounds/{round}", &operator.get("/v1/operator/rounds/1").await);
    checked.reply("/v1/rounds/{round}/decline", &m2.decline(open.round).await);
    checked.reply("/v1/view", &m1.client.get("/v1/view").await);
    let delivery = m1.delivery_of(&open, &data, offer.digest());
    checked.request("/v1/rounds/{round}/delivery", &text(&delivery));
    checked.reply("/v1/rounds/{round}/delivery", &m1.send_delivery(open.round, &delivery).await);
    for have in ["0", "1"] {
        let body = format!(r#"{{"have":{have}}}"#);
        checked.request("/v1/sync", &body);
        checked.reply("/v1/sync", &m1.client.post("/v1/sync", body).await);
    }
    let payout = r#"{"amount_micros":1,"reference":"bank 1"}"#;
    checked.request("/v1/operator/members/{member}/payouts", payout);
    checked.reply(
        "/v1/operator/members/{member}/payouts",
        &operator.post("/v1/operator/members/m1/payouts", payout).await,
    );
    let (pause, reason) = ("/v1/operator/pause", r#"{"reason":"a new disk"}"#);
    checked.request(pause, reason);
    checked.reply(pause, &operator.post(pause, reason).await);
    checked.reply("/v1/operator/status", &operator.get("/v1/operator/status").await);
    checked.reply(pause, &operator.delete(pause).await);
    let (path, next) = ("/v1/operator/rounds/{round}/abort", m1.round().await);
    m1.offers(&next, &some_data(), 1_000_000).await;
    checked.request(path, r#"{"reason":"a mistake"}"#);
    let abort = format!("/v1/operator/rounds/{}/abort", next.round);
    checked.reply(path, &operator.post(&abort, r#"{"reason":"a mistake"}"#).await);
    let again = operator.post(&abort, r#"{"reason":"a mistake"}"#).await;
    assert_eq!(again.code(), truthfed_node::error::Code::NoOpenRound);
    checked.reply(path, &again);
    for (seconds, is_right) in [(60, true), (0, false), (3601, false)] {
        let (path, body) = ("/v1/operator/page", format!(r#"{{"seconds":{seconds}}}"#));
        checked.request(path, &body);
        let reply = operator.post(path, body).await;
        assert_eq!(reply.status == 200, is_right, "{seconds}");
        checked.reply(path, &reply);
    }
    let key = world.identities.server.certificate().key();
    let newcomer = format!(r#"{{"member":"m3","key":"{key}","certificate":"{}"}}"#, super::support::other());
    checked.request("/v1/operator/members", &newcomer);
    checked.reply("/v1/operator/members", &operator.post("/v1/operator/members", newcomer).await);
    checked.reply("/v1/operator/members/{member}", &operator.delete("/v1/operator/members/m3").await);
    checked.reply("/v1/operator/rounds/{round}", &operator.get("/v1/operator/rounds/1").await);
    checked.reply("/v1/rounds/{round}/proof", &m1.client.get("/v1/rounds/1/proof").await);
    checked.reply("/v1/head", &m1.client.get("/v1/head?from=2").await);
    checked.reply("/v1/operator/proof", &operator.get("/v1/operator/proof?entry=3&from=2").await);
    for (path, operations) in document["paths"].as_object().unwrap() {
        // Whatever is only asked for is asked for, by whom it is for.
        if let Some(tag) = operations["get"]["tags"][0].as_str()
            && path.starts_with("/v1/")
            && !path.contains('{')
        {
            let client = if tag == "operator" { &operator } else { &m1.client };
            checked.reply(path, &client.get(path).await);
        }
    }
    let renewal = renewal::request(&world, "m2", &renewal::next(&world, "m2"), m2.identity.signer());
    checked.request("/v1/operator/members/{member}/renewal", &renewal);
    checked.reply(
        "/v1/operator/members/{member}/renewal",
        &operator.post("/v1/operator/members/m2/renewal", renewal).await,
    );
    // m1 delivered, and nothing of it is in doubt; of a revoked member it can be forgotten.
    let path = "/v1/operator/members/{member}/ruling";
    checked.reply("/v1/operator/members/{member}", &operator.delete("/v1/operator/members/m1").await);
    for ruling in ["release", "forget"] {
        let body = format!(r#"{{"ruling":"{ruling}"}}"#);
        checked.request(path, &body);
        checked.reply(path, &operator.post("/v1/operator/members/m1/ruling", body).await);
    }
    running.stop().await.unwrap();

    let page = docs("protocol.md");
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            assert!(checked.seen.contains(&format!("{method} {path}")), "{method} {path} was not tried");
            let named = format!("{} {path}", method.to_uppercase());
            assert!(page.contains(&named), "docs/protocol.md does not tell of {named}");
        }
    }
}

#[test]
fn the_check_itself_tells_right_from_wrong() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer", "minimum": 1 }, "b": { "anyOf": [{ "type": "null" }, { "$ref": "#/hex" }] } },
        "required": ["a"],
        "additionalProperties": false,
    });
    let document = json!({ "hex": { "type": "string", "pattern": "^[0-9a-f]{2}$" } });
    let right = [json!({"a": 1}), json!({"a": 2, "b": null}), json!({"a": 2, "b": "0f"})];
    let wrong =
        [json!({}), json!({"a": 0}), json!({"a": 1.5}), json!({"a": 1, "c": 1}), json!({"a": 1, "b": "0F"}), json!([])];
    assert!(right.iter().all(|value| check(&document, &schema, value, "").is_ok()));
    assert!(wrong.iter().all(|value| check(&document, &schema, value, "").is_err()));
}
