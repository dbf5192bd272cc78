//! Gram matrices: symmetric, positive semi-definite, stored as a packed lower triangle.
//!
//! Row `i` of the triangle holds columns `0..=i`, rows one after another. A [`Gram`] is always finite,
//! and within [`MAX_ENTRY`] unless it is the sum of many. [`Gram::negativity`] checks whether it is positive
//! semi-definite: a matrix written with few decimals is so only up to rounding.

use fearless_simd::{Level, dispatch};
use serde::{Deserialize, Serialize};

use super::{Factor, MAX_DIMENSION, factor::log_det_in_place};

/// Largest absolute value of an entry from outside. Sums of 10^7 such matrices and their products stay far from overflow,
/// and the spacing of floats there is still below 1.
pub const MAX_ENTRY: f64 = 1e15;
/// Relative difference of mirrored entries that counts as rounding: ten significant digits pass.
const ASYMMETRY: f64 = 1e-9;
/// Added to the trace when errors are measured against it. Products of numbers below 1e-154 underflow, each with an
/// absolute error of up to 1e-323. A small fraction of this constant exceeds any number of such errors, and the constant
/// itself vanishes beside any trace above 1e-280.
const UNDERFLOW: f64 = 1e-296;

/// A symmetric matrix, the sum of outer products x x'. Serialised as its packed lower triangle.
///
/// ```
/// use truthfed::statistics::Gram;
/// let gram = Gram::from_rows(&[vec![2.0, 1.0], vec![1.0, 3.0]])?;
/// assert_eq!(gram.lower(), [2.0, 1.0, 3.0]);
/// assert_eq!(gram.trace(), 5.0);
/// # Ok::<(), truthfed::statistics::GramError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Vec<f64>", try_from = "Vec<f64>")]
pub struct Gram {
    dimension: usize,
    lower: Vec<f64>,
}

/// Why numbers are not a Gram matrix. All are the caller's to fix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GramError {
    #[error("dimension {0} is outside 1..=512")]
    Dimension(usize),
    #[error("row {row} has {got} entries, expected {expected}")]
    WrongSize { row: usize, got: usize, expected: usize },
    #[error("entry ({row}, {column}) is {value}: it must be finite and at most 1e15 in size")]
    OutOfRange { row: usize, column: usize, value: f64 },
    /// Mirrored entries differ by more than 1e-9 (relative).
    #[error("not symmetric: entry ({row}, {column}) is {value}, its mirror is {mirror}")]
    NotSymmetric { row: usize, column: usize, value: f64, mirror: f64 },
}

impl Gram {
    pub fn zeros(dimension: usize) -> Result<Gram, GramError> {
        check_dimension(dimension)?;
        Ok(Gram { dimension, lower: vec![0.0; packed_len(dimension)] })
    }

    /// Reads all rows of a matrix that is symmetric within 1e-9 (relative).
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Gram, GramError> {
        let dimension = rows.len();
        check_dimension(dimension)?;
        let mut largest = 0.0_f64;
        for (i, row) in rows.iter().enumerate() {
            let row = row.as_ref();
            if row.len() != dimension {
                return Err(GramError::WrongSize { row: i, got: row.len(), expected: dimension });
            }
            for (j, &value) in row.iter().enumerate() {
                check_entry(i, j, value, MAX_ENTRY)?;
                largest = largest.max(value.abs());
            }
        }
        let mut lower = Vec::with_capacity(packed_len(dimension));
        for (i, row) in rows.iter().enumerate() {
            for (j, other) in rows[..=i].iter().enumerate() {
                let (value, mirror) = (row.as_ref()[j], other.as_ref()[i]);
                let allowed = ASYMMETRY * value.abs().max(mirror.abs()) + f64::EPSILON * largest;
                if (value - mirror).abs() > allowed {
                    return Err(GramError::NotSymmetric { row: i, column: j, value, mirror });
                }
                lower.push(value);
            }
        }
        Ok(Gram { dimension, lower })
    }

    /// Reads a packed lower triangle, row by row.
    pub fn from_lower(dimension: usize, lower: Vec<f64>) -> Result<Gram, GramError> {
        check_dimension(dimension)?;
        Gram::packed(dimension, lower, MAX_ENTRY)
    }

    /// Reads back the packed triangle of a sum, whose entries may exceed [`MAX_ENTRY`].
    pub(crate) fn from_sums(lower: Vec<f64>) -> Result<Gram, GramError> {
        Gram::packed(fitting_dimension(&lower), lower, f64::MAX)
    }

    /// A packed triangle of that dimension, whose entries are at most `most` in size.
    fn packed(dimension: usize, lower: Vec<f64>, most: f64) -> Result<Gram, GramError> {
        let (got, expected) = (lower.len(), packed_len(dimension));
        if got != expected {
            return Err(GramError::WrongSize { row: dimension, got, expected });
        }
        let places = (0..dimension).flat_map(|row| (0..=row).map(move |column| (row, column)));
        for ((row, column), &value) in places.zip(&lower) {
            check_entry(row, column, value, most)?;
        }
        Ok(Gram { dimension, lower })
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    pub fn rows(&self) -> Vec<Vec<f64>> {
        let at = |i: usize, j: usize| self.lower[packed_len(i.max(j)) + i.min(j)];
        (0..self.dimension).map(|i| (0..self.dimension).map(|j| at(i, j)).collect()).collect()
    }

    /// The sum of the diagonal: the sum of squared norms of the contexts.
    pub fn trace(&self) -> f64 {
        (0..self.dimension).map(|i| self.lower[packed_len(i) + i]).sum()
    }

    /// The determinant: 0 if this is singular, at most the largest float.
    pub fn det(&self) -> f64 {
        Factor::new(self).map_or(0.0, |factor| libm::exp(factor.log_det()).min(f64::MAX))
    }

    /// Adds x x'; `x` must have this dimension.
    pub(crate) fn add_outer(&mut self, x: &[f64]) {
        match x.len() {
            // Lengths that the compiler knows.
            1 => add_outer(&mut self.lower, &x[..1]),
            2 => add_outer(&mut self.lower, &x[..2]),
            3 => add_outer(&mut self.lower, &x[..3]),
            4 => add_outer(&mut self.lower, &x[..4]),
            5 => add_outer(&mut self.lower, &x[..5]),
            6 => add_outer(&mut self.lower, &x[..6]),
            7 => add_outer(&mut self.lower, &x[..7]),
            8 => add_outer(&mut self.lower, &x[..8]),
            _ => dispatch!(Level::new(), _simd => add_outer(&mut self.lower, x)),
        }
    }

    pub(crate) fn add(&mut self, other: &Gram) {
        self.lower.iter_mut().zip(&other.lower).for_each(|(entry, x)| *entry += x);
    }

    /// This matrix plus `ridge` on the diagonal.
    pub fn ridge(&self, ridge: f64) -> Gram {
        let mut sum = self.clone();
        for i in 0..self.dimension {
            sum.lower[packed_len(i) + i] += ridge;
        }
        sum
    }

    /// The scale against which errors of this matrix are measured: its trace, kept above 0.
    pub(crate) fn scale(&self) -> f64 {
        self.trace().max(0.0) + UNDERFLOW
    }

    /// A bound on how far below zero an eigenvalue may lie: 0 for the zero matrix, about rounding for a sum of outer
    /// products. `None` if it exceeds `tolerance` times the trace: then the matrix is not positive semi-definite.
    ///
    /// It searches between 1e-14, which is about the rounding of a factorization, and the tolerance, for the smallest
    /// ridge that makes all pivots positive, to within a factor of 1.5.
    pub fn negativity(&self, tolerance: f64) -> Option<f64> {
        if self.lower.iter().all(|&entry| entry == 0.0) {
            return Some(0.0);
        }
        let mut column = vec![0.0; self.dimension];
        let scale = self.scale();
        let mut suffices = |shift: f64| log_det_in_place(&mut self.ridge(shift * scale).lower, &mut column).is_some();
        let (mut low, mut high) = (1e-14, tolerance);
        if suffices(low) {
            return Some(low * scale);
        }
        if !suffices(high) {
            return None;
        }
        while high > 1.5 * low {
            let middle = (low * high).sqrt();
            (low, high) = if suffices(middle) { (low, middle) } else { (middle, high) };
        }
        Some(high * scale)
    }

    /// Whether the rank of this positive semi-definite matrix exceeds `most`: whether elimination with the largest pivot
    /// first still finds a pivot above `least` after `most` steps.
    pub(crate) fn exceeds_rank(&self, most: usize, least: f64) -> bool {
        let mut rows = self.rows();
        for _ in 0..most {
            let Some(at) = (0..rows.len()).max_by(|&a, &b| rows[a][a].total_cmp(&rows[b][b])) else { break };
            // The last row and column replace the pivot's.
            let mut chosen = rows.swap_remove(at);
            let pivot = chosen.swap_remove(at);
            if pivot <= least {
                return false;
            }
            for row in &mut rows {
                let factor = row.swap_remove(at) / pivot;
                row.iter_mut().zip(&chosen).for_each(|(entry, c)| *entry -= factor * c);
            }
        }
        rows.iter().enumerate().any(|(i, row)| row[i] > least)
    }
}

impl From<Gram> for Vec<f64> {
    fn from(gram: Gram) -> Vec<f64> {
        gram.lower
    }
}

/// A packed lower triangle of d (d + 1) / 2 entries, checked as by [`Gram::from_lower`].
impl TryFrom<Vec<f64>> for Gram {
    type Error = GramError;

    fn try_from(lower: Vec<f64>) -> Result<Gram, GramError> {
        Gram::from_lower(fitting_dimension(&lower), lower)
    }
}

#[inline(always)]
fn add_outer(lower: &mut [f64], x: &[f64]) {
    let mut rest = lower;
    for (i, xi) in x.iter().enumerate() {
        let (row, below) = rest.split_at_mut(i + 1);
        for (entry, xj) in row.iter_mut().zip(x) {
            *entry += xi * xj;
        }
        rest = below;
    }
}

/// Entries in the lower triangle of a matrix with `dimension` rows; also where its next row starts.
pub(crate) const fn packed_len(dimension: usize) -> usize {
    dimension * (dimension + 1) / 2
}

/// The largest dimension whose triangle has at most this many entries.
fn fitting_dimension(lower: &[f64]) -> usize {
    (1..=MAX_DIMENSION).take_while(|&d| packed_len(d) <= lower.len()).last().unwrap_or(1)
}

fn check_dimension(dimension: usize) -> Result<(), GramError> {
    if (1..=MAX_DIMENSION).contains(&dimension) { Ok(()) } else { Err(GramError::Dimension(dimension)) }
}

fn check_entry(row: usize, column: usize, value: f64, most: f64) -> Result<(), GramError> {
    if value.abs() <= most { Ok(()) } else { Err(GramError::OutOfRange { row, column, value }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Stream;

    const TOLERANCE: f64 = 1e-5;

    fn gram(rows: &[[f64; 2]]) -> Gram {
        Gram::from_rows(rows).unwrap()
    }

    #[test]
    fn rows_come_back_as_they_went_in() {
        let rows = vec![vec![4.0, 1.0, 2.0], vec![1.0, 5.0, 3.0], vec![2.0, 3.0, 6.0]];
        assert_eq!(Gram::from_rows(&rows).unwrap().rows(), rows);
    }

    #[test]
    fn bad_matrices_are_refused_with_the_place() {
        let refused = |rows: &[&[f64]]| Gram::from_rows(rows).unwrap_err().to_string();
        assert_eq!(refused(&[]), "dimension 0 is outside 1..=512");
        assert_eq!(Gram::zeros(513), Err(GramError::Dimension(513)));
        assert_eq!(refused(&[&[1.0, 0.0], &[0.0]]), "row 1 has 1 entries, expected 2");
        assert!(refused(&[&[1.0, f64::NAN], &[0.0, 1.0]]).starts_with("entry (0, 1) is NaN"));
        assert!(refused(&[&[2e15]]).ends_with("it must be finite and at most 1e15 in size"));
        assert!(refused(&[&[1.0, 0.5], &[0.500_001, 1.0]]).starts_with("not symmetric: entry (1, 0)"));
        assert!(Gram::from_rows(&[[1.0, 0.5], [0.5 + 1e-12, 1.0]]).is_ok());
        assert!(Gram::from_lower(2, vec![1.0, 0.0]).is_err());
    }

    #[test]
    fn only_a_positive_semi_definite_matrix_has_a_small_negativity() {
        assert_eq!(gram(&[[0.0, 0.0], [0.0, 0.0]]).negativity(TOLERANCE), Some(0.0));
        assert!(gram(&[[1.0, 1.0], [1.0, 1.0]]).negativity(TOLERANCE).unwrap() < 1e-13);
        assert!(gram(&[[0.3904, 0.7713], [0.7713, 1.5238]]).negativity(TOLERANCE).unwrap() < 2e-5);
        assert_eq!(gram(&[[1.0, 2.0], [2.0, 1.0]]).negativity(TOLERANCE), None);
        assert_eq!(gram(&[[-1.0, 0.0], [0.0, 1.0]]).negativity(TOLERANCE), None);
        assert_eq!(gram(&[[-1e-300, 0.0], [0.0, 0.0]]).negativity(TOLERANCE), None);
        let mut underflowing = Gram::zeros(3).unwrap();
        underflowing.add_outer(&[3e-162, 4e-162, 5e-162]);
        assert!(underflowing.negativity(TOLERANCE).unwrap() < 1e-300);
    }

    #[test]
    fn the_rank_is_the_number_of_directions() {
        for (rank, dimension) in [(0, 1), (1, 1), (1, 3), (2, 3), (3, 3), (4, 9), (40, 64), (63, 64)] {
            let mut stream = Stream::new(5, rank as u64);
            let mut gram = Gram::zeros(dimension).unwrap();
            let contexts: Vec<_> = (0..rank).map(|_| stream.context(dimension)).collect();
            contexts.iter().cycle().take(3 * rank).for_each(|context| gram.add_outer(context));
            let exceeds = |most| gram.exceeds_rank(most, 1e-9 * gram.trace());
            assert!(!exceeds(rank), "{rank} of {dimension}");
            assert!(rank == 0 || exceeds(rank - 1), "{rank} of {dimension}");
        }
        assert!(!gram(&[[1.0, 0.0], [0.0, 1e-12]]).exceeds_rank(1, 1e-9));
    }

    #[test]
    fn a_sum_that_left_the_range_of_one_matrix_is_read_back() {
        assert_eq!(Gram::from_sums(vec![5e20]).unwrap().lower(), [5e20]);
        assert!(matches!(Gram::from_sums(vec![1.0, 2.0]), Err(GramError::WrongSize { got: 2, expected: 1, .. })));
        let broken = Gram::from_sums(vec![1.0, f64::INFINITY, 1.0]);
        assert!(matches!(broken, Err(GramError::OutOfRange { row: 1, column: 0, .. })));
    }

    #[test]
    fn outer_products_of_every_length_are_added_entry_by_entry() {
        for dimension in (1..=40).chain([64, 65, 100]) {
            let mut stream = Stream::new(6, dimension as u64);
            let mut gram = Gram::zeros(dimension).unwrap();
            let mut plain = vec![0.0; packed_len(dimension)];
            for _ in 0..20 {
                let x = stream.normals(dimension);
                gram.add_outer(&x);
                for i in 0..dimension {
                    (0..=i).for_each(|j| plain[packed_len(i) + j] += x[i] * x[j]);
                }
            }
            assert!(gram.lower.iter().zip(&plain).all(|(a, b)| a.to_bits() == b.to_bits()), "d = {dimension}");
        }
    }

    #[test]
    fn a_ridge_adds_to_the_diagonal_only() {
        assert_eq!(gram(&[[1.0, 2.0], [2.0, 5.0]]).ridge(0.5).lower(), [1.5, 2.0, 5.5]);
    }
}
