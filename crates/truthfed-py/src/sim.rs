//! Simulations and sweeps: configurations in, tables out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use truthfed::statistics::Statistics;
use truthfed_sim::config::{Config, ConfigError, Parts, default_toml};
use truthfed_sim::experiment::{RunError, run_seeds_until};
use truthfed_sim::interval::Interval;
use truthfed_sim::output::{Documents, OutputFolder, SIMULATION, SWEEP, Tables, write_simulation};
use truthfed_sim::simulation::Run;
use truthfed_sim::sweep::{self, Event, Gathering, Part, Plan, Sweep};
use truthfed_sim::totals::SeedTotals;

use crate::audit::tell;
use crate::convert::square;
use crate::error;
use crate::gather::{self, PyGathering};
use crate::mechanism::Own;
use crate::work::{Job, quick};

pub(crate) const ERROR: &str = "ConfigError";

/// Data of a client, as sums.
#[pyclass(frozen, module = "truthfed", name = "Statistics")]
pub(crate) struct PyStatistics(pub(crate) Statistics);

#[pymethods]
impl PyStatistics {
    #[getter]
    fn samples(&self) -> u64 {
        self.0.samples()
    }

    #[getter]
    fn dim(&self) -> usize {
        self.0.dimension()
    }

    #[getter]
    fn gram<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let d = self.0.dimension();
        PyArray1::from_vec(py, square(d, self.0.gram().lower())).reshape([d, d])
    }

    #[getter]
    fn moment<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.moment())
    }
}

/// Mechanisms and a cost in Python as parts of a configuration.
fn parts(job: &Arc<Job>, mechanisms: &[Bound<'_, PyAny>], cost: Option<&Py<PyAny>>) -> PyResult<Parts> {
    let own = mechanisms.iter().map(|object| Own::new(job, object));
    let parts = own.collect::<PyResult<Vec<Own>>>()?.into_iter().fold(Parts::default(), Parts::with_mechanism);
    let Some(cost) = cost else { return Ok(parts) };
    let (cost, job) = (Arc::new(Python::attach(|py| cost.clone_ref(py))), Arc::clone(job));
    Ok(parts.with_cost(move |_, _| {
        let (cost, job) = (Arc::clone(&cost), Arc::clone(&job));
        move |client: usize, unshared: &Statistics| of(&job, &cost, client, unshared)
    }))
}

/// What a cost in Python says. Where it fails, the work stops, and nothing is asked any more.
fn of(job: &Job, cost: &Py<PyAny>, client: usize, unshared: &Statistics) -> f64 {
    if job.stop.is_set() {
        return 0.0;
    }
    let said = Python::try_attach(|py| -> PyResult<f64> {
        let statistics = Bound::new(py, PyStatistics(unshared.clone()))?;
        let said: f64 = cost.bind(py).call1((client, statistics))?.extract()?;
        if said.is_finite() && said >= 0.0 {
            return Ok(said);
        }
        let bound = "finite and at least 0";
        Err(error::input(ERROR, &format!("cost of client {client} is {said}: it must be {bound}"), "cost", bound))
    });
    match said {
        Some(Ok(said)) => said,
        Some(Err(raised)) => {
            job.fail(raised);
            0.0
        }
        None => 0.0,
    }
}

pub(crate) fn refused(wrong: &ConfigError) -> PyErr {
    let message = wrong.to_string();
    match wrong {
        ConfigError::Value { key, problem, .. } => {
            let bound = problem.split_once("it must ").map_or(problem.as_str(), |(_, bound)| bound);
            error::input(ERROR, &message, key, bound)
        }
        _ => error::input(ERROR, &message, "config", "keys of a configuration with values of their types"),
    }
}

fn folder(
    path: Option<&Path>,
    open: impl FnOnce(&Path) -> Result<OutputFolder, truthfed_sim::output::OutputError>,
) -> PyResult<Option<OutputFolder>> {
    path.map(open).transpose().map_err(|failure| error::failed(&failure.to_string()))
}

/// The totals of a run, by name.
pub(crate) fn totals<'py>(py: Python<'py>, totals: &SeedTotals) -> PyResult<Bound<'py, PyDict>> {
    let text = serde_json::to_string(totals).expect("our own structs are JSON");
    Ok(py.import("json")?.call_method1("loads", (text,))?.cast_into::<PyDict>()?)
}

/// The commented defaults of a configuration.
#[pyfunction]
pub(crate) fn default_config() -> String {
    default_toml()
}

/// The totals of each run, and the tables of all: clients, rounds, curves.
type Simulated<'py> = (Vec<Bound<'py, PyDict>>, (String, String, String));

/// Runs a configuration under seeds 1 to `seeds`: the totals of each run, and the tables of all (clients, rounds, curves).
#[pyfunction]
#[pyo3(signature = (config, seeds, mechanisms, cost=None, out=None, documents=false, done=None))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    config: &str,
    seeds: u64,
    mechanisms: Vec<Bound<'py, PyAny>>,
    cost: Option<Py<PyAny>>,
    out: Option<PathBuf>,
    documents: bool,
    done: Option<Py<PyAny>>,
) -> PyResult<Simulated<'py>> {
    if seeds == 0 {
        return Err(error::input(ERROR, "seeds is 0: it must be at least 1", "seeds", "at least 1"));
    }
    let job = Job::new();
    let config = Config::read_with(config, &[], &parts(&job, &mechanisms, cost.as_ref())?);
    let config = config.map_err(|wrong| refused(&wrong))?;
    // Before the work: nobody should wait for results that cannot be written.
    let folder = folder(out.as_deref(), |path| OutputFolder::open(path, &SIMULATION))?;
    let ran = job.run(py, move |job| -> Result<(Vec<SeedTotals>, Tables), String> {
        let runs = run_seeds_until(&job.stop, &config, seeds, || tell(job, done.as_ref()));
        let runs: Vec<Run> = runs.map_err(|failure: RunError| failure.to_string())?;
        if let Some(folder) = folder {
            let documents = if documents { Documents::Written } else { Documents::LeftOut };
            write_simulation(folder, &config, &runs, documents).map_err(|failure| failure.to_string())?;
        }
        Ok((runs.iter().map(SeedTotals::from).collect(), Tables::of(&runs)))
    })?;
    let (each, Tables { clients, rounds, curves }) = ran.map_err(|message| error::failed(&message))?;
    let rows = each.iter().map(|run| totals(py, run)).collect::<PyResult<_>>()?;
    Ok((rows, (clients, rounds, curves)))
}

/// The mean of differences of pairs, and half the width of its confidence interval.
#[pyfunction]
pub(crate) fn paired(py: Python<'_>, ours: Vec<f64>, theirs: Vec<f64>, confidence: f64) -> PyResult<(f64, f64)> {
    let Interval { mean, half } = quick(py, || Interval::paired(&ours, &theirs, confidence))?;
    Ok((mean, half))
}

/// A grid of configurations with seeds.
#[pyclass(frozen, module = "truthfed._core", name = "Sweep")]
pub(crate) struct PySweep {
    text: String,
    mechanisms: Vec<Py<PyAny>>,
    cost: Option<Py<PyAny>>,
    keys: Vec<String>,
    points: Vec<Vec<toml::Value>>,
    seeds: u64,
}

/// What became of a cell: its number, its totals, and its tables of clients and rounds unless it was taken from disk.
type Cell<'py> = (usize, Bound<'py, PyDict>, Option<(String, String)>);

/// What makes a sweep again: its class and the arguments.
type Again<'py> = (Bound<'py, PyAny>, (String, Vec<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>));

/// The tables of cells that ran.
#[derive(Default)]
struct CellTables(Mutex<BTreeMap<usize, (String, String)>>);

impl CellTables {
    fn hear(&self, job: &Job, done: Option<&Py<PyAny>>, event: Event<'_>) {
        if let Event::Done { cell, run } = event {
            let Tables { clients, rounds, .. } = Tables::of(std::slice::from_ref(run));
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(cell, (clients, rounds));
            tell(job, done);
        }
    }

    fn cells<'py, 't>(
        self,
        py: Python<'py>,
        known: impl Iterator<Item = (usize, &'t SeedTotals)>,
    ) -> PyResult<Vec<Cell<'py>>> {
        let mut tables = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        known.map(|(cell, run)| Ok((cell, totals(py, run)?, tables.remove(&cell)))).collect()
    }
}

impl PySweep {
    /// The sweep within some work.
    fn read(&self, py: Python<'_>, job: &Arc<Job>) -> PyResult<Sweep> {
        let mechanisms: Vec<Bound<'_, PyAny>> = self.mechanisms.iter().map(|object| object.bind(py).clone()).collect();
        read(job, &self.text, &mechanisms, self.cost.as_ref())
    }
}

fn read(job: &Arc<Job>, text: &str, mechanisms: &[Bound<'_, PyAny>], cost: Option<&Py<PyAny>>) -> PyResult<Sweep> {
    let parts = parts(job, mechanisms, cost)?;
    let text = text.to_owned();
    let sweep = Python::attach(|py| job.run(py, move |_| Sweep::read_with(&text, &parts)))?;
    sweep.map_err(|wrong| match &wrong {
        sweep::SweepError::Config(wrong) => refused(wrong),
        sweep::SweepError::Key { key, problem, .. } => error::input(ERROR, &wrong.to_string(), key, problem),
        sweep::SweepError::Point { error: inner @ ConfigError::Value { key, problem, .. }, point } => {
            let bound = problem.split_once("it must ").map_or(problem.as_str(), |(_, bound)| bound);
            error::input(ERROR, &format!("grid at {point}: {inner}"), key, bound)
        }
        sweep::SweepError::NoSeeds => error::input(ERROR, "seeds is 0: it must be at least 1", "seeds", "at least 1"),
        _ => error::input(ERROR, &wrong.to_string(), "grid", "lists of values by key, at most 100000 cells in all"),
    })
}

#[pymethods]
impl PySweep {
    #[new]
    #[pyo3(signature = (text, mechanisms, cost=None))]
    fn new(text: String, mechanisms: Vec<Bound<'_, PyAny>>, cost: Option<Py<PyAny>>) -> PyResult<PySweep> {
        let sweep = read(&Job::new(), &text, &mechanisms, cost.as_ref())?;
        Ok(PySweep {
            keys: sweep.keys().map(str::to_owned).collect(),
            points: sweep.points().iter().map(|point| point.values.clone()).collect(),
            seeds: sweep.seeds(),
            mechanisms: mechanisms.into_iter().map(Bound::unbind).collect(),
            text,
            cost,
        })
    }

    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn keys(&self) -> Vec<&str> {
        self.keys.iter().map(String::as_str).collect()
    }

    #[getter]
    fn seeds(&self) -> u64 {
        self.seeds
    }

    /// The values of each point, in the order of the keys.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
        self.points.iter().map(|point| point.iter().map(|value| plain(py, value)).collect()).collect()
    }

    fn __len__(&self) -> usize {
        self.points.len() * self.seeds as usize
    }

    /// Runs the cells of a part. With a folder, cells found there are taken over and new ones written; the whole writes its results
    /// too.
    #[pyo3(signature = (part=None, jobs=None, out=None, done=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        part: Option<(usize, usize)>,
        jobs: Option<usize>,
        out: Option<PathBuf>,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Cell<'py>>> {
        let part = part.map_or(Ok(Part::WHOLE), |(number, of)| Part::new(number, of));
        let part = part
            .map_err(|wrong| error::input(ERROR, &wrong.to_string(), "part", "1/N to N/N, with N from 1 to 100000"))?;
        let job = Job::new();
        let sweep = self.read(py, &job)?;
        let open = if part == Part::WHOLE { OutputFolder::open } else { OutputFolder::share };
        let folder = folder(out.as_deref(), |path| open(path, &SWEEP))?;
        let ran = job.run(py, move |job| {
            let tables = CellTables::default();
            let jobs = jobs.unwrap_or_else(rayon::current_num_threads);
            let plan = Plan { part, jobs, stop: job.stop.clone() };
            let hear = |event: Event<'_>| tables.hear(job, done.as_ref(), event);
            let totals =
                sweep::run_part(&sweep, folder.as_ref(), &plan, &hear).map_err(|failure| failure.to_string())?;
            if let (Some(folder), true) = (folder, part == Part::WHOLE) {
                let whole: Vec<SeedTotals> = totals.iter().flatten().copied().collect();
                sweep::write_results(folder, &sweep, &whole).map_err(|failure| failure.to_string())?;
            }
            Ok::<_, String>((totals, tables))
        })?;
        let (each, tables) = ran.map_err(|message| error::failed(&message))?;
        let known = each.iter().enumerate().filter_map(|(cell, run)| Some((cell, run.as_ref()?)));
        tables.cells(py, known)
    }

    /// Runs the cells with these numbers, one after the other, and writes nothing.
    #[pyo3(signature = (cells, done=None))]
    fn run_cells<'py>(&self, py: Python<'py>, cells: Vec<usize>, done: Option<Py<PyAny>>) -> PyResult<Vec<Cell<'py>>> {
        let job = Job::new();
        let (sweep, numbers) = (self.read(py, &job)?, cells.clone());
        let ran = job.run(py, move |job| {
            let tables = CellTables::default();
            let hear = |event: Event<'_>| tables.hear(job, done.as_ref(), event);
            sweep::run_cells(&sweep, &numbers, (1, job.stop.clone()), &hear).map(|totals| (totals, tables))
        })?;
        let (each, tables) = ran.map_err(|wrong| gather::refused(&wrong))?;
        tables.cells(py, cells.iter().copied().zip(&each))
    }

    /// A folder to which the cells come from elsewhere; those that it has are taken over.
    fn gather(&self, py: Python<'_>, out: PathBuf) -> PyResult<PyGathering> {
        let job = Job::new();
        let sweep = self.read(py, &job)?;
        let folder = OutputFolder::open(&out, &SWEEP).map_err(|failure| error::failed(&failure.to_string()))?;
        let begun = job.run(py, move |_| Gathering::begin(sweep, folder, &|_| {}))?;
        begun.map(PyGathering::new).map_err(|wrong| gather::refused(&wrong))
    }

    /// Writes the results of totals, which are of all cells in their order, to a folder: the same bytes as the command writes.
    fn write(&self, py: Python<'_>, out: PathBuf, totals: Vec<String>) -> PyResult<usize> {
        let job = Job::new();
        let sweep = self.read(py, &job)?;
        let each = totals.iter().map(|text| serde_json::from_str(text));
        let each = each.collect::<Result<Vec<SeedTotals>, _>>().map_err(|wrong| error::failed(&wrong.to_string()))?;
        let Some(folder) = folder(Some(&out), |path| OutputFolder::open(path, &SWEEP))? else { return Ok(0) };
        let written = job.run(py, move |_| {
            folder.begin()?;
            sweep::write_results(folder, &sweep, &each)
        })?;
        written.map_err(|failure| error::failed(&failure.to_string()))
    }

    /// Collects the cells of a folder whose parts are all there, and writes the results: the totals, in the order of the cells.
    fn collect<'py>(&self, py: Python<'py>, out: PathBuf) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let job = Job::new();
        let sweep = self.read(py, &job)?;
        let Some(folder) = folder(Some(&out), |path| OutputFolder::open(path, &SWEEP))? else { return Ok(Vec::new()) };
        let collected = job.run(py, move |_| {
            let each = sweep::collect(&sweep, &folder, &|_| {}).map_err(|failure| failure.to_string())?;
            sweep::write_results(folder, &sweep, &each).map_err(|failure| failure.to_string())?;
            Ok::<_, String>(each)
        })?;
        collected.map_err(|message| error::failed(&message))?.iter().map(|run| totals(py, run)).collect()
    }

    fn __reduce__<'py>(slf: &Bound<'py, PySweep>) -> PyResult<Again<'py>> {
        let (py, own) = (slf.py(), slf.get());
        let mechanisms = own.mechanisms.iter().map(|object| object.bind(py).clone()).collect();
        let cost = own.cost.as_ref().map(|cost| cost.bind(py).clone());
        Ok((slf.get_type().into_any(), (own.text.clone(), mechanisms, cost)))
    }
}

/// A value of a grid.
fn plain<'py>(py: Python<'py>, value: &toml::Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        toml::Value::String(text) => text.into_bound_py_any(py),
        toml::Value::Integer(whole) => whole.into_bound_py_any(py),
        toml::Value::Float(real) => real.into_bound_py_any(py),
        toml::Value::Boolean(is_on) => is_on.into_bound_py_any(py),
        other => other.to_string().into_bound_py_any(py),
    }
}
