//! `Coordinator`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use truthfed::auction::ClientId;
use truthfed::protocol::{Accepted, Coordinator, Input, OpenRound, Rejection, Request, RoundId, Standing, Terms, Time};
use truthfed_node::error::Refusal;

use crate::convert::client;
use crate::error;
use crate::sim::PyStatistics;
use crate::terms::{PyTerms, read};
use crate::work::{Job, quick};

pub(crate) const ERROR: &str = "MessageError";

/// The coordinator of a federation: it opens rounds, takes offers, awards them, takes deliveries, and settles.
///
/// Hand in what members say by `handle`, with the time in milliseconds; then read what happened by `poll`, and tell each member its
/// `notices`. The caller vouches for who sent a request.
///
/// >>> import truthfed as tf
/// >>> coordinator = tf.Coordinator(tf.Terms.default(), ["a", "b"])
/// >>> coordinator.handle(0, "c", '"Sync"')
/// Traceback (most recent call last):
/// ...
/// truthfed.errors.Rejected: c is not a member of this federation
#[pyclass(frozen, module = "truthfed", name = "Coordinator")]
pub(crate) struct PyCoordinator {
    terms: Terms,
    /// Locked only while Python's lock is released.
    coordinator: Arc<Mutex<Coordinator>>,
}

fn lock(coordinator: &Mutex<Coordinator>) -> MutexGuard<'_, Coordinator> {
    coordinator.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a request was not taken: under the code that the service has for it, and when it may be taken.
fn rejected(rejection: Rejection) -> PyErr {
    let wait_ms = match &rejection {
        Rejection::TooSoon { wait_ms, .. } | Rejection::PurseSpent { wait_ms, .. } => Some(*wait_ms),
        _ => None,
    };
    let Refusal { code, message } = Refusal::from(rejection);
    error::rejected(&message, code.name(), wait_ms)
}

impl PyCoordinator {
    fn of(terms: Terms, coordinator: Coordinator) -> PyCoordinator {
        PyCoordinator { terms, coordinator: Arc::new(Mutex::new(coordinator)) }
    }

    fn look<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&Coordinator) -> T + Send) -> PyResult<T> {
        quick(py, || look(&lock(&self.coordinator)))
    }

    /// Changes it on the pool: an award may take long, and uses threads.
    fn change<T: Send + 'static>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Coordinator) -> T + Send + 'static,
    ) -> PyResult<T> {
        let coordinator = Arc::clone(&self.coordinator);
        Job::new().run(py, move |_| change(&mut lock(&coordinator)))
    }
}

fn member(value: &Bound<'_, PyAny>) -> PyResult<ClientId> {
    client(ERROR, "member", value)
}

#[pymethods]
impl PyCoordinator {
    #[new]
    #[pyo3(signature = (terms, members=Vec::new()))]
    fn new(terms: &PyTerms, members: Vec<Bound<'_, PyAny>>) -> PyResult<PyCoordinator> {
        let ids = members.iter().enumerate().map(|(place, name)| client(ERROR, &format!("members[{place}]"), name));
        let ids = ids.collect::<PyResult<Vec<ClientId>>>()?;
        let terms = terms.0.clone();
        Ok(PyCoordinator::of(terms.clone(), Coordinator::new(terms.clone(), terms.mechanism(), ids)))
    }

    /// The coordinator of a text of `to_json`, under the terms that it had.
    #[staticmethod]
    fn from_json(text: &str, terms: &PyTerms) -> PyResult<PyCoordinator> {
        let bound = "the JSON of a coordinator between two rounds";
        let standing: Standing = read(ERROR, "text", bound, text)?;
        let terms = terms.0.clone();
        if !standing.has_dimension(terms.dimension()) {
            let bound = format!("of dimension {}, as the terms", terms.dimension());
            let message = format!("text has data of another dimension: it must be {bound}");
            return Err(error::input(ERROR, &message, "text", &bound));
        }
        Ok(PyCoordinator::of(terms.clone(), Coordinator::resume(terms.clone(), terms.mechanism(), standing)))
    }

    /// What it is between rounds, as JSON; a round that is open is not in it.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |coordinator| serde_json::to_string(&coordinator.standing()).expect("a standing is JSON"))
    }

    /// Takes in a request of a member. True if it is new, False if it was taken before.
    fn handle(&self, py: Python<'_>, now: u64, member_name: &Bound<'_, PyAny>, request: &str) -> PyResult<bool> {
        let from = member(member_name)?;
        let request: Request = read(ERROR, "request", "the JSON of a request", request)?;
        let done = self.change(py, move |it| it.handle(Time(now), Input::Request(from, request)))?;
        done.map(|accepted| accepted == Accepted::New).map_err(rejected)
    }

    /// Lets time pass: phases whose deadline has come end.
    fn tick(&self, py: Python<'_>, now: u64) -> PyResult<()> {
        self.change(py, move |it| it.handle(Time(now), Input::Tick))?.map(drop).map_err(rejected)
    }

    /// What happened next, as JSON; None if nothing did.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let output = quick(py, || lock(&self.coordinator).poll())?;
        Ok(output.map(|output| serde_json::to_string(&output).expect("what happened is JSON")))
    }

    /// What a member is to hear now, as JSON, if `have` is the last round in its snapshot.
    #[pyo3(signature = (member_name, have=None))]
    fn notices(&self, py: Python<'_>, member_name: &Bound<'_, PyAny>, have: Option<u64>) -> PyResult<Vec<String>> {
        let to = member(member_name)?;
        let notices = self.look(py, |it| it.notices(&to, have.map(RoundId)).collect::<Vec<_>>())?;
        Ok(notices.iter().map(|notice| serde_json::to_string(notice).expect("a notice is JSON")).collect())
    }

    /// Most samples that a member may offer to a round that opens now; None without a quota.
    fn most_samples(&self, py: Python<'_>, member_name: &Bound<'_, PyAny>, now: u64) -> PyResult<Option<u64>> {
        let of = member(member_name)?;
        self.look(py, |it| it.most_samples(&of, Time(now)))
    }

    /// Takes in a member. False if it is one.
    fn enrol(&self, py: Python<'_>, member_name: &Bound<'_, PyAny>) -> PyResult<bool> {
        let new = member(member_name)?;
        self.change(py, move |it| it.enrol(new))
    }

    /// Takes a member out. False if it is none.
    fn revoke(&self, py: Python<'_>, now: u64, member_name: &Bound<'_, PyAny>) -> PyResult<bool> {
        let old = member(member_name)?;
        self.change(py, move |it| it.revoke(Time(now), &old))
    }

    /// The names of the members.
    #[getter]
    fn members(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, |it| it.standing().members.keys().map(ToString::to_string).collect())
    }

    /// The last round that ended.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |it| it.closed().0)
    }

    /// The number of the open round; None if there is none.
    #[getter]
    fn open(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.look(py, |it| it.open().map(|open| open.round().0))
    }

    /// When the current phase of the open round ends by itself, in milliseconds.
    #[getter]
    fn deadline(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.look(py, |it| it.open().map(|open| open.deadline().0))
    }

    /// Whether the mechanism has decided the open round, which waits for deliveries then.
    #[getter]
    fn awarded(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |it| it.open().is_some_and(OpenRound::is_awarded))
    }

    /// The names of those for whom the open round waits, for an offer or a delivery.
    #[getter]
    fn awaited(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, |it| {
            let closed = Some(it.closed());
            let members = it.standing().members.into_keys();
            members.filter(|name| it.notices(name, closed).next().is_some()).map(|name| name.to_string()).collect()
        })
    }

    /// Everything that is settled.
    #[getter]
    fn settled(&self, py: Python<'_>) -> PyResult<PyStatistics> {
        self.look(py, |it| PyStatistics(it.settled().clone()))
    }

    /// Its terms.
    #[getter]
    fn terms(&self) -> PyTerms {
        PyTerms(self.terms.clone())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (members, closed) = self.look(py, |it| (it.standing().members.len(), it.closed()))?;
        Ok(format!("<Coordinator of {members} members after round {closed}>"))
    }
}
