//! `Seen`: a simulated world, as one of its clients sees it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use truthfed_sim::config::Config;
use truthfed_sim::federation::client_id;
use truthfed_sim::seen::Seen;

use crate::error;
use crate::sim::{PyStatistics, refused};
use crate::terms::PyTerms;
use crate::work::quick;

const ERROR: &str = "ConfigError";

#[pyclass(frozen, module = "truthfed._core", name = "Seen")]
pub(crate) struct PySeen {
    name: String,
    terms: PyTerms,
    /// Locked only while Python's lock is released.
    seen: Mutex<Seen>,
}

/// When a step is, and the arms of it.
type Step<'py> = (u64, Bound<'py, PyArray2<f64>>);

impl PySeen {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PySeen {
    #[new]
    fn new(py: Python<'_>, config: &str, seed: u64, client: usize) -> PyResult<PySeen> {
        let config = quick(py, || Config::read(config, &[]))?.map_err(|wrong| refused(&wrong))?;
        let clients = config.raw().world.clients;
        if client >= clients {
            let bound = format!("below {clients}, the number of clients");
            return Err(error::input(ERROR, &format!("client is {client}: it must be {bound}"), "client", &bound));
        }
        let terms = PyTerms(config.terms().clone());
        let seen = quick(py, || Seen::new(config, seed, client))?.map_err(|wrong| error::failed(&wrong.to_string()))?;
        Ok(PySeen { name: client_id(client, clients).to_string(), terms, seen: Mutex::new(seen) })
    }

    /// The name of the client as a member.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The terms of the federation.
    #[getter]
    fn terms(&self) -> PyTerms {
        PyTerms(self.terms.0.clone())
    }

    /// Goes on to the client's next step after a time: when that is, in milliseconds, and the arms; None after the last.
    #[pyo3(signature = (after=0))]
    fn advance<'py>(&self, py: Python<'py>, after: u64) -> PyResult<Option<Step<'py>>> {
        let step = quick(py, || {
            let mut seen = self.lock();
            let mut at = seen.advance();
            while at.is_some_and(|at| at.0 <= after) {
                at = seen.advance();
            }
            let arms: Vec<f64> = seen.arms().flatten().copied().collect();
            at.map(|at| (at.0, seen.arms().len(), arms))
        })?;
        let Some((at, rows, arms)) = step else { return Ok(None) };
        let columns = arms.len() / rows.max(1);
        Ok(Some((at, PyArray1::from_vec(py, arms).reshape([rows, columns])?)))
    }

    /// The reward of an arm of this step, which can be played once.
    fn play(&self, py: Python<'_>, choice: usize) -> PyResult<f64> {
        quick(py, || self.lock().play(choice))?.ok_or_else(|| {
            let bound = "the index of an arm of this step, which is played once";
            error::input(ERROR, &format!("choice is {choice}: it must be {bound}"), "choice", bound)
        })
    }

    /// What delivering some data costs the client, in units.
    fn cost(&self, py: Python<'_>, data: &PyStatistics) -> PyResult<f64> {
        quick(py, || self.lock().cost(&data.0))
    }
}
