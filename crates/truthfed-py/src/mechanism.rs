//! Mechanisms: those of the catalog by name, and objects of Python with a method `run`.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PyString};
use truthfed::Amount;
use truthfed::auction::{
    Evaluations, Mechanism, MechanismSetting, Outcome, PaymentRule, Refusal, Round, Seat, SettingError, Value, catalog,
};

use crate::convert::amount;
use crate::error;
use crate::outcome::PyOutcome;
use crate::round::{PyRound, seat, seats};
use crate::work::Job;

const ERROR: &str = "RoundError";

/// What a caller named or made, within some work.
#[derive(Clone)]
pub(crate) enum Chosen {
    Setting(MechanismSetting),
    Own(Arc<Own>),
}

/// The same outside of any work, as an outcome keeps it.
pub(crate) enum Kept {
    Setting(MechanismSetting),
    Own(Py<PyAny>),
}

/// A mechanism in Python.
pub(crate) struct Own {
    object: Py<PyAny>,
    name: String,
    parameters: BTreeMap<String, Value>,
    selects: bool,
    /// What to stop when it raises.
    job: Arc<Job>,
}

impl Chosen {
    /// The default mechanism, one of the catalog with parameters, or an object with a method `run`.
    pub(crate) fn of(
        job: &Arc<Job>,
        mechanism: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Chosen> {
        let name = match mechanism {
            None => catalog::DEFAULT.to_owned(),
            Some(mechanism) => match mechanism.cast::<PyString>() {
                Ok(name) => name.to_str()?.to_owned(),
                Err(_) => return Chosen::own(job, mechanism, parameters),
            },
        };
        let setting = MechanismSetting::named(&name).map_err(|wrong| refused_setting(&wrong))?;
        let given = parameters.map(|given| values(given)).transpose()?.unwrap_or_default();
        let setting = given.into_iter().try_fold(setting, |setting, (key, value)| setting.with(&key, value));
        Ok(Chosen::Setting(setting.map_err(|wrong| refused_setting(&wrong))?))
    }

    fn own(job: &Arc<Job>, object: &Bound<'_, PyAny>, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Chosen> {
        let bound = "the name of a mechanism, or an object with a method run(round)";
        if !object.hasattr("run")? || object.is_instance_of::<pyo3::types::PyType>() {
            let message = format!("mechanism is {}: it must be {bound}", object.repr()?);
            return Err(error::input(ERROR, &message, "mechanism", bound));
        }
        if let Some(first) = parameters.and_then(|given| given.keys().iter().next()) {
            let (field, bound) = (first.to_string(), "a parameter of a mechanism of the catalog; yours has its own");
            return Err(error::input(ERROR, &format!("{field}: it must be {bound}"), &field, bound));
        }
        Ok(Chosen::Own(Arc::new(Own::new(job, object)?)))
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Chosen::Setting(setting) => setting.name(),
            Chosen::Own(own) => &own.name,
        }
    }

    pub(crate) fn mechanism(&self) -> Box<dyn Mechanism> {
        match self {
            Chosen::Setting(setting) => setting.mechanism(),
            Chosen::Own(own) => Box::new(Arc::clone(own)),
        }
    }

    pub(crate) fn apart(&self, py: Python<'_>) -> Kept {
        match self {
            Chosen::Setting(setting) => Kept::Setting(setting.clone()),
            Chosen::Own(own) => Kept::Own(own.object.clone_ref(py)),
        }
    }
}

impl Kept {
    pub(crate) fn within(&self, job: &Arc<Job>, py: Python<'_>) -> PyResult<Chosen> {
        match self {
            Kept::Setting(setting) => Ok(Chosen::Setting(setting.clone())),
            Kept::Own(object) => Ok(Chosen::Own(Arc::new(Own::new(job, object.bind(py))?))),
        }
    }
}

impl Own {
    pub(crate) fn new(job: &Arc<Job>, object: &Bound<'_, PyAny>) -> PyResult<Own> {
        let name: String = match object.getattr_opt("name")? {
            Some(name) => name.extract()?,
            None => object.get_type().name()?.to_string(),
        };
        let parameters = match object.getattr_opt("parameters")? {
            Some(given) => values(given.cast::<PyDict>()?)?,
            None => BTreeMap::new(),
        };
        let selects = object.hasattr("select")?;
        Ok(Own { object: object.clone().unbind(), name, parameters, selects, job: Arc::clone(job) })
    }

    /// Calls a method with the round. What it raises stops the work, unless it refuses the round.
    fn call<T>(
        &self,
        method: &str,
        round: &Round,
        read: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Result<T, Refusal> {
        if self.job.stop.is_set() {
            return Err(Refusal::Other("stopped, as asked".to_owned()));
        }
        let called = Python::try_attach(|py| {
            let result = Bound::new(py, PyRound::of(round.clone()))
                .and_then(|round| self.object.bind(py).call_method1(method, (round,)))
                .and_then(|result| read(&result));
            result.map_err(|raised| self.refusal(py, raised))
        });
        called.unwrap_or_else(|| Err(Refusal::Other("Python is shutting down".to_owned())))
    }

    fn refusal(&self, py: Python<'_>, raised: PyErr) -> Refusal {
        let reason = raised.value(py).to_string();
        if !error::is_refusal(py, &raised) {
            self.job.fail(raised);
        }
        Refusal::Other(reason)
    }

    /// The outcome of a method `run`: an outcome of another mechanism, or payments by client.
    fn outcome(&self, round: &Round, result: &Bound<'_, PyAny>) -> PyResult<Outcome> {
        let paid = match result.cast::<PyOutcome>() {
            Ok(outcome) => outcome.get().paid(round)?,
            Err(_) => paid(round, result)?,
        };
        let (rule, target) = (PaymentRule::Critical, round.coverage());
        Ok(Outcome::new(round, &self.name, rule, target, paid, Evaluations::default()))
    }
}

/// Payments by client, from a mapping or from pairs.
fn paid(round: &Round, result: &Bound<'_, PyAny>) -> PyResult<Vec<(Seat, Amount)>> {
    let bound = "an Outcome, or payments by client: {client: payment}";
    let wrong = || error::input(ERROR, &format!("what run returned is no outcome: it must be {bound}"), "run", bound);
    let items = match result.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) => result.clone(),
    };
    let mut paid: Vec<(Seat, Amount)> = Vec::new();
    for item in items.try_iter().map_err(|_| wrong())? {
        let (who, payment): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract().map_err(|_| wrong())?;
        let seat = seat(round, "client", &who)?;
        let name = round.client(seat);
        if paid.iter().any(|(other, _)| *other == seat) {
            return Err(error::input(
                ERROR,
                &format!("{name} wins twice: it must win once"),
                "run",
                "each client once",
            ));
        }
        paid.push((seat, amount(ERROR, &format!("payment of {name}"), &payment)?));
    }
    Ok(paid)
}

impl Mechanism for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        self.parameters.clone()
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        self.call("run", round, |result| self.outcome(round, result))
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        match self.selects {
            true => self.call("select", round, |result| seats(round, "select", result)),
            false => Ok(self.run(round)?.winners().iter().map(|winner| winner.seat).collect()),
        }
    }
}

/// Values of parameters, by name.
fn values(given: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Value>> {
    given.iter().map(|(key, value)| Ok((key.extract::<String>()?, parameter(&key, &value)?))).collect()
}

fn parameter(key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(is_on) = value.cast::<PyBool>() {
        return Ok(Value::Switch(is_on.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let whole: Option<u64> = value.extract().ok();
        return Ok(whole.map_or(Value::Real(value.extract()?), Value::Count));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Real(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_str()?;
        return Ok(text.parse().map_or_else(|_| Value::from(text), Value::Amount));
    }
    let (field, bound) = (key.to_string(), "a number, a bool, a word, or an amount as text");
    Err(error::input(ERROR, &format!("{field} is {}: it must be {bound}", value.repr()?), &field, bound))
}

fn refused_setting(wrong: &SettingError) -> PyErr {
    let (key, problem) = (wrong.key(), wrong.problem());
    let field = if key == "name" { "mechanism" } else { key };
    let bound = problem.split_once("it must ").map_or(problem.as_str(), |(_, bound)| bound);
    error::input(ERROR, &format!("{field} {problem}"), field, bound)
}
