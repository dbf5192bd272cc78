//! Errors of the library as exceptions of `truthfed.errors`.

use pyo3::prelude::*;
use truthfed::BadInput;

/// What Python calls a field that the library has another name for.
const NAMES: [(&str, &str); 5] =
    [("lambda", "ridge"), ("dimension", "dim"), ("sigma", "noise"), ("offers", "asks"), ("what", "arms")];

/// An exception of `truthfed.errors`; what raising it takes fails only if the package is broken.
fn raise(class: &str, args: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>) -> PyErr {
    Python::attach(|py| {
        let made = py.import("truthfed.errors").and_then(|errors| errors.getattr(class)).and_then(|class| args(&class));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// Why an input is refused: a subclass of `InputError`.
pub(crate) fn input(class: &str, message: &str, field: &str, bound: &str) -> PyErr {
    raise(class, |class| class.call1((message, field, bound)))
}

/// The same from an error of the library, in Python's names.
pub(crate) fn bad(class: &str, error: &impl BadInput) -> PyErr {
    let field = error.field();
    bad_field(class, error, NAMES.iter().find(|(own, _)| *own == field).map_or(field.as_str(), |(_, name)| name))
}

/// The same for a field whose name the caller knows. The message begins with it, whatever the library calls it.
pub(crate) fn bad_field(class: &str, error: &impl BadInput, field: &str) -> PyErr {
    let message = error.to_string();
    let own = error.field();
    let message = match message.strip_prefix(own.as_str()) {
        Some(rest) if !own.is_empty() && rest.starts_with(' ') => format!("{field}{rest}"),
        _ if field.is_empty() || message.starts_with(field) => message,
        _ => format!("{field}: {message}"),
    };
    input(class, &message, field, &error.bound())
}

/// A mechanism gave up.
pub(crate) fn refused(reason: &str) -> PyErr {
    raise("Refused", |class| class.call1((reason,)))
}

/// Whether an exception says that a mechanism gave up.
pub(crate) fn is_refusal(py: Python<'_>, raised: &PyErr) -> bool {
    let class = py.import("truthfed.errors").and_then(|errors| errors.getattr("Refused"));
    class.is_ok_and(|class| raised.value(py).is_instance(&class).unwrap_or(false))
}

/// The coordinator did not take a request.
pub(crate) fn rejected(message: &str, code: &str, wait_ms: Option<u64>) -> PyErr {
    raise("Rejected", |class| class.call1((message, code, wait_ms)))
}

/// Payments that are not critical values.
pub(crate) fn not_certified(message: &str, violations: Vec<String>) -> PyErr {
    raise("NotCertified", |class| class.call1((message, violations)))
}

/// A command that failed.
pub(crate) fn failed(message: &str) -> PyErr {
    raise("TruthfedError", |class| class.call1((message,)))
}

/// Our own fault.
pub(crate) fn internal(message: &str) -> PyErr {
    raise("InternalError", |class| class.call1((message,)))
}
