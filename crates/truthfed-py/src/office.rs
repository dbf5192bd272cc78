//! `Office`: a coordinator with the folder and the ledger of a federation.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use truthfed::protocol::{OpenRound, Output, RoundRecord, Time};
use truthfed_node::carried::Said;
use truthfed_node::engine::{Office, OfficeError};
use truthfed_node::error::Refusal;
use truthfed_node::federation;
use truthfed_node::reading::read_json;

use crate::convert::client;
use crate::coordinator::ERROR;
use crate::error;
use crate::sim::PyStatistics;
use crate::terms::{PyTerms, hex, read};
use crate::work::{Job, quick};

/// The coordinator of a federation's folder: what it takes is in the ledger before it says so. For `truthfed.flower`.
///
/// Members are brought `parcel`s, and what they say to them is handed in by `handle`, with the time in milliseconds.
#[pyclass(frozen, module = "truthfed", name = "Office")]
pub(crate) struct PyOffice {
    folder: PathBuf,
    terms: PyTerms,
    /// Locked only while Python's lock is released. None once it is closed.
    office: Arc<Mutex<Option<Office>>>,
    /// How rounds ended, until it is asked.
    ended: Mutex<Vec<RoundRecord>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(Refusal { code, message }: &Refusal, wait_ms: Option<u64>) -> PyErr {
    error::rejected(message, code.name(), wait_ms)
}

fn failed(error: OfficeError) -> PyErr {
    match error {
        OfficeError::Refused(refusal) => refused(&refusal, None),
        OfficeError::Early { refusal, wait_ms } => refused(&refusal, Some(wait_ms)),
        OfficeError::Engine(error) => error::failed(&error.to_string()),
    }
}

impl PyOffice {
    fn closed_already(&self) -> PyErr {
        error::failed(&format!("the office of {} is closed: open it again", self.folder.display()))
    }

    fn look<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&Office) -> T + Send) -> PyResult<T> {
        quick(py, || lock(&self.office).as_ref().map(look))?.ok_or_else(|| self.closed_already())
    }

    /// Works on the pool: an award may take long, and uses threads.
    fn change<T: Send + 'static>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Office) -> Result<T, OfficeError> + Send + 'static,
    ) -> PyResult<T> {
        let office = Arc::clone(&self.office);
        let changed = Job::new().run(py, move |_| {
            let mut office = lock(&office);
            let office = office.as_mut()?;
            Some((change(office), office.records()))
        })?;
        let (done, ended): (Result<T, OfficeError>, _) = changed.ok_or_else(|| self.closed_already())?;
        lock(&self.ended).extend(ended);
        done.map_err(failed)
    }
}

#[pymethods]
impl PyOffice {
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<PyOffice> {
        let opened = Job::new().run(py, move |_| open(&folder).map(|(terms, office)| (folder, terms, office)))?;
        let (folder, terms, office) = opened.map_err(|problem| error::failed(&problem))?;
        Ok(PyOffice { folder, terms, office: Arc::new(Mutex::new(Some(office))), ended: Mutex::default() })
    }

    /// Whether a member may open the next round at that time, with an offer that is reason enough: raises `Rejected` if not.
    fn check_opens(&self, py: Python<'_>, now: u64, member_name: &Bound<'_, PyAny>) -> PyResult<()> {
        let member = client(ERROR, "member", member_name)?;
        self.look(py, |office| office.check_opens(Time(now), &member))?.map_err(failed)
    }

    /// Takes what a member says, as JSON.
    fn handle(&self, py: Python<'_>, now: u64, member_name: &Bound<'_, PyAny>, said: &str) -> PyResult<()> {
        let member = client(ERROR, "member", member_name)?;
        let said: Said = read_json(said.as_bytes()).map_err(|refusal| refused(&refusal, None))?;
        self.change(py, move |office| office.handle(Time(now), &member, said))
    }

    /// Lets time pass: phases whose deadline has come end.
    fn tick(&self, py: Python<'_>, now: u64) -> PyResult<()> {
        self.change(py, move |office| office.tick(Time(now)))
    }

    /// How the next round ended, as JSON; None if none did.
    fn poll(&self) -> Option<String> {
        let mut ended = lock(&self.ended);
        let record = (!ended.is_empty()).then(|| ended.remove(0))?;
        Some(serde_json::to_string(&Output::Ended(Box::new(record))).expect("a record is JSON"))
    }

    /// What a member lacks, as JSON, if it wants this.
    fn parcel(&self, py: Python<'_>, member_name: &Bound<'_, PyAny>, wanted: &str) -> PyResult<String> {
        let member = client(ERROR, "member", member_name)?;
        let wanted = read(ERROR, "wanted", "the JSON of what a member wants", wanted)?;
        let parcel = self.change(py, move |office| office.parcel(&member, wanted))?;
        Ok(serde_json::to_string(&parcel).expect("a parcel is JSON"))
    }

    /// The member that answered a challenge, which is to be used once.
    fn greeted(&self, py: Python<'_>, challenge: &str, answer: &str) -> PyResult<String> {
        let challenge = hex(ERROR, "challenge", challenge)?;
        let answer = read_json(answer.as_bytes()).map_err(|refusal| refused(&refusal, None))?;
        let member = self.look(py, |office| office.greeted(challenge, &answer))?;
        member.map(|member| member.to_string()).map_err(|refusal| refused(&refusal, None))
    }

    /// Gives the store back.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let office = Arc::clone(&self.office);
        let closed = Job::new().run(py, move |_| lock(&office).take().map_or(Ok(()), Office::close))?;
        closed.map_err(|problem| error::failed(&problem.to_string()))
    }

    /// The federation: the hash of its authority's certificate.
    #[getter]
    fn federation(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |office| office.federation().to_string())
    }

    /// The latest time that was said, or is in the ledger.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |office| office.now().0)
    }

    /// The names of those who may take part.
    #[getter]
    fn members(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, |office| office.members().iter().map(ToString::to_string).collect())
    }

    /// The last round that ended.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |office| office.closed().0)
    }

    /// The number of the open round; None if there is none.
    #[getter]
    fn open(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.look(py, |office| office.round().map(|open| open.round().0))
    }

    /// When the open round was opened; None if there is none.
    #[getter]
    fn opened(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.look(py, |office| office.round().map(|open| open.opened().0))
    }

    /// When the current phase of the open round ends by itself.
    #[getter]
    fn deadline(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.look(py, |office| office.round().map(|open| open.deadline().0))
    }

    /// Whether the mechanism has decided the open round, which waits for deliveries then.
    #[getter]
    fn awarded(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |office| office.round().is_some_and(OpenRound::is_awarded))
    }

    /// The names of those for whom the open round waits, for an offer or a delivery.
    #[getter]
    fn awaited(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, |office| office.awaited().iter().map(ToString::to_string).collect())
    }

    /// Everything that is settled.
    #[getter]
    fn settled(&self, py: Python<'_>) -> PyResult<PyStatistics> {
        self.look(py, |office| PyStatistics(office.settled().clone()))
    }

    /// Its terms.
    #[getter]
    fn terms(&self) -> PyTerms {
        PyTerms(self.terms.0.clone())
    }

    fn __repr__(&self) -> String {
        format!("<Office of {}>", self.folder.display())
    }
}

fn open(folder: &Path) -> Result<(PyTerms, Office), String> {
    let federation = federation::open(folder).map_err(|error| error.to_string())?;
    let office = Office::open(&federation).map_err(|error| error.to_string())?;
    Ok((PyTerms((*federation.settings.agreement).clone()), office))
}
