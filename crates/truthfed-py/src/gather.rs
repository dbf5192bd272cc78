//! Cells of a sweep that come from elsewhere.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use truthfed_sim::sweep::{GatherError, Gathering};
use truthfed_sim::totals::SeedTotals;

use crate::error;
use crate::sim::{ERROR, totals};
use crate::work::quick;

/// A folder to which the cells of a sweep come.
#[pyclass(frozen, module = "truthfed._core", name = "Gathering")]
pub(crate) struct PyGathering(Mutex<Option<Gathering>>);

pub(crate) fn refused(wrong: &GatherError) -> PyErr {
    match wrong {
        GatherError::NoCell { cells, .. } => {
            error::input(ERROR, &wrong.to_string(), "cells", &format!("below {cells}"))
        }
        GatherError::OtherSeed { seed, .. } => {
            error::input(ERROR, &wrong.to_string(), "cells", &format!("seed {seed}"))
        }
        GatherError::Run(failure) => error::failed(&failure.to_string()),
    }
}

impl PyGathering {
    pub(crate) fn new(gathering: Gathering) -> PyGathering {
        PyGathering(Mutex::new(Some(gathering)))
    }

    fn with<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&mut Gathering) -> T + Send) -> PyResult<T> {
        let seen = quick(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(look))?;
        seen.ok_or_else(|| error::failed("the folder is complete: no cell can be added"))
    }
}

#[pymethods]
impl PyGathering {
    /// The cells that are there, with their totals.
    #[getter]
    fn known<'py>(&self, py: Python<'py>) -> PyResult<Vec<(usize, Bound<'py, PyDict>)>> {
        let each = self.with(py, |gathering| gathering.totals().to_vec())?;
        let there = each.iter().enumerate().filter_map(|(cell, run)| Some((cell, run.as_ref()?)));
        there.map(|(cell, run)| Ok((cell, totals(py, run)?))).collect()
    }

    /// Writes cells: their numbers, and their totals as JSON.
    fn keep(&self, py: Python<'_>, cells: Vec<(usize, String)>) -> PyResult<()> {
        let read = |(cell, text): (usize, String)| Ok((cell, serde_json::from_str::<SeedTotals>(&text)?));
        let read = cells.into_iter().map(read).collect::<Result<Vec<_>, serde_json::Error>>();
        let read = read.map_err(|wrong| {
            let bound = "totals as JSON";
            error::input(ERROR, &format!("cells: {wrong}: it must be {bound}"), "cells", bound)
        })?;
        let kept = self.with(py, |gathering| read.into_iter().try_for_each(|(cell, run)| gathering.keep(cell, run)))?;
        kept.map_err(|wrong| refused(&wrong))
    }

    /// Writes the tables of all cells, and returns how many files there are. Fails when a cell is missing.
    fn finish(&self, py: Python<'_>) -> PyResult<usize> {
        let taken = quick(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).take())?;
        let gathering = taken.ok_or_else(|| error::failed("the folder is complete already"))?;
        let finished = quick(py, move || gathering.finish())?;
        finished.map(|(_, files)| files).map_err(|wrong| refused(&wrong))
    }
}
