//! What the clock buys when the prices of the target are above the purse.
//!
//! The target is given up, nobody is frozen any more, and the worst value leaves as before, until it is enough:
//!
//! - the prices of those that are left fit into the purse: they are paid their prices; or
//! - every ask is at most its *share* of the purse, in proportion to what is lost without each: they are paid the
//!   lower of price and share.
//!
//! Both prices and shares are what others' asks and everyone's data make them. Whoever asks above its share asks the most for
//! what it adds, so it is the worst value and leaves: asking less than a share never stops the clock earlier, and asking
//! more never keeps one in. So what is paid is still the critical value.
//!
//! Prices only fall, and clients only leave: the first step at which prices fit is found by probing a few steps, where a sample of
//! the clients says that they should. If shares suffice at a
//! step, then prices fit at the next, as the rejection takes them below the shares. So shares are looked at once, at the
//! step before.

use super::growth::Growth;
use super::prices::{Left, lower};
use super::rejection::History;
use crate::Amount;
use crate::auction::meter::Metered;
use crate::auction::ratio::Ratio;
use crate::auction::{Round, Seat};

/// Clients that are priced to guess what everyone's prices come to.
const SAMPLE: usize = 256;
/// How far above the purse the first guess aims: the prices of a sample are off by some hundredths.
const MARGIN: f64 = 0.04;
/// Steps over which prices fall nearly by the same from step to step.
const NEAR: usize = 1000;

/// Who is bought, what each is paid, and the log determinants it took to price them.
pub(super) struct Purchase {
    pub(super) paid: Vec<(Seat, Amount)>,
    pub(super) evaluations: u64,
}

/// Buys within a purse that is less than `prices`, those of the target.
pub(super) fn buy(round: &Round, history: &mut History, purse: Amount, prices: &[(Seat, Amount)]) -> Metered<Purchase> {
    let begin = history.rejected.len();
    let losses = history.give_up(round, purse)?;
    let together = prices.iter().zip(losses);
    let left = together.map(|(&(seat, price), (_, loss))| Left { seat, price, loss }).collect();
    let mut search = Search { round, history, purse, leaves: history.leaves(), evaluations: 0 };
    let (before, fits) = search.bisect(Step { at: begin, left })?;
    let shares = search.shares(&before)?;
    let paid = shares.unwrap_or_else(|| fits.left.iter().map(|left| (left.seat, left.price)).collect());
    Ok(Purchase { paid, evaluations: search.evaluations })
}

struct Search<'a> {
    round: &'a Round,
    history: &'a History,
    purse: Amount,
    /// By seat.
    leaves: Vec<usize>,
    evaluations: u64,
}

/// Who is left before a rejection, and at what prices.
struct Step {
    at: usize,
    left: Vec<Left>,
}

impl Step {
    fn prices(&self) -> i128 {
        self.left.iter().map(|left| i128::from(left.price.micros())).sum()
    }
}

impl Search<'_> {
    /// The last step at which prices do not fit, and the next.
    ///
    /// To price everyone over many steps takes long, and what is learned of a step at which prices fit is of no use later. So
    /// the first probes aim a little too early, at prices above the purse by a margin that shrinks.
    fn bisect(&mut self, mut before: Step) -> Metered<(Step, Step)> {
        let mut end = self.history.rejected.len();
        let mut fits: Option<Step> = None;
        let mut margin = MARGIN;
        // How far the next probe is from the end that moved last, as long as it moves alone: else small steps would be many.
        let (mut stride, mut was_fit) = (1, None);
        while before.at + 1 < end {
            let probe = match (&fits, was_fit) {
                (Some(fits), Some(true)) if end - before.at <= NEAR => {
                    self.between(&before, fits).min(end - stride.min(end))
                }
                (Some(fits), _) if end - before.at <= NEAR => self.between(&before, fits).max(before.at + stride),
                _ => self.guess(&before, end, 1.0 + margin)?,
            };
            let step = self.advance(&before, probe.clamp(before.at + 1, end - 1))?;
            let is_fit = step.prices() <= self.purse_micros();
            stride = if was_fit == Some(is_fit) { 2 * stride } else { 1 };
            was_fit = Some(is_fit);
            if is_fit {
                (end, margin) = (step.at, 2.0 * margin);
                fits = Some(step);
            } else {
                (before, margin) = (step, margin / 8.0);
            }
        }
        let fits = match fits {
            Some(fits) => fits,
            None => self.advance(&before, end)?,
        };
        assert!(fits.prices() <= self.purse_micros(), "bug: prices are above the purse after the last step");
        Ok((before, fits))
    }

    /// Where prices are the purse, if they fall by the same from step to step.
    fn between(&self, before: &Step, fits: &Step) -> usize {
        let (above, below) = (before.prices() - self.purse_micros(), self.purse_micros() - fits.prices());
        before.at + ((fits.at - before.at) as f64 * (above as f64 / (above + below).max(1) as f64)) as usize
    }

    /// The step at which the prices of a few, scaled, are first at most so many times the purse.
    fn guess(&mut self, from: &Step, mut end: usize, times: f64) -> Metered<usize> {
        let every = from.left.len().div_ceil(SAMPLE).max(1);
        let left: Vec<Left> = from.left.iter().copied().step_by(every).collect();
        let mut before = Step { at: from.at, left };
        let purse = times * self.purse_micros() as f64 * (before.prices() as f64 / from.prices() as f64);
        while before.at + 1 < end {
            let step = self.advance(&before, usize::midpoint(before.at, end))?;
            if step.prices() as f64 <= purse { end = step.at } else { before = step }
        }
        Ok(end)
    }

    /// Those of a step that are left at a later one.
    fn advance(&mut self, step: &Step, to: usize) -> Metered<Step> {
        let (round, history, leaves) = (self.round, self.history, &self.leaves);
        let growth = Growth::new(round, history, (step.at, to - 1), step.left.len());
        let staying = step.left.iter().copied().filter(|left| leaves[left.seat.0] >= to);
        let (left, evaluations) = lower((round, history), staying, (step.at, to), growth.as_ref())?;
        self.evaluations += evaluations;
        Ok(Step { at: to, left })
    }

    fn purse_micros(&self) -> i128 {
        i128::from(self.purse.micros())
    }

    /// What each is paid, if every ask is at most its share of the purse.
    fn shares(&mut self, step: &Step) -> Metered<Option<Vec<(Seat, Amount)>>> {
        let (round, history) = (self.round, self.history);
        let seats: Vec<Seat> = step.left.iter().map(|left| left.seat).collect();
        let losses = history.losses(round, step.at, &seats)?;
        let losses: Vec<i128> = losses.into_iter().map(|loss| i128::from(loss.units().max(0))).collect();
        self.evaluations += losses.len() as u64;
        let (purse, all): (i128, i128) = (self.purse_micros(), losses.iter().sum());
        // Nobody asks more for what it adds than the one to leave next.
        let Ratio { gain, ask, .. } = history.rejected[step.at];
        if gain.units() <= 0 || i128::from(ask.micros()) * all > purse * i128::from(gain.units()) {
            return Ok(None);
        }
        let paid = |(left, loss): (&Left, i128)| (left.seat, left.price.min(Amount::saturating(purse * loss / all)));
        Ok(Some(step.left.iter().zip(losses).map(paid).collect()))
    }
}
