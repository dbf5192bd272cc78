//! The one place where an auction evaluates log determinants.
//!
//! Every mechanism asks a [`Kernel`] for the information level of a matrix, alone, with one client's
//! Gram matrix added, or with it taken away. Whoever needs several at once asks for a list: they are evaluated side by
//! side in vector registers ([`Lanes`]), with the same bits as one by one. The kernel counts what it is asked, and refuses to
//! go on when the round's limit of work is exceeded.

use std::sync::Arc;

use super::Information;
use super::meter::{Meter, Metered};
use crate::statistics::{LANES, Lanes, Pair, log_det_in_place};

/// Evaluates and counts log determinants of packed matrices of one dimension.
#[derive(Debug)]
pub(super) struct Kernel {
    work: Vec<f64>,
    column: Vec<f64>,
    lanes: Lanes,
    nats: Vec<f64>,
    pub(super) evaluations: u64,
    meter: Option<Arc<Meter>>,
    /// Evaluations that the meter does not know of: it is shared by all threads, and asking it each time would be slow.
    unreported: u64,
}

impl Kernel {
    pub(super) fn new(dimension: usize, meter: Option<Arc<Meter>>) -> Kernel {
        Kernel {
            work: Vec::new(),
            column: vec![0.0; dimension],
            lanes: Lanes::new(dimension),
            nats: Vec::new(),
            evaluations: 0,
            meter,
            unreported: 0,
        }
    }

    pub(super) fn level(&mut self, matrix: &[f64]) -> Metered<Information> {
        self.check()?;
        Ok(self.evaluate(matrix.iter().copied()))
    }

    /// log det(matrix + gram).
    pub(super) fn level_with(&mut self, matrix: &[f64], gram: &[f64]) -> Metered<Information> {
        self.check()?;
        Ok(self.evaluate(with(matrix, gram)))
    }

    /// log det(matrix - gram).
    pub(super) fn level_without(&mut self, matrix: &[f64], gram: &[f64]) -> Metered<Information> {
        self.check()?;
        Ok(self.evaluate(without(matrix, gram)))
    }

    /// log det(matrix + gram) of each pair, added to `levels`.
    pub(super) fn levels_with(&mut self, pairs: &[Pair<'_>], levels: &mut Vec<Information>) -> Metered<()> {
        self.levels::<true>(pairs, levels)
    }

    /// log det(matrix - gram) of each pair, added to `levels`.
    pub(super) fn levels_without(&mut self, pairs: &[Pair<'_>], levels: &mut Vec<Information>) -> Metered<()> {
        self.levels::<false>(pairs, levels)
    }

    fn levels<const ADD: bool>(&mut self, pairs: &[Pair<'_>], levels: &mut Vec<Information>) -> Metered<()> {
        let most = self.meter.as_ref().map_or(usize::MAX, |meter| meter.batch.clamp(LANES as u64, 1 << 20) as usize);
        for part in pairs.chunks(most) {
            self.check()?;
            self.sure_levels::<ADD>(part, levels);
        }
        Ok(())
    }

    fn sure_levels<const ADD: bool>(&mut self, pairs: &[Pair<'_>], levels: &mut Vec<Information>) {
        let mut nats = std::mem::take(&mut self.nats);
        nats.clear();
        // One that is left over takes less alone.
        let together = if pairs.len() % LANES == 1 { pairs.len() - 1 } else { pairs.len() };
        self.lanes.log_dets::<ADD>(&pairs[..together], &mut nats);
        nats.resize(pairs.len(), f64::NAN);
        if nats.iter().any(|nats| nats.is_nan()) {
            levels.extend(pairs.iter().zip(&nats).map(|(&(matrix, gram), &nats)| match (nats.is_nan(), ADD) {
                (true, true) => self.evaluate(with(matrix, gram)),
                (true, false) => self.evaluate(without(matrix, gram)),
                (false, _) => {
                    self.evaluations += 1;
                    self.unreported += 1;
                    Information::from_nats(nats)
                }
            }));
        } else {
            self.evaluations += pairs.len() as u64;
            self.unreported += pairs.len() as u64;
            levels.extend(nats.iter().map(|&nats| Information::from_nats(nats)));
        }
        self.nats = nats;
    }

    /// [`Kernel::level`], counted but never refused: for what a round does a few times, not in a search.
    pub(super) fn sure_level(&mut self, matrix: &[f64]) -> Information {
        self.evaluate(matrix.iter().copied())
    }

    /// [`Kernel::levels_without`], counted but never refused.
    pub(super) fn sure_levels_without(&mut self, pairs: &[Pair<'_>], levels: &mut Vec<Information>) {
        self.sure_levels::<false>(pairs, levels);
    }

    /// [`Kernel::level_without`], counted but never refused.
    pub(super) fn sure_level_without(&mut self, matrix: &[f64], gram: &[f64]) -> Information {
        self.evaluate(without(matrix, gram))
    }

    /// Stops a search that is over the limit, a batch late at most, and one that has not begun yet.
    fn check(&mut self) -> Metered<()> {
        match &self.meter {
            Some(meter) if self.evaluations == 0 => meter.check(),
            Some(meter) if self.unreported >= meter.batch => {
                meter.add(std::mem::take(&mut self.unreported));
                meter.check()
            }
            _ => Ok(()),
        }
    }

    fn evaluate(&mut self, matrix: impl Iterator<Item = f64>) -> Information {
        self.evaluations += 1;
        self.unreported += 1;
        self.work.clear();
        self.work.extend(matrix);
        let nats = log_det_in_place(&mut self.work, &mut self.column)
            .expect("a checked round keeps every ridge Gram matrix positive definite");
        Information::from_nats(nats)
    }
}

fn with(matrix: &[f64], gram: &[f64]) -> impl Iterator<Item = f64> {
    matrix.iter().zip(gram).map(|(m, g)| m + g)
}

fn without(matrix: &[f64], gram: &[f64]) -> impl Iterator<Item = f64> {
    matrix.iter().zip(gram).map(|(m, g)| m - g)
}

/// The meter misses nothing, whichever way a search ends.
impl Drop for Kernel {
    fn drop(&mut self) {
        if let Some(meter) = &self.meter {
            meter.add(self.unreported);
        }
    }
}
