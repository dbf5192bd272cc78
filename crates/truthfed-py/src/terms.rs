//! `Terms`, and the messages of a round as JSON.

use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use truthfed::protocol::{RawTerms, Terms};
use truthfed_node::digest::Hex;

use crate::error;

const ERROR: &str = "TermsError";

/// The terms of a federation, checked: how members decide and when they ask, what a round must cover, who is paid how.
///
/// Made of JSON with the names of docs/protocol.md; `default` has all of them.
///
/// >>> import json, truthfed as tf
/// >>> raw = json.loads(tf.Terms.default().to_json())
/// >>> terms = tf.Terms(json.dumps(raw | {"reserve": "100", "gap_ms": 0}))
/// >>> terms.dim
/// 5
#[pyclass(frozen, module = "truthfed", name = "Terms")]
pub(crate) struct PyTerms(pub(crate) Terms);

#[pymethods]
impl PyTerms {
    #[new]
    fn new(text: &str) -> PyResult<PyTerms> {
        let raw: RawTerms = read(ERROR, "text", "the JSON of terms", text)?;
        Terms::try_from(raw).map(PyTerms).map_err(|wrong| error::bad_field(ERROR, &wrong, &wrong.key()))
    }

    /// The terms of a federation that agreed on nothing in particular.
    #[staticmethod]
    fn default() -> PyResult<PyTerms> {
        Terms::try_from(RawTerms::default()).map(PyTerms).map_err(|wrong| error::internal(&wrong.to_string()))
    }

    /// The terms as JSON, with everything that was left to its default.
    fn to_json(&self) -> String {
        serde_json::to_string(self.0.raw()).expect("terms are JSON")
    }

    /// The dimension of the arms.
    #[getter]
    fn dim(&self) -> usize {
        self.0.dimension()
    }

    fn __eq__(&self, other: &PyTerms) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self) -> String {
        format!("Terms({:?})", self.to_json())
    }

    fn __reduce__<'py>(slf: &Bound<'py, PyTerms>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().to_json(),))
    }
}

/// Bytes, as hexadecimal digits.
pub(crate) fn hex<const N: usize>(class: &str, field: &str, text: &str) -> PyResult<Hex<N>> {
    text.parse().map_err(|_| {
        let bound = format!("{} hexadecimal digits", 2 * N);
        error::input(class, &format!("{field} is `{text}`: it must be {bound}"), field, &bound)
    })
}

/// Something of a JSON text. What is wrong in it is named by its path.
pub(crate) fn read<T: DeserializeOwned>(class: &str, field: &str, bound: &str, text: &str) -> PyResult<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut reader);
    let refused = |path: &str, wrong: &serde_json::Error| {
        let field = if path.is_empty() { field.to_owned() } else { format!("{field}.{path}") };
        error::input(class, &format!("{field}: {wrong}: it must be {bound}"), &field, bound)
    };
    let value = read.map_err(|wrong| {
        let path = wrong.path().to_string();
        refused(if matches!(path.as_str(), "." | "?") { "" } else { &path }, wrong.inner())
    })?;
    reader.end().map_err(|wrong| refused("", &wrong))?;
    Ok(value)
}
