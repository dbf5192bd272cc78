//! LinUCB: how a client chooses an arm and learns from the reward.
//!
//! With `V = gram + lambda I` and `theta = V^-1 moment` over everything the client knows, LinUCB chooses the
//! arm with the largest `x.theta + alpha * ||x||_{V^-1}`, where
//! `alpha = sigma * sqrt(log(det V / det(lambda I)) + 2 log(1/delta)) + sqrt(lambda)`.
//!
//! Rank-1 updates keep the inverse of V current, so a step costs O(K d^2). The inverse is recomputed when a
//! snapshot arrives, every 1024 observations, so that rounding errors do not accumulate, and after an observation that tells so
//! much that an update would lose digits.
//!
//! Not here: when to ask for a round, what to share ([`crate::protocol`]).

mod config;

pub use config::{AlphaError, Config, ConfigError, RawConfig};

use serde::{Deserialize, Serialize};

use crate::statistics::{Factor, NotPositive, Statistics, StatisticsError, dot};

/// Observations after which the inverse is recomputed. The dimension is at most 512, so its O(d^3) stays below the cost of
/// the O(d^2) updates in between.
const REFRESH_EVERY: u32 = 1024;
/// An update subtracts what is nearly equal where an observation multiplies the determinant, and loses as many digits as that has.
/// Above 2^20, some six of sixteen, the inverse is recomputed instead. Contexts of length 1 do so only at a ridge below 1e-6; and at
/// most once for each dimension, unless contexts grow by as much.
const REFRESH_GROWTH: f64 = (1_u64 << 20) as f64;
/// Arms that are scored together, each in its own lane: two AVX or one AVX-512 register of doubles.
const LANES: usize = 8;
/// Scores that differ by less than this fraction count as equal, and the first of them wins. It is well above the
/// rounding of a score, so that rounding does not decide between equal arms.
const TIE: f64 = 1e-12;

/// One client's bandit: what it knows, and how it decides.
///
/// ```
/// use truthfed::bandit::{Config, LinUcb, RawConfig};
/// let config = Config::try_from(RawConfig { dimension: 2, ..RawConfig::default() })?;
/// let mut bandit = LinUcb::new(config);
/// let arms = [[1.0, 0.0], [0.0, 1.0]];
/// for _ in 0..20 {
///     let chosen = bandit.choose(&arms)?;
///     bandit.learn(&arms[chosen], if chosen == 1 { 1.0 } else { 0.0 })?;
/// }
/// assert_eq!(bandit.choose(&arms)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct LinUcb {
    config: Config,
    known: Statistics,
    /// V^-1, all rows.
    inverse: Vec<f64>,
    theta: Vec<f64>,
    /// log(det V / det(lambda I)).
    log_det_ratio: f64,
    since_refresh: u32,
    /// Instead of the width of the confidence set. Left out where there is none: older files have no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    alpha: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    config: Config,
    known: Statistics,
    inverse: Vec<f64>,
    theta: Vec<f64>,
    log_det_ratio: f64,
    since_refresh: u32,
    #[serde(default)]
    alpha: Option<f64>,
}

impl TryFrom<Saved> for LinUcb {
    type Error = String;

    fn try_from(saved: Saved) -> Result<LinUcb, String> {
        let Saved { config, known, inverse, theta, log_det_ratio, since_refresh, alpha } = saved;
        let d = config.dimension();
        if (known.dimension(), inverse.len(), theta.len()) != (d, d * d, d) {
            return Err(format!("a saved bandit of dimension {d} has parts of other sizes"));
        }
        alpha.map_or(Ok(()), check_alpha).map_err(|error| error.to_string())?;
        Ok(LinUcb { config, known, inverse, theta, log_det_ratio, since_refresh, alpha })
    }
}

/// Why no arm could be chosen. All are the application's to fix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChooseError {
    #[error("arms is empty: there is nothing to choose from")]
    NoArms,
    #[error("arm {index} has dimension {got}, expected {expected}")]
    WrongDimension { index: usize, got: usize, expected: usize },
    #[error("arm {index} gives no finite score: its coordinates must be finite and below 1e100 in size")]
    NotFinite { index: usize },
}

/// Why a log could not be played. All are the application's to fix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlayError {
    #[error("{got} coordinates of arms are not {steps} steps of {arms} arms of dimension {dimension}")]
    WrongSize { got: usize, steps: usize, arms: usize, dimension: usize },
    #[error("step {step}: {error}")]
    Choose { step: usize, error: ChooseError },
    #[error("step {step}: {error}")]
    Learn { step: usize, error: StatisticsError },
}

/// What the bandit expects of an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// x.theta
    pub mean: f64,
    /// ||x||_{V^-1}: times alpha, how much better it may be.
    pub width: f64,
}

/// Why a bandit cannot use a snapshot of statistics.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RefreshError {
    /// Sender: the snapshot has a different dimension from the bandit.
    #[error("snapshot has dimension {got}, expected {expected}")]
    WrongDimension { got: usize, expected: usize },
    /// Sender: no data can produce such a Gram matrix. Or caller: beside this much data rounding swallows a ridge of this size.
    #[error("snapshot with ridge {lambda}: {error}")]
    NotPositive { lambda: f64, error: NotPositive },
    /// Sender: no data can produce such a moment either.
    #[error("snapshot has a moment with which no estimate is finite")]
    NoEstimate,
}

impl LinUcb {
    pub fn new(config: Config) -> LinUcb {
        let nothing = Statistics::new(config.dimension()).expect("a checked configuration has a valid dimension");
        LinUcb::knowing(config, nothing).expect("the ridge alone is positive definite")
    }

    pub fn knowing(config: Config, known: Statistics) -> Result<LinUcb, RefreshError> {
        let (factor, log_det_ratio) = log_det_ratio(&config, &known)?;
        let (inverse, theta) = (factor.inverse(), factor.solve(known.moment()));
        if theta.iter().any(|estimate| !estimate.is_finite()) {
            return Err(RefreshError::NoEstimate);
        }
        Ok(LinUcb { config, known, inverse, theta, log_det_ratio, since_refresh: 0, alpha: None })
    }

    /// The same with a fixed alpha, at least 0, instead of the width of the confidence set.
    pub fn with_alpha(self, alpha: f64) -> Result<LinUcb, AlphaError> {
        check_alpha(alpha)?;
        Ok(LinUcb { alpha: Some(alpha), ..self })
    }

    /// Replaces everything this client knows, for example by a new global snapshot. What is refused changes nothing.
    pub fn refresh(&mut self, known: Statistics) -> Result<(), RefreshError> {
        *self = LinUcb { alpha: self.alpha, ..LinUcb::knowing(self.config, known)? };
        Ok(())
    }

    /// The arm to play: the one with the largest optimistic estimate; of equals, the first.
    pub fn choose<A: AsRef<[f64]>>(&self, arms: &[A]) -> Result<usize, ChooseError> {
        best_of(&self.scores_of(arms.iter().map(AsRef::as_ref))?)
    }

    /// [`LinUcb::choose`] from arms that stand one after another.
    pub fn choose_flat(&self, arms: &[f64]) -> Result<usize, ChooseError> {
        best_of(&self.scores(arms)?)
    }

    /// The optimistic estimates of arms that stand one after another: mean + alpha * width.
    pub fn scores(&self, arms: &[f64]) -> Result<Vec<f64>, ChooseError> {
        self.scores_of(self.rows(arms)?)
    }

    /// Mean and width of arms that stand one after another.
    pub fn estimates(&self, arms: &[f64]) -> Result<Vec<Estimate>, ChooseError> {
        let mut estimates = Vec::with_capacity(arms.len() / self.config.dimension());
        self.each_estimate(self.rows(arms)?, |index, estimate| {
            let is_finite = estimate.mean.is_finite() && estimate.width.is_finite();
            estimates.push(estimate);
            if is_finite { Ok(()) } else { Err(ChooseError::NotFinite { index }) }
        })?;
        Ok(estimates)
    }

    /// Plays a log in which the reward of every arm is known: chooses at each step, and learns the reward of what it chose. Arms
    /// stand one after another, step by step, and so do rewards. Returns the choices. What is refused changes nothing.
    pub fn play(&mut self, arms: &[f64], rewards: &[f64], steps: usize) -> Result<Vec<usize>, PlayError> {
        let (d, each) = (self.config.dimension(), rewards.len().checked_div(steps).unwrap_or(0));
        if rewards.len() != each * steps || arms.len() != each * steps * d {
            return Err(PlayError::WrongSize { got: arms.len(), steps, arms: each, dimension: d });
        }
        let mut played = self.clone();
        let mut choices = Vec::with_capacity(steps);
        for step in 0..steps {
            let arms = &arms[step * each * d..][..each * d];
            let chosen = played.choose_flat(arms).map_err(|error| PlayError::Choose { step, error })?;
            let (arm, reward) = (&arms[chosen * d..][..d], rewards[step * each + chosen]);
            played.learn(arm, reward).map_err(|error| PlayError::Learn { step, error })?;
            choices.push(chosen);
        }
        *self = played;
        Ok(choices)
    }

    fn rows<'a>(&self, arms: &'a [f64]) -> Result<impl Iterator<Item = &'a [f64]> + use<'a>, ChooseError> {
        let expected = self.config.dimension();
        match arms.len() % expected {
            0 => Ok(arms.chunks_exact(expected)),
            got => Err(ChooseError::WrongDimension { index: arms.len() / expected, got, expected }),
        }
    }

    fn scores_of<'a>(&self, arms: impl Iterator<Item = &'a [f64]>) -> Result<Vec<f64>, ChooseError> {
        let alpha = self.exploration();
        let mut scores = Vec::with_capacity(arms.size_hint().0);
        self.each_estimate(arms, |index, Estimate { mean, width }| {
            let score = mean + alpha * width;
            scores.push(score);
            if score.is_finite() { Ok(()) } else { Err(ChooseError::NotFinite { index }) }
        })?;
        Ok(scores)
    }

    /// The estimates of arms, in their order.
    fn each_estimate<'a>(
        &self,
        mut arms: impl Iterator<Item = &'a [f64]>,
        mut take: impl FnMut(usize, Estimate) -> Result<(), ChooseError>,
    ) -> Result<(), ChooseError> {
        let mut lanes = vec![[0.0; LANES]; self.config.dimension()];
        let mut first = 0;
        loop {
            let filled = self.fill(&mut lanes, &mut arms, first)?;
            if filled == 0 {
                return Ok(());
            }
            let (means, forms) = (self.means(&lanes), self.forms(&lanes));
            for (lane, (mean, form)) in means.into_iter().zip(forms).take(filled).enumerate() {
                // Rounding can make it negative; what is not a number stays so, and is refused.
                let width = if form < 0.0 { 0.0 } else { form.sqrt() };
                take(first + lane, Estimate { mean, width })?;
            }
            first += filled;
        }
    }

    /// Learns the reward of an arm that was played. What is refused changes nothing.
    pub fn learn(&mut self, arm: &[f64], reward: f64) -> Result<(), StatisticsError> {
        self.known.observe(arm, reward)?;
        let growth = self.update(arm);
        self.since_refresh += 1;
        if self.since_refresh >= REFRESH_EVERY || growth > REFRESH_GROWTH {
            self.since_refresh = 0;
            // If rounding swallows the ridge there may be no factor: keep the updated inverse.
            if let Ok(anew) = LinUcb::knowing(self.config, self.known.clone()) {
                *self = LinUcb { alpha: self.alpha, ..anew };
            }
        }
        Ok(())
    }

    /// The estimate of the hidden parameter.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    pub fn known(&self) -> &Statistics {
        &self.known
    }

    /// log(det V / det(lambda I)): the information this client has, in nats.
    pub fn log_det_ratio(&self) -> f64 {
        self.log_det_ratio
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The fixed alpha, if there is one.
    pub fn alpha(&self) -> Option<f64> {
        self.alpha
    }

    /// The width of the confidence set, alpha, or the fixed one.
    pub fn exploration(&self) -> f64 {
        if let Some(alpha) = self.alpha {
            return alpha;
        }
        let confidence = self.log_det_ratio + 2.0 * libm::log(1.0 / self.config.delta());
        self.config.sigma() * confidence.sqrt() + self.config.lambda().sqrt()
    }

    /// The next arms by coordinate: entry i holds coordinate i of every arm, and something else for missing arms. How many there are.
    fn fill<'a>(
        &self,
        lanes: &mut [[f64; LANES]],
        arms: &mut impl Iterator<Item = &'a [f64]>,
        first: usize,
    ) -> Result<usize, ChooseError> {
        let expected = self.config.dimension();
        let mut filled = 0;
        for arm in arms.take(LANES) {
            if arm.len() != expected {
                return Err(ChooseError::WrongDimension { index: first + filled, got: arm.len(), expected });
            }
            lanes.iter_mut().zip(arm).for_each(|(coordinate, x)| coordinate[filled] = *x);
            filled += 1;
        }
        Ok(filled)
    }

    /// x.theta of each lane.
    fn means(&self, lanes: &[[f64; LANES]]) -> [f64; LANES] {
        let mut means = [0.0; LANES];
        for (x, theta) in lanes.iter().zip(&self.theta) {
            add_scaled(&mut means, *theta, x);
        }
        means
    }

    /// x' V^-1 x of each lane. The matrix is symmetric: the entries below the diagonal count twice.
    fn forms(&self, lanes: &[[f64; LANES]]) -> [f64; LANES] {
        let mut forms = [0.0; LANES];
        for (i, (row, x)) in self.inverse.chunks_exact(lanes.len()).zip(lanes).enumerate() {
            let mut below = [0.0; LANES];
            for (entry, y) in row[..i].iter().zip(lanes) {
                add_scaled(&mut below, *entry, y);
            }
            for ((form, x), below) in forms.iter_mut().zip(x).zip(below) {
                *form += x * (2.0 * below + row[i] * x);
            }
        }
        forms
    }

    /// Sherman-Morrison: V^-1 after adding x x'. By how much the determinant grew.
    fn update(&mut self, x: &[f64]) -> f64 {
        let d = x.len();
        let mut image = vec![0.0; d];
        multiply(&self.inverse, x, &mut image);
        let growth = 1.0 + dot(x, &image);
        // Rounding alone can make the form negative. There is nothing left to learn then: keep the inverse.
        if growth <= 1.0 {
            return 1.0;
        }
        for (row, u) in self.inverse.chunks_exact_mut(d).zip(&image) {
            let factor = u / growth;
            for (entry, v) in row.iter_mut().zip(&image) {
                *entry -= factor * v;
            }
        }
        self.log_det_ratio += libm::log(growth);
        multiply(&self.inverse, self.known.moment(), &mut self.theta);
        growth
    }
}

/// The first of the best; scores within [`TIE`] are equal.
fn best_of(scores: &[f64]) -> Result<usize, ChooseError> {
    let best = scores.iter().copied().reduce(f64::max).ok_or(ChooseError::NoArms)?;
    let enough = best - TIE * best.abs();
    Ok(scores.iter().position(|&score| score >= enough).expect("the best is among them"))
}

fn check_alpha(alpha: f64) -> Result<(), AlphaError> {
    if (0.0..=1e9).contains(&alpha) { Ok(()) } else { Err(AlphaError(alpha)) }
}

/// The factor of V + lambda I, and log(det(V + lambda I) / det(lambda I)).
pub(crate) fn log_det_ratio(config: &Config, known: &Statistics) -> Result<(Factor, f64), RefreshError> {
    let (got, expected) = (known.dimension(), config.dimension());
    if got != expected {
        return Err(RefreshError::WrongDimension { got, expected });
    }
    let lambda = config.lambda();
    let factor = Factor::new(&known.gram().ridge(lambda));
    let factor = factor.map_err(|error| RefreshError::NotPositive { lambda, error })?;
    // Rounding may take it below the least there is.
    let ratio = (factor.log_det() - expected as f64 * libm::log(lambda)).max(0.0);
    Ok((factor, ratio))
}

/// Adds lane by lane: the order within each sum does not depend on the width of the CPU's registers.
fn add_scaled(sums: &mut [f64; LANES], factor: f64, x: &[f64; LANES]) {
    for (sum, x) in sums.iter_mut().zip(x) {
        *sum += factor * x;
    }
}

/// A symmetric matrix times a vector, as a sum of scaled rows: the order within each sum is fixed.
fn multiply(matrix: &[f64], x: &[f64], product: &mut [f64]) {
    product.fill(0.0);
    for (row, xi) in matrix.chunks_exact(x.len()).zip(x) {
        for (sum, entry) in product.iter_mut().zip(row) {
            *sum += xi * entry;
        }
    }
}

#[cfg(test)]
mod tests;
