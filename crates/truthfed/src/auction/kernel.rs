//! The one place where an auction evaluates log determinants.
//!
//! Every mechanism asks a [`Kernel`] for the information level of a matrix, alone, with one client's
//! Gram matrix added, or with it taken away. The kernel counts what it is asked, and refuses to go on when the
//! round's limit of work is exceeded.

use std::sync::Arc;

use super::Information;
use super::meter::{Meter, Metered};
use crate::statistics::log_det_in_place;

/// Evaluates and counts log determinants of packed matrices of one dimension.
#[derive(Debug)]
pub(super) struct Kernel {
    work: Vec<f64>,
    column: Vec<f64>,
    pub(super) evaluations: u64,
    meter: Option<Arc<Meter>>,
    /// Evaluations that the meter does not know of: it is shared by all threads, and asking it each time would be slow.
    unreported: u64,
}

impl Kernel {
    pub(super) fn new(dimension: usize, meter: Option<Arc<Meter>>) -> Kernel {
        Kernel { work: Vec::new(), column: vec![0.0; dimension], evaluations: 0, meter, unreported: 0 }
    }

    pub(super) fn level(&mut self, matrix: &[f64]) -> Metered<Information> {
        self.check()?;
        Ok(self.evaluate(matrix.iter().copied()))
    }

    /// log det(matrix + gram).
    pub(super) fn level_with(&mut self, matrix: &[f64], gram: &[f64]) -> Metered<Information> {
        self.check()?;
        Ok(self.evaluate(matrix.iter().zip(gram).map(|(m, g)| m + g)))
    }

    /// log det(matrix - gram).
    pub(super) fn level_without(&mut self, matrix: &[f64], gram: &[f64]) -> Metered<Information> {
        self.check()?;
        Ok(self.evaluate(without(matrix, gram)))
    }

    /// [`Kernel::level`], counted but never refused: for what a round does a few times, not in a search.
    pub(super) fn sure_level(&mut self, matrix: &[f64]) -> Information {
        self.evaluate(matrix.iter().copied())
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
