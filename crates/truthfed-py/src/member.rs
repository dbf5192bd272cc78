//! `Member`.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{Asking, Member, Notice};
use truthfed::statistics::Statistics;

use crate::convert::{amount, client, floats, slice, write_whole};
use crate::error;
use crate::sim::PyStatistics;
use crate::terms::{PyTerms, read};
use crate::work::quick;

pub(crate) const ERROR: &str = "MemberError";

/// A member of a federation: it decides and learns, opens rounds, offers, delivers, and takes over what was settled.
///
/// It says what it has to say by `poll`, and hears by `handle`, in JSON. `ask` is called with the data of an offer (`Statistics`)
/// and returns its price, or None to stay out. What is refused, or raised by `ask`, changes nothing.
///
/// >>> import truthfed as tf
/// >>> member = tf.Member("shop-1", tf.Terms.default())
/// >>> arms = [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0]]
/// >>> while not member.wants_round:
/// ...     chosen = member.choose(arms)
/// ...     member.learn(arms[chosen], reward=0.5)
/// >>> member.open_round(lambda data: 2 * data.samples)
/// >>> member.poll()[:20]
/// '{"Offer":{"round":1,'
#[pyclass(frozen, module = "truthfed", name = "Member")]
pub(crate) struct PyMember {
    id: ClientId,
    /// Locked only while Python's lock is released, and never while Python code runs.
    member: Mutex<Member>,
}

/// A price in Python. After it raised, nothing is asked.
struct Asker {
    ask: Py<PyAny>,
    failure: Option<PyErr>,
}

impl Asking for Asker {
    fn ask(&mut self, unshared: &Statistics) -> Option<Amount> {
        if self.failure.is_some() {
            return None;
        }
        let said = Python::try_attach(|py| price(py, &self.ask, unshared));
        said?.unwrap_or_else(|raised| {
            self.failure = Some(raised);
            None
        })
    }
}

/// What a price in Python says of some data.
pub(crate) fn price(py: Python<'_>, ask: &Py<PyAny>, data: &Statistics) -> PyResult<Option<Amount>> {
    let statistics = Bound::new(py, PyStatistics(data.clone()))?;
    let price = ask.bind(py).call1((statistics,))?;
    if price.is_none() { Ok(None) } else { amount(ERROR, "ask", &price).map(Some) }
}

impl PyMember {
    pub(crate) fn of(member: Member) -> PyMember {
        PyMember { id: member.id().clone(), member: Mutex::new(member) }
    }

    fn lock(&self) -> MutexGuard<'_, Member> {
        self.member.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&Member) -> T + Send) -> PyResult<T> {
        quick(py, || look(&self.lock()))
    }

    /// Changes a copy, which takes the member's place if all went well.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        ask: Py<PyAny>,
        change: impl FnOnce(&mut Member, &mut Asker) -> T + Send,
    ) -> PyResult<T> {
        let mut asker = Asker { ask, failure: None };
        let (changed, done, asker) = quick(py, move || {
            let mut member = self.lock().clone();
            let done = change(&mut member, &mut asker);
            (member, done, asker)
        })?;
        if let Some(raised) = asker.failure {
            return Err(raised);
        }
        quick(py, || *self.lock() = changed)?;
        Ok(done)
    }
}

#[pymethods]
impl PyMember {
    #[new]
    fn new(name: &Bound<'_, PyAny>, terms: &PyTerms) -> PyResult<PyMember> {
        Ok(PyMember::of(Member::under(&terms.0, client(ERROR, "name", name)?)))
    }

    /// The index of the arm to play.
    fn choose(&self, py: Python<'_>, arms: &Bound<'_, PyAny>) -> PyResult<usize> {
        let arms = floats(ERROR, "arms", arms, 2)?;
        let (rows, columns) = (arms.shape()[0], arms.shape()[1]);
        let arms = slice(&arms)?;
        let arms: Vec<&[f64]> = (0..rows).map(|row| &arms[row * columns..][..columns]).collect();
        self.look(py, |member| member.choose(&arms))?.map_err(|wrong| error::bad(ERROR, &wrong))
    }

    /// Learns the reward of an arm that was played.
    fn learn(&self, py: Python<'_>, arm: &Bound<'_, PyAny>, reward: f64) -> PyResult<()> {
        let arm = floats(ERROR, "arm", arm, 1)?;
        let arm = slice(&arm)?;
        quick(py, || self.lock().learn(arm, reward))?.map_err(|wrong| {
            let is_reward = truthfed::BadInput::field(&wrong) == "reward";
            error::bad_field(ERROR, &wrong, if is_reward { "reward" } else { "arm" })
        })
    }

    /// Takes in a notice of the coordinator.
    fn handle(&self, py: Python<'_>, notice: &str, ask: Py<PyAny>) -> PyResult<()> {
        let notice: Notice = read(ERROR, "notice", "the JSON of a notice", notice)?;
        let heard = self.change(py, ask, |member, asker| member.handle(notice, asker))?;
        heard.map_err(|wrong| error::bad(ERROR, &wrong))
    }

    /// Opens the next round with an offer, of at most `most` samples, if it wants one.
    #[pyo3(signature = (ask, most=None))]
    fn open_round(&self, py: Python<'_>, ask: Py<PyAny>, most: Option<u64>) -> PyResult<()> {
        self.change(py, ask, |member, asker| member.open_round(most, asker))
    }

    /// Asks for the current snapshot, as after having been away.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        quick(py, || self.lock().sync())
    }

    /// The next request for the coordinator, as JSON; None if there is none.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let request = quick(py, || self.lock().poll())?;
        Ok(request.map(|request| serde_json::to_string(&request).expect("a request is JSON")))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.id.as_str()
    }

    /// The last round in its snapshot.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |member| member.closed().0)
    }

    /// Whether it learned enough for a round.
    #[getter]
    fn wants_round(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, Member::wants_round)
    }

    /// The round for which it has offered, if it has not seen the end of that round.
    #[getter]
    fn in_flight(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.look(py, |member| member.in_flight().map(|offered| offered.round().0))
    }

    /// What it learned and has neither delivered nor offered.
    #[getter]
    fn unshared(&self, py: Python<'_>) -> PyResult<PyStatistics> {
        self.look(py, |member| PyStatistics(member.unshared().clone()))
    }

    /// Everything that it knows, its own and others'.
    #[getter]
    fn known(&self, py: Python<'_>) -> PyResult<PyStatistics> {
        self.look(py, |member| PyStatistics(member.known().clone()))
    }

    /// Another member in the same state.
    fn copy(&self, py: Python<'_>) -> PyResult<PyMember> {
        self.look(py, |member| PyMember::of(member.clone()))
    }

    /// The state as JSON, to the last bit.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |member| serde_json::to_string(member).expect("a member is JSON"))
    }

    /// The member of such a text.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<PyMember> {
        read(ERROR, "text", "the JSON of a member that was saved", text).map(PyMember::of)
    }

    /// Writes the state to a file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = self.to_json(py)?;
        quick(py, move || write_whole(&path, &text))?.map_err(PyErr::from)
    }

    /// The member of a file that `save` wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyMember> {
        PyMember::from_json(&quick(py, move || std::fs::read_to_string(path))??)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (closed, unshared) = self.look(py, |member| (member.closed(), member.unshared().samples()))?;
        Ok(format!("<Member {} after round {closed} with {unshared} unshared samples>", self.id))
    }

    fn __reduce__<'py>(slf: &Bound<'py, PyMember>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let read = slf.get_type().getattr("from_json")?;
        Ok((read, (slf.get().to_json(slf.py())?,)))
    }
}
