//! Cholesky factors and inverses of larger matrices, many entries at a time.
//!
//! What stands side by side in a vector register belongs to different entries: each entry does what the plain loops of
//! [`super::factor`] do with it, in the same order, without fused multiply-add. So the bits are equal, at every width. As in
//! [`super::lanes`], everything within `dispatch!` is `#[inline(always)]`.

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, f64x8};

use super::factor::NotPositive;
use super::gram::packed_len;
use super::lanes::{LANES, Lane};

/// Below this dimension plain loops take less.
pub(super) const LEAST_WIDE: usize = 16;
/// Rows that are solved together.
const ROWS: usize = 4;

/// The packed Cholesky factor of a packed matrix, in its place.
pub(super) fn factorise(level: Level, dimension: usize, lower: &mut [f64]) -> Result<(), NotPositive> {
    let mut columns = vec![0.0; dimension * dimension];
    dispatch!(level, _simd => rows_in_place(dimension, lower, &mut columns))
}

/// Row after row, by forward substitution. Column k of the factor so far is row k of `columns`, so that what an entry of the row
/// changes lies side by side.
#[inline(always)]
fn rows_in_place(dimension: usize, lower: &mut [f64], columns: &mut [f64]) -> Result<(), NotPositive> {
    for i in 0..dimension {
        let row = &mut lower[packed_len(i)..][..=i];
        for (k, column) in columns.chunks_exact(dimension).take(i).enumerate() {
            let entry = row[k] / column[k];
            row[k] = entry;
            for (later, factor) in row[k + 1..i].iter_mut().zip(&column[k + 1..i]) {
                *later -= entry * factor;
            }
            row[i] -= entry * entry;
        }
        let pivot = row[i];
        if pivot.is_nan() || pivot <= 0.0 {
            return Err(NotPositive { row: i, pivot });
        }
        row[i] = pivot.sqrt();
        row.iter().zip(columns.iter_mut().skip(i).step_by(dimension)).for_each(|(entry, place)| *place = *entry);
    }
    Ok(())
}

/// The rows of the inverse of `L L'`, one after another: eight unit vectors are solved for at once. Exactly symmetric.
pub(super) fn inverse(level: Level, dimension: usize, lower: &[f64]) -> Vec<f64> {
    let mut inverse = vec![0.0; dimension * dimension];
    let mut solutions = vec![[0.0; LANES]; dimension];
    for first in (0..dimension).step_by(LANES) {
        dispatch!(level, simd => solve_units(simd, lower, first, &mut solutions));
        for unit in first..dimension.min(first + LANES) {
            for (j, solution) in solutions[..=unit].iter().enumerate() {
                let value = solution[unit - first];
                inverse[unit * dimension + j] = value;
                inverse[j * dimension + unit] = value;
            }
        }
    }
    inverse
}

/// Solves for the unit vectors from the `first` on, each in its lane; those beyond the dimension are zero.
#[inline(always)]
fn solve_units<S: Simd>(simd: S, lower: &[f64], first: usize, x: &mut [Lane]) {
    let dimension = x.len();
    x.fill([0.0; LANES]);
    for (lane, unit) in x[first..].iter_mut().take(LANES).enumerate() {
        unit[lane] = 1.0;
    }
    // Above the first unit vector everything stays zero.
    let mut row = first;
    while row < dimension {
        match dimension - row {
            1 => forward::<S, 1>(simd, lower, first, row, x),
            2 => forward::<S, 2>(simd, lower, first, row, x),
            3 => forward::<S, 3>(simd, lower, first, row, x),
            _ => forward::<S, ROWS>(simd, lower, first, row, x),
        }
        row += ROWS;
    }
    let mut end = dimension;
    while end > 0 {
        match end {
            1 => backward::<S, 1>(simd, lower, 0, x),
            2 => backward::<S, 2>(simd, lower, 0, x),
            3 => backward::<S, 3>(simd, lower, 0, x),
            _ => backward::<S, ROWS>(simd, lower, end - ROWS, x),
        }
        end = end.saturating_sub(ROWS);
    }
}

/// Forward substitution of `R` rows, with all before them and then with each other.
#[inline(always)]
fn forward<S: Simd, const R: usize>(simd: S, lower: &[f64], first: usize, row: usize, x: &mut [Lane]) {
    let (known, rest) = x[first..].split_at_mut(row - first);
    let mut sums = [f64x8::splat(simd, 0.0); R];
    let mut rows = [&lower[..0]; R];
    for r in 0..R {
        sums[r] = f64x8::from_slice(simd, &rest[r]);
        rows[r] = &lower[packed_len(row + r)..][first..];
    }
    let known_rows = rows.map(|entries| &entries[..known.len()]);
    for (k, known) in known.iter().enumerate() {
        let known = f64x8::from_slice(simd, known);
        for r in 0..R {
            sums[r] -= f64x8::splat(simd, known_rows[r][k]) * known;
        }
    }
    for r in 0..R {
        for k in 0..r {
            sums[r] -= f64x8::splat(simd, rows[r][known.len() + k]) * sums[k];
        }
        sums[r] /= f64x8::splat(simd, rows[r][known.len() + r]);
        sums[r].store_slice(&mut rest[r]);
    }
}

/// Back substitution of the `R` rows from `row` on, the last first, and then of all before them.
#[inline(always)]
fn backward<S: Simd, const R: usize>(simd: S, lower: &[f64], row: usize, x: &mut [Lane]) {
    let (before, rest) = x.split_at_mut(row);
    let mut values = [f64x8::splat(simd, 0.0); R];
    let mut rows = [&lower[..0]; R];
    for r in 0..R {
        values[r] = f64x8::from_slice(simd, &rest[r]);
        rows[r] = &lower[packed_len(row + r)..][..=row + r];
    }
    for r in (0..R).rev() {
        for later in (r + 1..R).rev() {
            values[r] -= f64x8::splat(simd, rows[later][row + r]) * values[later];
        }
        values[r] /= f64x8::splat(simd, rows[r][row + r]);
        values[r].store_slice(&mut rest[r]);
    }
    let rows = rows.map(|entries| &entries[..before.len()]);
    for (j, x) in before.iter_mut().enumerate() {
        let mut value = f64x8::from_slice(simd, x);
        for r in (0..R).rev() {
            value -= f64x8::splat(simd, rows[r][j]) * values[r];
        }
        value.store_slice(x);
    }
}
