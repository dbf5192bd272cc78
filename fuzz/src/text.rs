//! What is written is read back as the same.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use truthfed_node::reading::read_json;

/// The input, if it is text.
pub(crate) fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A value as JSON. What was read from outside has no NaN in it, which JSON would not show.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it is JSON")
}

/// Reads a message as the service does; what is read is written and read again without a difference.
pub(crate) fn message<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let value: T = read_json(bytes).ok()?;
    let written = json(&value);
    match read_json::<T>(written.as_bytes()) {
        Ok(again) => assert_eq!(json(&again), written, "it changed on the way"),
        Err(refusal) => panic!("what was read is written so that it is not read again: {refusal}: {written}"),
    }
    Some(value)
}

/// The same for what is compared by value, with any writer and reader.
pub(crate) fn same<T: PartialEq + Debug, E: Debug>(value: &T, written: &str, read: impl Fn(&str) -> Result<T, E>) {
    assert_eq!(read(written).as_ref().ok(), Some(value), "read back from {written}");
}
