//! `Outcome`.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use truthfed::Amount;
use truthfed::auction::{ClientId, MechanismSetting, Outcome, Round, Seat, Winner};

use crate::convert::{micros, units};
use crate::error;
use crate::mechanism::{Chosen, Kept};
use crate::round::PyRound;
use crate::work::Job;

/// Who wins a round, and what each is paid: `payments` in units, `micros` exactly, in millionths.
///
/// >>> import truthfed as tf
/// >>> outcome = tf.Round.generate(10, 2, seed=1).solve("greedy")
/// >>> outcome.winners[:2], outcome.micros.dtype.name
/// (['c0', 'c1'], 'int64')
#[pyclass(frozen, module = "truthfed", name = "Outcome")]
pub(crate) struct PyOutcome {
    pub(crate) outcome: Outcome,
    pub(crate) chosen: Kept,
    pub(crate) round: Arc<Round>,
}

/// What makes an outcome again: a function and its arguments.
type Again<'py> = (Bound<'py, PyAny>, (PyRound, Bound<'py, PyAny>));

impl PyOutcome {
    /// Winners and payments by the seats of a round, which may be another one with the same clients.
    pub(crate) fn paid(&self, round: &Round) -> PyResult<Vec<(Seat, Amount)>> {
        let paid = |winner: &Winner| {
            let seat = round.seat_of(&winner.client).ok_or_else(|| {
                let (field, bound) = ("run", "an outcome of the round that it was given");
                error::input(
                    "RoundError",
                    &format!("{} is not admitted: it must be {bound}", winner.client),
                    field,
                    bound,
                )
            })?;
            Ok((seat, winner.payment))
        };
        self.outcome.winners().iter().map(paid).collect()
    }

    fn winners_as<T>(&self, of: impl Fn(&Winner) -> T) -> Vec<T> {
        self.outcome.winners().iter().map(of).collect()
    }
}

#[pymethods]
impl PyOutcome {
    /// Fails unless every payment is the winner's critical value in that round, by default its own.
    #[pyo3(signature = (round=None))]
    fn certify(slf: &Bound<'_, PyOutcome>, round: Option<&Bound<'_, PyRound>>) -> PyResult<()> {
        let py = slf.py();
        match round {
            Some(round) => round.get().certify(py, slf),
            None => PyRound { round: Arc::clone(&slf.get().round) }.certify(py, slf),
        }
    }

    /// The name of the mechanism.
    #[getter]
    fn mechanism(&self) -> &str {
        self.outcome.mechanism()
    }

    /// The names of the winners, sorted.
    #[getter]
    fn winners(&self) -> Vec<&str> {
        self.outcome.winners().iter().map(|winner| winner.client.as_str()).collect()
    }

    /// The places of the winners among the clients of the round.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, self.winners_as(|winner| winner.seat.0 as i64))
    }

    /// What the winners ask, in units.
    #[getter]
    fn asks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        units(py, self.outcome.winners().iter().map(|winner| winner.ask))
    }

    /// What the winners are paid, in units.
    #[getter]
    fn payments<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        units(py, self.outcome.winners().iter().map(|winner| winner.payment))
    }

    /// What the winners are paid, exactly, in millionths.
    #[getter]
    fn micros<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        micros(py, self.outcome.winners().iter().map(|winner| winner.payment))
    }

    /// Without which winners the target would be missed.
    #[getter]
    fn essential<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.winners_as(|winner| winner.essential))
    }

    /// Who asks more than the reserve or the purse.
    #[getter]
    fn turned_away(&self) -> Vec<&str> {
        self.outcome.turned_away().iter().map(ClientId::as_str).collect()
    }

    /// The part of the determinant that the winners reach.
    #[getter]
    fn coverage(&self) -> f64 {
        self.outcome.coverage()
    }

    /// The part that the mechanism set out to reach.
    #[getter]
    fn target(&self) -> f64 {
        self.outcome.target()
    }

    /// The sum of the winners' asks.
    #[getter]
    fn social_cost(&self) -> f64 {
        self.outcome.social_cost().to_f64()
    }

    /// The sum of the payments.
    #[getter]
    fn incentive(&self) -> f64 {
        self.outcome.payments().to_f64()
    }

    /// How many log determinants it evaluated.
    #[getter]
    fn log_dets(&self) -> u64 {
        let evaluations = self.outcome.evaluations();
        evaluations.select + evaluations.price
    }

    /// Whether it gave the target up to keep to the purse.
    #[getter]
    fn bound_by_purse(&self) -> bool {
        self.outcome.is_bound_by_purse()
    }

    /// The round that it decides.
    #[getter]
    fn round(&self) -> PyRound {
        PyRound { round: Arc::clone(&self.round) }
    }

    /// The outcome as JSON, with exact decimals.
    fn to_json(&self) -> String {
        serde_json::to_string(&self.outcome).expect("an outcome is JSON")
    }

    /// What each winner is paid, in units.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let payments = PyDict::new(py);
        for winner in self.outcome.winners() {
            payments.set_item(winner.client.as_str(), winner.payment.to_f64())?;
        }
        Ok(payments)
    }

    fn __len__(&self) -> usize {
        self.outcome.winners().len()
    }

    /// Pickling: the round and the mechanism, which give the same outcome again.
    fn __reduce__<'py>(slf: &Bound<'py, PyOutcome>) -> PyResult<Again<'py>> {
        let py = slf.py();
        let mechanism = match &slf.get().chosen {
            Kept::Setting(setting) => {
                PyString::new(py, &serde_json::to_string(setting).expect("a setting is JSON")).into_any()
            }
            Kept::Own(object) => object.bind(py).clone(),
        };
        Ok((py.import("truthfed._core")?.getattr("solve_again")?, (slf.get().round(), mechanism)))
    }

    fn __eq__(&self, other: &PyOutcome) -> bool {
        self.outcome == other.outcome
    }

    fn __repr__(&self) -> String {
        let (name, winners, of) = (self.outcome.mechanism(), self.outcome.winners().len(), self.round.admitted());
        let (asked, paid) = (self.outcome.social_cost(), self.outcome.payments());
        format!("<Outcome of {name}: {winners} of {of} clients win, ask {asked} and are paid {paid}>")
    }
}

/// The outcome of a round under the setting of a mechanism, as JSON, or under a mechanism in Python.
#[pyfunction]
pub(crate) fn solve_again(round: &Bound<'_, PyRound>, mechanism: &Bound<'_, PyAny>) -> PyResult<PyOutcome> {
    let py = round.py();
    let job = Job::new();
    let chosen = match mechanism.cast::<PyString>() {
        Ok(text) => {
            let setting = serde_json::from_str::<MechanismSetting>(text.to_str()?);
            Chosen::Setting(setting.map_err(|wrong| error::failed(&wrong.to_string()))?)
        }
        Err(_) => Chosen::of(&job, Some(mechanism), None)?,
    };
    PyRound::outcome(round, py, &job, &chosen)
}
