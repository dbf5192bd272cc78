//! Reads JSON from outside, strictly: what is wrong is refused with its own code and the path of the field.

mod objects;

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use self::objects::Objects;
use crate::error::{Code, Refusal};

/// Reads one JSON object and nothing after it. A list in the place of an object is refused, though its places could be taken
/// for fields. The error names the field and what is wrong with it.
pub fn read_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, Refusal> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(Objects(&mut reader)).map_err(|error| {
        let path = error.path().to_string();
        let at = if ["", ".", "?"].contains(&path.as_str()) { String::new() } else { format!("{path}: ") };
        Refusal::new(code_of(error.inner()), format!("{at}{}", error.inner()))
    })?;
    reader.end().map_err(|error| Refusal::new(Code::TrailingBytes, error.to_string()))?;
    Ok(value)
}

fn code_of(error: &serde_json::Error) -> Code {
    let message = error.to_string();
    match error.classify() {
        Category::Eof => Code::Truncated,
        // A decimal beyond the floats, such as 1e999.
        _ if message.starts_with("number out of range") => Code::NotFinite,
        Category::Syntax | Category::Io => Code::Malformed,
        Category::Data if message.starts_with("unknown field") => Code::UnknownField,
        Category::Data if message.starts_with("missing field") => Code::MissingField,
        Category::Data => Code::WrongType,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Point {
        #[allow(dead_code)] // only whether it can be read is of interest
        x: f64,
    }

    fn check(text: &str, expected: Code) {
        let refusal = read_json::<Point>(text.as_bytes()).unwrap_err();
        assert_eq!(refusal.code, expected, "{text}: {}", refusal.message);
    }

    #[test]
    fn a_list_was_taken_for_an_object_inside_of_a_message() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Line {
            from: Option<Box<Line>>,
            to: Vec<(u8, Line)>,
        }
        let empty = || Line { from: None, to: Vec::new() };
        let read = |text: &str| read_json::<Line>(text.as_bytes());
        let inner = r#"{"from": null, "to": []}"#;
        let whole = read(&format!(r#"{{"from": {inner}, "to": [[7, {inner}]]}}"#)).unwrap();
        assert_eq!(whole, Line { from: Some(Box::new(empty())), to: vec![(7, empty())] });
        for (from, to, at) in [("[null, []]", inner, "from: "), (inner, "[null, []]", "to[0]")] {
            let refusal = read(&format!(r#"{{"from": {from}, "to": [[7, {to}]]}}"#)).unwrap_err();
            assert_eq!(refusal.code, Code::WrongType, "{refusal}");
            assert!(refusal.message.starts_with(at) && refusal.message.contains("expected struct Line"), "{refusal}");
        }
    }

    #[test]
    fn every_way_to_be_wrong_has_its_own_code() {
        read_json::<Point>(br#" {"x": 1.5} "#).unwrap();
        check(r#"{"x": 1.5"#, Code::Truncated);
        check("", Code::Truncated);
        check(r#"{"x": 1.5} {}"#, Code::TrailingBytes);
        check(r#"{"x": NaN}"#, Code::Malformed);
        check(r#"{"x": 1e999}"#, Code::NotFinite);
        check(r#"{"x": null}"#, Code::WrongType);
        check(r#"{"x": "1"}"#, Code::WrongType);
        check(r#"{"x": 1, "y": 2}"#, Code::UnknownField);
        check("{}", Code::MissingField);
        check("[1.5]", Code::WrongType);
        check("\u{feff}{}", Code::Malformed);
    }
}
