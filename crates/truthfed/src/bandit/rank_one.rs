//! V^-1 and theta after one observation more, in two passes over the matrix.
//!
//! Sherman-Morrison: with `image = V^-1 x` and `growth = 1 + x' image`, V^-1 loses `image image' / growth`. The first pass sums
//! the image, the second changes each row and adds it to `theta = V^-1 moment` while it is at hand. Rounding alone can make
//! `x' image` negative: then there is nothing left to learn, and all stays. Rows are taken a few at a
//! time, but every sum has the order of one row after another, and nothing is fused: the bits are those of plain loops, at every
//! width of the vector registers.

use fearless_simd::{Level, dispatch};

use crate::statistics::dot;

/// Below this dimension rows are shorter than two of the widest registers, and plain loops take less than choosing instructions.
const LEAST_WIDE: usize = 16;
/// Rows that are summed together.
const ROWS: usize = 4;

/// Changes `inverse` (all rows) and `theta` for the observation `x`, which `moment` has already; `image` is scratch space. All have
/// one dimension. Returns by how much the determinant grew.
pub(super) fn update(
    level: Level,
    inverse: &mut [f64],
    theta: &mut [f64],
    (x, moment): (&[f64], &[f64]),
    image: &mut Vec<f64>,
) -> f64 {
    match x.len() {
        1 => return small::<1>(inverse, theta, x, moment),
        2 => return small::<2>(inverse, theta, x, moment),
        3 => return small::<3>(inverse, theta, x, moment),
        4 => return small::<4>(inverse, theta, x, moment),
        5 => return small::<5>(inverse, theta, x, moment),
        6 => return small::<6>(inverse, theta, x, moment),
        7 => return small::<7>(inverse, theta, x, moment),
        8 => return small::<8>(inverse, theta, x, moment),
        _ => {}
    }
    image.clear();
    image.resize(x.len(), 0.0);
    if x.len() < LEAST_WIDE {
        return pass(inverse, theta, (x, moment), image);
    }
    dispatch!(level, _simd => pass(inverse, theta, (x, moment), image))
}

/// Few dimensions that the compiler knows: it unrolls all loops.
fn small<const D: usize>(inverse: &mut [f64], theta: &mut [f64], x: &[f64], moment: &[f64]) -> f64 {
    let (x, moment) = (&x[..D], &moment[..D]);
    let (rows, _) = inverse.as_chunks_mut::<D>();
    let mut image = [0.0; D];
    for (row, x) in rows.iter().zip(x) {
        for j in 0..D {
            image[j] += x * row[j];
        }
    }
    let growth = 1.0 + dot(x, &image);
    if growth <= 1.0 {
        return 1.0;
    }
    let mut sums = [0.0; D];
    for ((row, u), m) in rows.iter_mut().zip(&image).zip(moment) {
        let factor = u / growth;
        for j in 0..D {
            row[j] -= factor * image[j];
            sums[j] += m * row[j];
        }
    }
    theta.copy_from_slice(&sums);
    growth
}

#[inline(always)]
fn pass(inverse: &mut [f64], theta: &mut [f64], (x, moment): (&[f64], &[f64]), image: &mut [f64]) -> f64 {
    let d = x.len();
    multiply(inverse, x, image);
    let growth = 1.0 + dot(x, image);
    if growth <= 1.0 {
        return 1.0;
    }
    theta.fill(0.0);
    let mut pairs = inverse.chunks_exact_mut(2 * d);
    let rest = d - d % 2;
    for ((pair, u), m) in pairs.by_ref().zip(image.chunks_exact(2)).zip(moment.chunks_exact(2)) {
        let (above, below) = pair.split_at_mut(d);
        let (f, g) = (u[0] / growth, u[1] / growth);
        for (((theta, v), a), b) in theta.iter_mut().zip(&*image).zip(above).zip(below) {
            *a -= f * v;
            *b -= g * v;
            *theta = *theta + m[0] * *a + m[1] * *b;
        }
    }
    for ((row, u), m) in pairs.into_remainder().chunks_exact_mut(d).zip(&image[rest..]).zip(&moment[rest..]) {
        let factor = u / growth;
        for ((theta, v), entry) in theta.iter_mut().zip(&*image).zip(row) {
            *entry -= factor * v;
            *theta += m * *entry;
        }
    }
    growth
}

/// A symmetric matrix times a vector, as a sum of scaled rows.
#[inline(always)]
fn multiply(matrix: &[f64], x: &[f64], product: &mut [f64]) {
    let d = x.len();
    let mut blocks = matrix.chunks_exact(ROWS * d);
    for (block, x) in blocks.by_ref().zip(x.chunks_exact(ROWS)) {
        let [a, b, c, e] = [0, 1, 2, 3].map(|row| &block[row * d..][..d]);
        for ((((sum, a), b), c), e) in product.iter_mut().zip(a).zip(b).zip(c).zip(e) {
            *sum = *sum + x[0] * a + x[1] * b + x[2] * c + x[3] * e;
        }
    }
    for (row, x) in blocks.remainder().chunks_exact(d).zip(&x[d - d % ROWS..]) {
        for (sum, entry) in product.iter_mut().zip(row) {
            *sum += x * entry;
        }
    }
}
