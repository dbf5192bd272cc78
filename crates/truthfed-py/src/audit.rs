//! Audits: findings, and counterexamples.

use std::sync::Arc;

use pyo3::prelude::*;
use rayon::prelude::*;
use truthfed::auction::{Refusal, Round};
use truthfed::audit::{Audit, Counterexample, Effort, Findings, Property, Verdict};
use truthfed::generate;

use crate::error;
use crate::mechanism::{Chosen, Kept};
use crate::round::PyRound;
use crate::work::Job;

const ERROR: &str = "InputError";
/// As many as the command line audits thoroughly.
const FEW: usize = 20;

/// What an audit found, for `truthfed.Audit`.
#[pyclass(frozen, module = "truthfed._core", name = "Findings")]
pub(crate) struct PyFindings {
    findings: Arc<Findings>,
    mechanism: Kept,
}

/// A small round in which a mechanism breaks a property. The asks in it are the true costs of the clients; `lies` says who asks what
/// instead. As text it tells what happens.
#[pyclass(frozen, module = "truthfed", name = "Counterexample")]
pub(crate) struct PyCounterexample {
    found: Counterexample,
    words: String,
    reproduces: bool,
}

fn property(name: &str) -> PyResult<Property> {
    name.parse().map_err(|_| {
        let bound = format!("one of {}", Property::ALL.map(Property::name).join(", "));
        error::input(ERROR, &format!("property is `{name}`: it must be {bound}"), "property", &bound)
    })
}

/// Audits one mechanism on random rounds, or on those of a list. `done` is called after each round.
#[pyfunction]
#[pyo3(signature = (mechanism, random, rounds, checks, seed, done=None))]
pub(crate) fn audit(
    py: Python<'_>,
    mechanism: &Bound<'_, PyAny>,
    random: u32,
    rounds: Vec<Bound<'_, PyRound>>,
    checks: Option<Vec<String>>,
    seed: u32,
    done: Option<Py<PyAny>>,
) -> PyResult<PyFindings> {
    let job = Job::new();
    let chosen = Chosen::of(&job, Some(mechanism), None)?;
    let recorded: Vec<Round> = rounds.iter().map(|round| Round::clone(&round.get().round)).collect();
    let has_purse = recorded.iter().any(|round| round.purse().is_some());
    let checks: Vec<Property> = match checks {
        Some(names) => names.iter().map(|name| property(name)).collect::<PyResult<_>>()?,
        None => Property::ALL.into_iter().filter(|&check| has_purse || check != Property::Purse).collect(),
    };
    let runs = chosen.mechanism();
    let findings = job.run(py, move |job| {
        let effort = if recorded.len() + random as usize <= FEW { Effort::THOROUGH } else { Effort::QUICK };
        // The same rounds as those of the command line.
        let drawn =
            (0..random).into_par_iter().map(|number| generate::varied(u64::from(seed) << 32 | u64::from(number)));
        let all = recorded.into_par_iter().chain(drawn);
        let tell = || tell(job, done.as_ref());
        Audit::new(checks).with_effort(effort).rounds_until(&job.stop, &[runs.as_ref()], all, tell)
    })?;
    let findings = findings.map_err(|stopped| error::failed(&stopped.to_string()))?;
    Ok(PyFindings { findings: Arc::new(findings), mechanism: chosen.apart(py) })
}

/// Calls a function of Python; what it raises stops the work.
pub(crate) fn tell(job: &Job, done: Option<&Py<PyAny>>) {
    if let Some(done) = done
        && let Some(Err(raised)) = Python::try_attach(|py| done.call0(py).map(drop))
    {
        job.fail(raised);
    }
}

#[pymethods]
impl PyFindings {
    #[getter]
    fn rounds(&self) -> usize {
        self.findings.rounds
    }

    /// (property, meaning, cases, violations, refused) of each property.
    #[getter]
    fn verdicts(&self) -> Vec<(&'static str, &'static str, u64, u64, u64)> {
        let row = |verdict: &Verdict| {
            let Verdict { property, cases, violations, refused, .. } = *verdict;
            (property.name(), property.meaning(), cases, violations, refused)
        };
        self.findings.verdicts.iter().map(row).collect()
    }

    /// (name, rounds, mean, median, p95, worst) of each ratio that is defined.
    #[getter]
    fn economics(&self) -> Vec<(&'static str, usize, f64, f64, f64, f64)> {
        let Some(economics) = self.findings.economics.first() else { return Vec::new() };
        let named = [
            ("social_cost", economics.social_cost),
            ("payments", economics.payments),
            ("frugality", economics.frugality),
            ("essential", economics.essential),
            ("information", economics.information),
            ("proportional", economics.proportional),
        ];
        let row = |(name, spread): (&'static str, Option<truthfed::audit::Spread>)| {
            spread.map(|spread| (name, spread.rounds, spread.mean, spread.median, spread.p95, spread.worst))
        };
        named.into_iter().filter_map(row).collect()
    }

    /// The smallest round that breaks a property; none if nothing was found.
    fn counterexample(&self, py: Python<'_>, name: &str) -> PyResult<Option<PyCounterexample>> {
        let property = property(name)?;
        let job = Job::new();
        let runs = self.mechanism.within(&job, py)?.mechanism();
        let findings = Arc::clone(&self.findings);
        let found = job.run(py, move |_| -> Result<Option<PyCounterexample>, Option<Refusal>> {
            let verdict = findings.verdicts.iter().find(|verdict| verdict.property == property);
            let Some(verdict) = verdict else { return Err(None) };
            let Some(found) = verdict.counterexample(runs.as_ref()) else { return Ok(None) };
            let replay = found.replay(runs.as_ref()).map_err(Some)?;
            Ok(Some(PyCounterexample { words: replay.to_string(), reproduces: replay.reproduces, found }))
        })?;
        found.map_err(|problem| match problem {
            Some(refusal) => error::refused(&refusal.to_string()),
            None => {
                let bound = "one of the properties that were checked";
                error::input(ERROR, &format!("property is `{name}`: it must be {bound}"), "property", bound)
            }
        })
    }
}

#[pymethods]
impl PyCounterexample {
    #[getter]
    fn property(&self) -> &'static str {
        self.found.property.name()
    }

    #[getter]
    fn round(&self) -> PyRound {
        PyRound::of(self.found.round.clone())
    }

    /// Who asks what instead of its cost.
    #[getter]
    fn lies(&self) -> Vec<(&str, f64)> {
        self.found.lies.iter().map(|lie| (lie.client.as_str(), lie.ask.to_f64())).collect()
    }

    #[getter]
    fn reproduces(&self) -> bool {
        self.reproduces
    }

    fn to_json(&self) -> String {
        self.found.to_string()
    }

    fn __str__(&self) -> &str {
        &self.words
    }

    fn __repr__(&self) -> String {
        format!("<Counterexample against {}: {}>", self.property(), self.words)
    }
}
