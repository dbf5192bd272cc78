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
mod rank_one;
mod scores;

pub use config::{AlphaError, Config, ConfigError, RawConfig};

use fearless_simd::Level;
use serde::{Deserialize, Serialize};

use self::scores::{BATCH, Estimated, Scratch, estimated};
use crate::statistics::{Factor, LANES, NotPositive, Statistics, StatisticsError};

/// Observations after which the inverse is recomputed. The dimension is at most 512, so its O(d^3) stays below the cost of
/// the O(d^2) updates in between.
const REFRESH_EVERY: u32 = 1024;
/// An update subtracts what is nearly equal where an observation multiplies the determinant, and loses as many digits as that has.
/// Above 2^20, some six of sixteen, the inverse is recomputed instead. Contexts of length 1 do so only at a ridge below 1e-6; and at
/// most once for each dimension, unless contexts grow by as much.
const REFRESH_GROWTH: f64 = (1_u64 << 20) as f64;
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
        self.choose_among(arms.iter().map(AsRef::as_ref))
    }

    /// [`LinUcb::choose`] from arms that stand one after another.
    pub fn choose_flat(&self, arms: &[f64]) -> Result<usize, ChooseError> {
        self.choose_among(self.rows(arms)?)
    }

    /// [`LinUcb::choose`] from arms wherever they are.
    pub fn choose_among<'a>(&self, arms: impl Iterator<Item = &'a [f64]>) -> Result<usize, ChooseError> {
        Scratch::with(|scratch| {
            let mut scores = std::mem::take(&mut scratch.scores);
            scores.clear();
            let best = self.add_scores(arms, scratch, &mut scores).and_then(|()| best_of(&scores));
            scratch.scores = scores;
            best
        })
    }

    /// The optimistic estimates of arms that stand one after another: mean + alpha * width.
    pub fn scores(&self, arms: &[f64]) -> Result<Vec<f64>, ChooseError> {
        let mut scores = Vec::with_capacity(arms.len() / self.config.dimension());
        let arms = self.rows(arms)?;
        Scratch::with(|scratch| self.add_scores(arms, scratch, &mut scores))?;
        Ok(scores)
    }

    /// Mean and width of arms that stand one after another.
    pub fn estimates(&self, arms: &[f64]) -> Result<Vec<Estimate>, ChooseError> {
        let mut estimates = Vec::with_capacity(arms.len() / self.config.dimension());
        let arms = self.rows(arms)?;
        Scratch::with(|scratch| {
            self.each_batch(arms, scratch, |first, count, estimated| {
                let pairs = estimated.means().iter().zip(estimated.widths()).take(count);
                estimates.extend(pairs.map(|(&mean, &width)| Estimate { mean, width }));
                check_finite(first, &estimates[first..], |it| it.mean.is_finite() && it.width.is_finite())
            })
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

    fn add_scores<'a>(
        &self,
        arms: impl Iterator<Item = &'a [f64]>,
        scratch: &mut Scratch,
        scores: &mut Vec<f64>,
    ) -> Result<(), ChooseError> {
        let alpha = self.exploration();
        self.each_batch(arms, scratch, |first, count, estimated| {
            scores.extend_from_slice(&estimated.scores(alpha)[..count]);
            check_finite(first, &scores[first..], |score| score.is_finite())
        })
    }

    /// The estimates of arms in their order: the number of the first of a batch, how many it has, and theirs.
    fn each_batch<'a>(
        &self,
        mut arms: impl Iterator<Item = &'a [f64]>,
        scratch: &mut Scratch,
        mut take: impl FnMut(usize, usize, &Estimated) -> Result<(), ChooseError>,
    ) -> Result<(), ChooseError> {
        let (level, expected) = (Level::new(), self.config.dimension());
        let mut first = 0;
        loop {
            let mut batch: [&[f64]; BATCH] = [&[]; BATCH];
            let (mut count, mut wrong) = (0, None);
            for arm in arms.by_ref().take(BATCH) {
                if arm.len() != expected {
                    wrong = Some(ChooseError::WrongDimension { index: first + count, got: arm.len(), expected });
                    // An arm without a finite score among those before is the first error.
                    count -= count % LANES;
                    break;
                }
                batch[count] = arm;
                count += 1;
            }
            if count > 0 {
                take(first, count, &estimated(level, &self.inverse, &self.theta, &batch[..count], scratch))?;
            }
            match wrong {
                Some(error) => return Err(error),
                None if count < BATCH => return Ok(()),
                None => first += count,
            }
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

    /// V^-1 and theta after adding x x'. By how much the determinant grew.
    fn update(&mut self, x: &[f64]) -> f64 {
        let data = (x, self.known.moment());
        let growth = Scratch::with(|scratch| {
            rank_one::update(Level::new(), &mut self.inverse, &mut self.theta, data, &mut scratch.image)
        });
        self.log_det_ratio += libm::log(growth);
        growth
    }
}

/// That all estimates of a batch are numbers; its first is that of the arm with this number.
fn check_finite<T>(first: usize, batch: &[T], is_finite: impl Fn(&T) -> bool) -> Result<(), ChooseError> {
    // All are looked at, which needs no branches; the place only matters if one is wrong.
    if batch.iter().fold(true, |all, estimate| all & is_finite(estimate)) {
        return Ok(());
    }
    let place = batch.iter().position(|estimate| !is_finite(estimate)).expect("one is wrong");
    Err(ChooseError::NotFinite { index: first + place })
}

/// The first of the best; scores within [`TIE`] are equal.
fn best_of(scores: &[f64]) -> Result<usize, ChooseError> {
    if scores.is_empty() {
        return Err(ChooseError::NoArms);
    }
    let best = scores.iter().fold(f64::NEG_INFINITY, |best, &score| if score > best { score } else { best });
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

#[cfg(test)]
mod tests;
