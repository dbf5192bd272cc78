//! The one place where an auction evaluates log determinants.
//!
//! Every mechanism asks a [`Kernel`] for the information level of a matrix, alone, with one client's
//! Gram matrix added, or with it taken away. The kernel counts what it is asked.

use super::Information;
use crate::statistics::log_det_in_place;

/// Evaluates and counts log determinants of packed matrices of one dimension.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    work: Vec<f64>,
    column: Vec<f64>,
    pub(super) evaluations: u64,
}

impl Kernel {
    pub(super) fn new(dimension: usize) -> Kernel {
        Kernel { work: Vec::new(), column: vec![0.0; dimension], evaluations: 0 }
    }

    pub(super) fn level(&mut self, matrix: &[f64]) -> Information {
        self.evaluate(matrix.iter().copied())
    }

    /// log det(matrix + gram).
    pub(super) fn level_with(&mut self, matrix: &[f64], gram: &[f64]) -> Information {
        self.evaluate(matrix.iter().zip(gram).map(|(m, g)| m + g))
    }

    /// log det(matrix - gram).
    pub(super) fn level_without(&mut self, matrix: &[f64], gram: &[f64]) -> Information {
        self.evaluate(matrix.iter().zip(gram).map(|(m, g)| m - g))
    }

    fn evaluate(&mut self, matrix: impl Iterator<Item = f64>) -> Information {
        self.evaluations += 1;
        self.work.clear();
        self.work.extend(matrix);
        let nats = log_det_in_place(&mut self.work, &mut self.column)
            .expect("a checked round keeps every ridge Gram matrix positive definite");
        Information::from_nats(nats)
    }
}
