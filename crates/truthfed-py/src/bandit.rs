//! `LinUCB`.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use truthfed::bandit::{Config, LinUcb, PlayError, RawConfig};
use truthfed::statistics::Statistics;

use crate::convert::{floats, gram, slice, square, write_whole};
use crate::error;
use crate::work::quick;

const ERROR: &str = "BanditError";
/// Multiplications of a log between two looks for signals: some milliseconds of work.
const WORK_AT_ONCE: usize = 4_000_000;

/// A client's bandit: chooses an arm, and learns from its reward.
///
/// With a ridge and a belief about the noise, the width of the confidence set decides how much is tried; `alpha` fixes it instead.
/// Arms are rows of an array. River's habit is `pull` and `update`, scikit-learn's `partial_fit` and `predict`; `run` plays a log in
/// which the reward of every arm is known.
///
/// >>> import truthfed as tf
/// >>> arms = [[1.0, 0.0], [0.6, 0.8]]
/// >>> bandit = tf.LinUCB(dim=2, alpha=1.0)
/// >>> for _ in range(20):
/// ...     chosen = bandit.pull(arms)
/// ...     bandit.update(arms[chosen], reward=chosen)
/// >>> bandit.pull(arms)
/// 1
/// >>> mean, std = bandit.predict(arms, return_std=True)
/// >>> bool(mean[1] > 0.9)
/// True
#[pyclass(frozen, module = "truthfed", name = "LinUCB", subclass)]
pub(crate) struct PyLinUcb {
    /// Locked only while Python's lock is released: who waits for it keeps nobody from going on.
    bandit: Mutex<LinUcb>,
    config: Config,
}

impl PyLinUcb {
    fn of(bandit: LinUcb) -> PyLinUcb {
        PyLinUcb { config: *bandit.config(), bandit: Mutex::new(bandit) }
    }

    fn lock(&self) -> MutexGuard<'_, LinUcb> {
        self.bandit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&LinUcb) -> T + Send) -> PyResult<T> {
        quick(py, || look(&self.lock()))
    }

    fn d(&self) -> usize {
        self.config.dimension()
    }

    /// Columns that are not of the bandit's dimension are the caller's mistake, even if the numbers could be cut into arms.
    fn check_columns(&self, field: &str, got: usize) -> PyResult<()> {
        if got == self.d() {
            return Ok(());
        }
        let bound = format!("of dimension {}", self.d());
        let message = format!("{field} has dimension {got}: it must be {bound}");
        Err(error::input(ERROR, &message, field, &bound))
    }
}

#[pymethods]
impl PyLinUcb {
    #[new]
    #[pyo3(signature = (dim, ridge=0.1, noise=0.1, delta=0.1, alpha=None))]
    fn new(dim: i64, ridge: f64, noise: f64, delta: f64, alpha: Option<f64>) -> PyResult<PyLinUcb> {
        let dimension = usize::try_from(dim).unwrap_or(0);
        let raw = RawConfig { dimension, lambda: ridge, sigma: noise, delta };
        let config = Config::try_from(raw).map_err(|wrong| error::bad(ERROR, &wrong))?;
        let bandit = LinUcb::new(config);
        match alpha {
            None => Ok(PyLinUcb::of(bandit)),
            Some(alpha) => bandit.with_alpha(alpha).map(PyLinUcb::of).map_err(|wrong| error::bad(ERROR, &wrong)),
        }
    }

    /// The index of the arm to play: that with the largest score; of equals, the first.
    fn pull(&self, py: Python<'_>, arms: &Bound<'_, PyAny>) -> PyResult<usize> {
        let arms = floats(ERROR, "arms", arms, 2)?;
        self.check_columns("arms", arms.shape()[1])?;
        let arms = slice(&arms)?;
        self.read(py, |bandit| bandit.choose_flat(arms))?.map_err(|wrong| error::bad(ERROR, &wrong))
    }

    /// The optimistic estimate of each arm: its mean plus `exploration` times its width.
    fn scores<'py>(&self, py: Python<'py>, arms: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let arms = floats(ERROR, "arms", arms, 2)?;
        self.check_columns("arms", arms.shape()[1])?;
        let arms = slice(&arms)?;
        let scores = self.read(py, |bandit| bandit.scores(arms))?.map_err(|wrong| error::bad(ERROR, &wrong))?;
        Ok(PyArray1::from_vec(py, scores))
    }

    /// Learns the reward of an arm that was played. What is refused changes nothing.
    fn update(&self, py: Python<'_>, arm: &Bound<'_, PyAny>, reward: f64) -> PyResult<()> {
        let arm = floats(ERROR, "arm", arm, 1)?;
        self.check_columns("arm", arm.len())?;
        let arm = slice(&arm)?;
        let learned = quick(py, || self.lock().learn(arm, reward))?;
        learned.map_err(|wrong| error::bad_field(ERROR, &wrong, if reward_is_wrong(&wrong) { "reward" } else { "arm" }))
    }

    /// Learns rewards `y` of arms `x`, all or none of them; returns the bandit.
    #[pyo3(name = "partial_fit")]
    fn partial_fit<'py>(
        slf: Bound<'py, PyLinUcb>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyLinUcb>> {
        let own = slf.get();
        let (x, y) = (floats(ERROR, "x", x, 2)?, floats(ERROR, "y", y, 1)?);
        own.check_columns("x", x.shape()[1])?;
        let rows = x.shape()[0];
        if y.len() != rows {
            let bound = format!("{rows} rewards, one for each row of x");
            return Err(error::input(ERROR, &format!("y has {} entries: it must be {bound}", y.len()), "y", &bound));
        }
        let (x, y, d) = (slice(&x)?, slice(&y)?, own.d());
        let learned = quick(slf.py(), || {
            // What is refused changes nothing.
            let mut known = own.lock();
            let mut bandit = known.clone();
            for (row, (arm, reward)) in x.chunks_exact(d).zip(y).enumerate() {
                bandit.learn(arm, *reward).map_err(|wrong| (row, wrong))?;
            }
            *known = bandit;
            Ok(())
        })?;
        learned.map_err(|(row, wrong)| {
            let field = if reward_is_wrong(&wrong) { format!("y[{row}]") } else { format!("x[{row}]") };
            error::bad_field(ERROR, &wrong, &field)
        })?;
        Ok(slf)
    }

    /// The mean reward of each arm; with `return_std` also its width, the square root of x' V^-1 x.
    #[pyo3(signature = (x, return_std=false))]
    fn predict<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, return_std: bool) -> PyResult<Bound<'py, PyAny>> {
        let x = floats(ERROR, "x", x, 2)?;
        self.check_columns("x", x.shape()[1])?;
        let x = slice(&x)?;
        let estimates = self.read(py, |bandit| bandit.estimates(x))?.map_err(|wrong| {
            let field = truthfed::BadInput::field(&wrong).replacen("arms", "x", 1);
            error::bad_field(ERROR, &wrong, &field)
        })?;
        let means = PyArray1::from_vec(py, estimates.iter().map(|estimate| estimate.mean).collect());
        if !return_std {
            return Ok(means.into_any());
        }
        let widths = PyArray1::from_vec(py, estimates.iter().map(|estimate| estimate.width).collect());
        Ok(PyTuple::new(py, [means, widths])?.into_any())
    }

    /// Plays a log in which every reward is known: chooses at each step and learns the reward of the choice; returns the choices.
    /// `arms` is steps by arms by `dim`, `rewards` steps by arms. What is refused changes nothing.
    fn run<'py>(
        &self,
        py: Python<'py>,
        arms: &Bound<'py, PyAny>,
        rewards: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (arms, rewards) = (floats(ERROR, "arms", arms, 3)?, floats(ERROR, "rewards", rewards, 2)?);
        self.check_columns("arms", arms.shape()[2])?;
        let (steps, each) = (arms.shape()[0], arms.shape()[1]);
        if rewards.shape() != [steps, each] {
            let bound = format!("{steps} steps of {each} rewards, one for each arm");
            let message = format!("rewards is {} by {}: it must be {bound}", rewards.shape()[0], rewards.shape()[1]);
            return Err(error::input(ERROR, &message, "rewards", &bound));
        }
        let (arms, rewards, d) = (slice(&arms)?, slice(&rewards)?, self.d());
        let mut bandit = self.read(py, LinUcb::clone)?;
        let before = bandit.known().samples();
        let at_once = WORK_AT_ONCE / (each * d * d).max(1) + 1;
        let mut choices: Vec<i64> = Vec::with_capacity(steps);
        while choices.len() < steps {
            let (from, more) = (choices.len(), at_once.min(steps - choices.len()));
            let (arms, rewards) = (&arms[from * each * d..][..more * each * d], &rewards[from * each..][..more * each]);
            let (played, made) = quick(py, move || {
                let made = bandit.play(arms, rewards, more);
                (bandit, made)
            })?;
            bandit = played;
            let made = made.map_err(|wrong| error::bad(ERROR, &later(wrong, from)))?;
            choices.extend(made.into_iter().map(|choice| choice as i64));
            py.check_signals()?;
        }
        let is_alone = quick(py, || {
            let mut known = self.lock();
            let is_alone = known.known().samples() == before;
            if is_alone {
                *known = bandit;
            }
            is_alone
        })?;
        if !is_alone {
            let bound = "a bandit that no other thread teaches meanwhile";
            return Err(error::input(
                ERROR,
                &format!("self learned something else: it must be {bound}"),
                "self",
                bound,
            ));
        }
        Ok(PyArray1::from_vec(py, choices))
    }

    /// The state as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |bandit| serde_json::to_string(bandit).expect("a bandit is JSON"))
    }

    /// The bandit of such a text.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<PyLinUcb> {
        let read = quick(py, || serde_json::from_str::<LinUcb>(text))?;
        read.map(PyLinUcb::of).map_err(|wrong| {
            let bound = "the JSON of a bandit that was saved";
            error::input(ERROR, &format!("text is no bandit ({wrong}): it must be {bound}"), "text", bound)
        })
    }

    /// Writes the state to a file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = self.to_json(py)?;
        quick(py, move || write_whole(&path, &text))?.map_err(PyErr::from)
    }

    /// The bandit of a file that `save` wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyLinUcb> {
        PyLinUcb::from_json(py, &quick(py, move || std::fs::read_to_string(path))??)
    }

    /// Replaces everything that is known.
    fn refresh(
        &self,
        py: Python<'_>,
        gram_matrix: &Bound<'_, PyAny>,
        moment: &Bound<'_, PyAny>,
        samples: u64,
    ) -> PyResult<()> {
        let (whole, moment) = (floats(ERROR, "gram", gram_matrix, 2)?, floats(ERROR, "moment", moment, 1)?);
        self.check_columns("gram", whole.shape()[1])?;
        let matrix = gram(ERROR, "gram", self.d(), slice(&whole)?)?;
        let known = Statistics::from_parts(matrix, slice(&moment)?.to_vec(), samples);
        let known = known.map_err(|wrong| error::bad(ERROR, &wrong))?;
        let refreshed = quick(py, || self.lock().refresh(known))?;
        refreshed.map_err(|wrong| {
            let bound = "statistics that some data can have";
            error::input(ERROR, &format!("gram: {wrong}: it must be {bound}"), "gram", bound)
        })
    }

    /// Another bandit that knows the same.
    fn copy(&self, py: Python<'_>) -> PyResult<PyLinUcb> {
        Ok(PyLinUcb::of(self.read(py, LinUcb::clone)?))
    }

    /// The estimate of the hidden parameter.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.read(py, |bandit| bandit.theta().to_vec())?))
    }

    /// The sum of x x' over everything that was learned, without the ridge.
    #[getter]
    fn gram<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let whole = self.read(py, |bandit| square(self.d(), bandit.known().gram().lower()))?;
        PyArray1::from_vec(py, whole).reshape([self.d(), self.d()])
    }

    /// The sum of x y over everything that was learned.
    #[getter]
    fn moment<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.read(py, |bandit| bandit.known().moment().to_vec())?))
    }

    /// How many rewards were learned.
    #[getter]
    fn samples(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |bandit| bandit.known().samples())
    }

    /// How much is tried: the width of the confidence set, or alpha.
    #[getter]
    fn exploration(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py, LinUcb::exploration)
    }

    /// log(det V / det(ridge I)), in nats.
    #[getter]
    fn information(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py, LinUcb::log_det_ratio)
    }

    /// The dimension of the arms.
    #[getter]
    fn dim(&self) -> usize {
        self.d()
    }

    /// The ridge weight.
    #[getter]
    fn ridge(&self) -> f64 {
        self.config.lambda()
    }

    /// The scale of the noise that it believes in.
    #[getter]
    fn noise(&self) -> f64 {
        self.config.sigma()
    }

    /// The probability of a wrong confidence set.
    #[getter]
    fn delta(&self) -> f64 {
        self.config.delta()
    }

    /// The fixed alpha, or None.
    #[getter]
    fn alpha(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.read(py, LinUcb::alpha)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (samples, alpha) = self.read(py, |bandit| (bandit.known().samples(), bandit.alpha()))?;
        let (d, ridge) = (self.d(), self.ridge());
        Ok(match alpha {
            Some(alpha) => format!("LinUCB(dim={d}, ridge={ridge:?}, alpha={alpha:?}) after {samples} samples"),
            None => {
                let (noise, delta) = (self.noise(), self.delta());
                format!("LinUCB(dim={d}, ridge={ridge:?}, noise={noise:?}, delta={delta:?}) after {samples} samples")
            }
        })
    }

    /// Pickling: the state as JSON, to the last bit.
    fn __reduce__<'py>(slf: &Bound<'py, PyLinUcb>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let read = slf.get_type().getattr("from_json")?;
        Ok((read, (slf.get().to_json(slf.py())?,)))
    }
}

fn reward_is_wrong(wrong: &truthfed::statistics::StatisticsError) -> bool {
    truthfed::BadInput::field(wrong) == "reward"
}

/// The error of a part of a log, by the steps of the whole.
fn later(wrong: PlayError, from: usize) -> PlayError {
    match wrong {
        PlayError::Choose { step, error } => PlayError::Choose { step: from + step, error },
        PlayError::Learn { step, error } => PlayError::Learn { step: from + step, error },
        wrong @ PlayError::WrongSize { .. } => wrong,
    }
}
