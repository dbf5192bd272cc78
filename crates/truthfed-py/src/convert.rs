//! Arrays, amounts and lists out of what Python has, and back.
//!
//! Whatever numpy can make an array of 64-bit floats is taken: arrays of other types, lists, data frames. What it cannot is
//! refused by name.

use std::path::Path;

use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::statistics::Gram;

use crate::error;

/// Kinds of numpy's types that are numbers, or may be once they are converted.
const NUMERIC: &str = "biufO";

/// Numbers in C order, of `dimensions` dimensions.
pub(crate) fn floats<'py>(
    class: &str,
    field: &str,
    value: &Bound<'py, PyAny>,
    dimensions: usize,
) -> PyResult<PyReadonlyArrayDyn<'py, f64>> {
    let array = match value.cast::<PyArrayDyn<f64>>() {
        Ok(array) if array.is_c_contiguous() => array.clone(),
        _ => converted(class, field, value)?,
    };
    if array.ndim() != dimensions {
        let bound = format!("an array of {dimensions} dimension{}", if dimensions == 1 { "" } else { "s" });
        let message = format!("{field} has {} dimensions: it must be {bound}", array.ndim());
        return Err(error::input(class, &message, field, &bound));
    }
    array.try_readonly().map_err(|_| {
        let bound = "an array that nothing else is writing";
        error::input(class, &format!("{field} is being written: it must be {bound}"), field, bound)
    })
}

fn converted<'py>(class: &str, field: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    let asarray = ASARRAY.import(py, "numpy", "asarray")?;
    let bound = "an array of numbers";
    let wrong = |why: &str| error::input(class, &format!("{field} {why}: it must be {bound}"), field, bound);
    let any = asarray.call1((value,)).map_err(|failure| wrong(&format!("is no array ({failure})")))?;
    let kind: String = any.getattr("dtype")?.getattr("kind")?.extract()?;
    if !NUMERIC.contains(&kind) {
        return Err(wrong(&format!("has the type {}", any.getattr("dtype")?.str()?)));
    }
    let options = PyDict::new(py);
    options.set_item("dtype", "float64")?;
    options.set_item("order", "C")?;
    let made = asarray.call((any,), Some(&options)).map_err(|failure| wrong(&format!("is no array ({failure})")))?;
    Ok(made.cast_into::<PyArrayDyn<f64>>()?)
}

/// The numbers of an array that [`floats`] returned.
pub(crate) fn slice<'a>(array: &'a PyReadonlyArrayDyn<'_, f64>) -> PyResult<&'a [f64]> {
    array.as_slice().map_err(|_| error::internal("an array in C order has no slice"))
}

/// A Gram matrix from a square array.
pub(crate) fn gram(class: &str, field: &str, dimension: usize, entries: &[f64]) -> PyResult<Gram> {
    let rows: Vec<&[f64]> = entries.chunks_exact(dimension.max(1)).collect();
    Gram::from_rows(&rows).map_err(|wrong| {
        let part = truthfed::BadInput::field(&wrong);
        error::bad_field(class, &wrong, &format!("{field}{part}"))
    })
}

/// The whole matrix of a packed lower triangle.
pub(crate) fn square(dimension: usize, lower: &[f64]) -> Vec<f64> {
    let entry = |i: usize, j: usize| lower[i * (i + 1) / 2 + j];
    let entries =
        (0..dimension).flat_map(|i| (0..dimension).map(move |j| if i >= j { entry(i, j) } else { entry(j, i) }));
    entries.collect()
}

/// Money: an int or a string (or a Decimal) exactly, a float as the nearest amount.
pub(crate) fn amount(class: &str, field: &str, value: &Bound<'_, PyAny>) -> PyResult<Amount> {
    let is_text = value.is_instance_of::<PyString>();
    let read = if value.is_instance_of::<PyFloat>() {
        Amount::try_from(value.extract::<f64>()?)
    } else if is_text || (value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>()) || is_decimal(value)? {
        value.str()?.to_str()?.parse()
    } else if let Ok(units) = value.extract::<f64>() {
        Amount::try_from(units)
    } else {
        let bound = "a number of units, or a decimal as text";
        let message = format!("{field} is {}: it must be {bound}", value.repr()?);
        return Err(error::input(class, &message, field, bound));
    };
    read.map_err(|wrong| error::bad_field(class, &wrong, field))
}

fn is_decimal(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    value.is_instance(DECIMAL.import(value.py(), "decimal", "Decimal")?)
}

/// Amounts, one by one or as an array.
pub(crate) fn amounts(class: &str, field: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<Amount>> {
    let named = |place: usize| format!("{field}[{place}]");
    if let Ok(array) = value.cast::<PyArrayDyn<f64>>() {
        let array = floats(class, field, array.as_any(), 1)?;
        let each = slice(&array)?.iter().enumerate();
        return each
            .map(|(place, &units)| {
                Amount::try_from(units).map_err(|wrong| error::bad_field(class, &wrong, &named(place)))
            })
            .collect();
    }
    let bound = "a list of amounts";
    let items = value
        .try_iter()
        .map_err(|_| error::input(class, &format!("{field} is no list: it must be {bound}"), field, bound))?;
    items.enumerate().map(|(place, item)| amount(class, &named(place), &item?)).collect()
}

/// The name of a client.
pub(crate) fn client(class: &str, field: &str, value: &Bound<'_, PyAny>) -> PyResult<ClientId> {
    let name: String = match value.cast::<PyString>() {
        Ok(name) => name.to_str()?.to_owned(),
        Err(_) => {
            let bound = "a name";
            let message = format!("{field} is {}: it must be {bound}", value.repr()?);
            return Err(error::input(class, &message, field, bound));
        }
    };
    name.parse().map_err(|wrong| error::bad_field(class, &wrong, field))
}

/// Amounts in units, for people and plots.
pub(crate) fn units(py: Python<'_>, amounts: impl Iterator<Item = Amount>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, amounts.map(Amount::to_f64).collect())
}

/// Amounts in micro-units, exactly.
pub(crate) fn micros(py: Python<'_>, amounts: impl Iterator<Item = Amount>) -> Bound<'_, PyArray1<i64>> {
    PyArray1::from_vec(py, amounts.map(Amount::micros).collect())
}

/// A new file beside it takes its place once it is complete.
pub(crate) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}", std::process::id()));
    std::fs::write(&new, text)
        .and_then(|()| std::fs::rename(&new, path))
        .inspect_err(|_| drop(std::fs::remove_file(&new)))
}
