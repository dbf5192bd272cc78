//! Cholesky factors of positive definite matrices, with every sum in a fixed order.
//!
//! All loops update entries one by one in an order that does not depend on the CPU. A compiler may put
//! neighbouring entries into one vector register, but never splits a sum. There is no fused multiply-add, and
//! logarithms come from `libm`, so a log determinant has the same bits on every machine.

use fearless_simd::Level;

use super::gram::{Gram, packed_len};
use super::inverse::{self, LEAST_WIDE};

/// The matrix is not positive definite: the pivot of some row is not above zero.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("matrix is not positive definite: pivot {pivot} at row {row}")]
pub struct NotPositive {
    pub row: usize,
    pub pivot: f64,
}

/// The lower triangular `L` with `L L' = V`, packed by rows. Vectors must have its dimension, or its methods panic.
///
/// ```
/// use truthfed::statistics::{Factor, Gram};
/// let factor = Factor::new(&Gram::from_rows(&[vec![4.0, 0.0], vec![0.0, 9.0]])?)?;
/// assert!((factor.log_det() - 36.0_f64.ln()).abs() < 1e-12);
/// assert_eq!(factor.solve(&[4.0, 18.0]), [1.0, 2.0]);
/// assert!((factor.quadratic_form(&[0.0, 3.0]) - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    dimension: usize,
    lower: Vec<f64>,
}

impl Factor {
    /// Factorises a positive definite matrix in O(d^3).
    pub fn new(matrix: &Gram) -> Result<Factor, NotPositive> {
        let dimension = matrix.dimension();
        let mut lower = matrix.lower().to_vec();
        if dimension < LEAST_WIDE {
            factorise(dimension, &mut lower)?;
        } else {
            inverse::factorise(Level::new(), dimension, &mut lower)?;
        }
        Ok(Factor { dimension, lower })
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    pub fn log_det(&self) -> f64 {
        (0..self.dimension).map(|i| 2.0 * libm::log(self.diagonal(i))).sum()
    }

    /// `V^-1 b`, by two triangular solves.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = self.solve_lower(b);
        for i in (0..self.dimension).rev() {
            x[i] /= self.diagonal(i);
            let (above, xi) = x.split_at_mut(i);
            for (xj, l) in above.iter_mut().zip(&self.lower[packed_len(i)..]) {
                *xj -= l * xi[0];
            }
        }
        x
    }

    /// `L^-1 b`, by forward substitution.
    pub fn solve_lower(&self, b: &[f64]) -> Vec<f64> {
        assert_eq!(b.len(), self.dimension, "the vector must fit the factor");
        let mut y = b.to_vec();
        for i in 0..self.dimension {
            let row = &self.lower[packed_len(i)..];
            let mut sum = y[i];
            for (l, known) in row.iter().zip(&y[..i]) {
                sum -= l * known;
            }
            y[i] = sum / row[i];
        }
        y
    }

    /// `L x`: of independent standard normal numbers, normal ones with the covariance `V`.
    pub fn times_lower(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.dimension, "the vector must fit the factor");
        let row = |i: usize| self.lower[packed_len(i)..=packed_len(i) + i].iter().zip(x).map(|(l, x)| l * x).sum();
        (0..self.dimension).map(row).collect()
    }

    /// `x' V^-1 x`, the squared length of `x` in the norm of `V^-1`.
    pub fn quadratic_form(&self, x: &[f64]) -> f64 {
        self.solve_lower(x).iter().map(|y| y * y).sum()
    }

    pub(crate) fn inverse_diagonal(&self) -> impl Iterator<Item = f64> {
        let mut unit = vec![0.0; self.dimension];
        (0..self.dimension).map(move |i| {
            unit[i] = 1.0;
            let entry = self.quadratic_form(&unit);
            unit[i] = 0.0;
            entry
        })
    }

    /// The rows of `V^-1`, one after another; exactly symmetric.
    pub(crate) fn inverse(&self) -> Vec<f64> {
        match self.dimension {
            small @ ..LEAST_WIDE => self.small_inverse(small),
            large => inverse::inverse(Level::new(), large, &self.lower),
        }
    }

    fn small_inverse(&self, d: usize) -> Vec<f64> {
        let mut inverse = vec![0.0; d * d];
        let mut unit = vec![0.0; d];
        for i in 0..d {
            unit[i] = 1.0;
            for (j, value) in self.solve(&unit).into_iter().enumerate().take(i + 1) {
                inverse[i * d + j] = value;
                inverse[j * d + i] = value;
            }
            unit[i] = 0.0;
        }
        inverse
    }

    fn diagonal(&self, i: usize) -> f64 {
        self.lower[packed_len(i) + i]
    }
}

/// The packed Cholesky factor of a packed matrix, in its place.
fn factorise(dimension: usize, lower: &mut [f64]) -> Result<(), NotPositive> {
    for i in 0..dimension {
        for j in 0..=i {
            let (row_i, row_j) = (packed_len(i), packed_len(j));
            let mut sum = lower[row_i + j];
            for k in 0..j {
                sum -= lower[row_i + k] * lower[row_j + k];
            }
            if i > j {
                lower[row_i + j] = sum / lower[row_j + j];
            } else if sum > 0.0 {
                lower[row_i + i] = sum.sqrt();
            } else {
                return Err(NotPositive { row: i, pivot: sum });
            }
        }
    }
    Ok(())
}

/// The log determinant of a packed matrix, which is overwritten; `None` when a pivot is not above zero.
///
/// Square-root free elimination, column by column: the innermost loop runs along a row, so it
/// vectorizes without regrouping any sum. `column` is scratch space whose length is the dimension.
pub(crate) fn log_det_in_place(matrix: &mut [f64], column: &mut [f64]) -> Option<f64> {
    let dimension = column.len();
    let (mut product, mut sum) = (1.0_f64, 0.0);
    for j in 0..dimension {
        let pivot = matrix[packed_len(j) + j];
        if pivot.is_nan() || pivot <= 0.0 {
            return None;
        }
        product *= pivot;
        // One logarithm serves many pivots. One more pivot between 1e-168 and 1e168 cannot leave the range of floats.
        if !(1e-140..1e140).contains(&product) {
            sum += libm::log(product);
            product = 1.0;
        }
        let scale = 1.0 / pivot;
        let mut start = packed_len(j + 1);
        for i in j + 1..dimension {
            let row = &mut matrix[start..=start + i];
            column[i] = row[j];
            let factor = row[j] * scale;
            for (entry, c) in row[j + 1..].iter_mut().zip(&column[j + 1..=i]) {
                *entry -= factor * c;
            }
            start += i + 1;
        }
    }
    Some(sum + libm::log(product))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Stream;
    use crate::statistics::{dot, levels};

    /// A positive definite matrix made of more outer products than rows.
    fn matrix(dimension: usize, seed: u64) -> Gram {
        let mut stream = Stream::new(seed, 0);
        let mut gram = Gram::zeros(dimension).unwrap();
        for _ in 0..dimension + 3 {
            gram.add_outer(&stream.normals(dimension));
        }
        gram.ridge(0.1)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
    }

    /// By Gaussian elimination with pivoting on the whole matrix.
    fn eliminated_log_det(gram: &Gram) -> f64 {
        let mut rows = gram.rows();
        let mut log_det = 0.0;
        while let Some(at) = (0..rows.len()).max_by(|&a, &b| rows[a][0].abs().total_cmp(&rows[b][0].abs())) {
            let pivot = rows.swap_remove(at);
            log_det += libm::log(pivot[0].abs());
            for row in &mut rows {
                let factor = row.remove(0) / pivot[0];
                row.iter_mut().zip(&pivot[1..]).for_each(|(entry, p)| *entry -= factor * p);
            }
        }
        log_det
    }

    #[test]
    fn both_log_dets_agree_with_gaussian_elimination() {
        for dimension in [1, 2, 3, 5, 8, 25, 64, 200, 512] {
            let gram = matrix(dimension, dimension as u64);
            let expected = eliminated_log_det(&gram);
            assert!(close(Factor::new(&gram).unwrap().log_det(), expected), "d = {dimension}");
            let in_place = log_det_in_place(&mut gram.lower().to_vec(), &mut vec![0.0; dimension]);
            assert!(close(in_place.unwrap(), expected), "d = {dimension}");
        }
    }

    #[test]
    fn solves_and_forms_agree_with_the_matrix() {
        for dimension in [1, 2, 5, 25, 100] {
            let gram = matrix(dimension, 7);
            let factor = Factor::new(&gram).unwrap();
            let b = Stream::new(8, 0).normals(dimension);
            let x = factor.solve(&b);
            for (row, expected) in gram.rows().iter().zip(&b) {
                assert!(close(dot(row, &x), *expected), "d = {dimension}");
            }
            assert!(close(factor.quadratic_form(&b), dot(&b, &x)));
            let inverse = factor.inverse();
            assert!(close(dot(&inverse[..dimension], &b), x[0]));
            let diagonal = (0..dimension).map(|i| inverse[i * dimension + i]);
            assert!(diagonal.zip(factor.inverse_diagonal()).all(|(a, b)| close(a, b)));
        }
    }

    fn bits(numbers: &[f64]) -> Vec<u64> {
        numbers.iter().map(|number| number.to_bits()).collect()
    }

    #[test]
    fn every_width_gives_the_factor_and_the_inverse_of_plain_loops() {
        for dimension in (1..=41).chain([63, 64, 65, 100, 130]) {
            for seed in 0..4 {
                let gram = matrix(dimension, seed);
                let mut plain = gram.lower().to_vec();
                factorise(dimension, &mut plain).unwrap();
                let factor = Factor { dimension, lower: plain };
                for (name, level) in levels() {
                    let mut wide = gram.lower().to_vec();
                    inverse::factorise(level, dimension, &mut wide).unwrap();
                    assert_eq!(bits(&wide), bits(&factor.lower), "{name}, d = {dimension}");
                    let wide = inverse::inverse(level, dimension, &wide);
                    assert_eq!(bits(&wide), bits(&factor.small_inverse(dimension)), "{name}, d = {dimension}");
                }
            }
        }
    }

    #[test]
    fn every_width_refuses_what_plain_loops_refuse() {
        for dimension in 1..=33 {
            for row in 0..dimension {
                for entry in [0.0, -1.0, f64::NAN] {
                    let mut lower = matrix(dimension, 1).lower().to_vec();
                    lower[packed_len(row) + row] = entry;
                    let plain = factorise(dimension, &mut lower.clone()).unwrap_err();
                    for (name, level) in levels() {
                        let wide = inverse::factorise(level, dimension, &mut lower.clone()).unwrap_err();
                        let same = wide.row == plain.row && wide.pivot.to_bits() == plain.pivot.to_bits();
                        assert!(same || entry.is_nan(), "{name}, d = {dimension}: {wide:?} and {plain:?}");
                        assert_eq!(wide.row, plain.row);
                    }
                }
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        let gram = Gram::from_rows(&[[1.0, 2.0], [2.0, 1.0]]).unwrap();
        assert_eq!(Factor::new(&gram), Err(NotPositive { row: 1, pivot: -3.0 }));
        assert_eq!(log_det_in_place(&mut gram.lower().to_vec(), &mut [0.0; 2]), None);
    }

    #[test]
    fn determinants_beyond_the_range_of_floats_have_a_log() {
        let huge = Gram::zeros(300).unwrap().ridge(1e14);
        let log_det = log_det_in_place(&mut huge.lower().to_vec(), &mut vec![0.0; 300]).unwrap();
        assert!(close(log_det, 300.0 * libm::log(1e14)));
    }
}
