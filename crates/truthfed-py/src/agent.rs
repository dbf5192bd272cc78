//! `SigningMember`: a member with its bundle, its key and its receipts.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use truthfed_node::agent::{Agent, AnswerError, ChooseError, FollowError, InBatch, LearnError, Membership};
use truthfed_node::carried::Parcel;
use truthfed_node::federation::open_bundle;
use truthfed_node::reading::read_json;

use crate::convert::{floats, slice};
use crate::error;
use crate::member::{ERROR, PyMember, price};
use crate::terms::{PyTerms, hex};
use crate::work::quick;

/// A member with its bundle: it signs what it says, and keeps it with its receipts before it says it. For `truthfed.flower`.
#[pyclass(frozen, module = "truthfed", name = "SigningMember")]
pub(crate) struct PySigningMember {
    membership: Membership,
    /// Locked only while Python's lock is released.
    agent: Mutex<Agent>,
}

impl PySigningMember {
    fn lock(&self) -> MutexGuard<'_, Agent> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unfollowed(InBatch { place, error }: InBatch<FollowError>) -> PyErr {
    let message = format!("played[{place}]: {error}");
    let (field, bound) = match &error {
        FollowError::Arm(ChooseError::TooLong { most, .. }) => ("arm", format!("of a length of at most {most}")),
        FollowError::Arm(ChooseError::Arms(wrong)) => ("arm", truthfed::BadInput::bound(wrong)),
        FollowError::Reward(LearnError::OutOfRange { most, .. }) => {
            ("reward", format!("finite and at most {most} in size"))
        }
        _ => return error::failed(&message),
    };
    error::input(ERROR, &message, &format!("played[{place}].{field}"), &bound)
}

fn parcel(text: &str) -> PyResult<Parcel> {
    let bound = "the JSON of what a member is brought";
    read_json(text.as_bytes())
        .map_err(|wrong| error::input(ERROR, &format!("parcel: {wrong}: it must be {bound}"), "parcel", bound))
}

fn failed(error: &impl ToString) -> PyErr {
    error::failed(&error.to_string())
}

#[pymethods]
impl PySigningMember {
    /// Opens the bundle of a member, and the file of what it learned, which is made if there is none.
    #[new]
    fn new(py: Python<'_>, bundle: PathBuf, file: PathBuf) -> PyResult<PySigningMember> {
        let opened = quick(py, move || {
            let membership = Membership::of(&open_bundle(&bundle).map_err(|error| error.to_string())?);
            let agent = Agent::open(membership.clone(), &file);
            agent.map(|agent| (membership, agent)).map_err(|error| format!("{}: {error}", file.display()))
        })?;
        let (membership, agent) = opened.map_err(|problem| error::failed(&problem))?;
        Ok(PySigningMember { membership, agent: Mutex::new(agent) })
    }

    /// Shows that this is the member, to whoever asked with that challenge.
    fn greet(&self, py: Python<'_>, challenge: &str) -> PyResult<String> {
        let challenge = hex(ERROR, "challenge", challenge)?;
        let answer = quick(py, || self.lock().greet(challenge))?;
        Ok(serde_json::to_string(&answer).expect("a signed content is JSON"))
    }

    /// A copy of what it knows and offered, to run ahead on: nothing that happens to it is kept.
    fn rehearsal(&self, py: Python<'_>) -> PyResult<PyMember> {
        quick(py, || self.lock().rehearsal())?.map(PyMember::of).map_err(|error| failed(&error))
    }

    /// Learns the rewards of arms that were played on its rehearsal, in this order: all of them, or none.
    fn follow(&self, py: Python<'_>, played: Vec<(Bound<'_, PyAny>, f64)>) -> PyResult<()> {
        let mut each = Vec::with_capacity(played.len());
        for (place, (arm, reward)) in played.iter().enumerate() {
            let arm = floats(ERROR, &format!("played[{place}].arm"), arm, 1)?;
            each.push((slice(&arm)?.to_vec(), *reward));
        }
        quick(py, || self.lock().follow(each))?.map_err(unfollowed)
    }

    /// Which news it lacks, as JSON.
    fn wanted(&self, py: Python<'_>) -> PyResult<String> {
        let wanted = quick(py, || self.lock().wanted())?.map_err(|error| failed(&error))?;
        Ok(serde_json::to_string(&wanted).expect("what it wants is JSON"))
    }

    /// Takes in what was brought.
    fn take_in(&self, py: Python<'_>, brought: &str) -> PyResult<()> {
        let parcel = parcel(brought)?;
        quick(py, || self.lock().take_in(parcel))?.map(drop).map_err(|error| failed(&error))
    }

    /// Takes in what was brought, and answers at the price that `ask` names: JSON, or None if there is nothing to say.
    fn answer(&self, py: Python<'_>, brought: &str, ask: Py<PyAny>) -> PyResult<Option<String>> {
        let parcel = parcel(brought)?;
        let answered = quick(py, || {
            let mut agent = self.lock();
            let view = agent.take_in(parcel).map_err(AnswerError::Step)?;
            agent.answer(&view, |data| Python::attach(|py| price(py, &ask, data)))
        })?;
        match answered {
            Ok(said) => Ok(said.map(|said| serde_json::to_string(&said).expect("what it says is JSON"))),
            Err(AnswerError::Price(raised)) => Err(raised),
            Err(AnswerError::Step(error)) => Err(failed(&error)),
        }
    }

    /// Its receipts, as the coordinator signed them, as JSON.
    #[getter]
    fn receipts(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let receipts = quick(py, || self.lock().receipts())?.map_err(|error| failed(&error))?;
        Ok(receipts.iter().map(|receipt| serde_json::to_string(receipt).expect("a receipt is JSON")).collect())
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.membership.member.as_str()
    }

    /// The federation: the hash of its authority's certificate.
    #[getter]
    fn federation(&self) -> String {
        self.membership.federation.to_string()
    }

    /// The terms of its federation.
    #[getter]
    fn terms(&self) -> PyTerms {
        PyTerms((*self.membership.agreement).clone())
    }
}
