//! Mean and width of up to 32 arms at once, each arm in its own lane of vector registers.
//!
//! Each lane does what the formulas do with one arm, in one order and without fused multiply-add: the mean is the sum of
//! theta_i x_i, and x' V^-1 x is the sum over rows i of x_i (2 below_i + V^-1_ii x_i), where below_i sums V^-1_ij x_j over j < i (the
//! matrix is symmetric, so what is below the diagonal counts twice). So the bits are those of one arm alone, at every
//! width of the registers.
//!
//! Several groups of arms and several rows are summed together: each load serves many of them, and while one sum waits for
//! its last term, others go on. As in `statistics/lanes.rs`, everything within `dispatch!` is `#[inline(always)]`.

use std::cell::Cell;

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, f64x8};

use crate::statistics::{LANES, Lane, turned};

/// Groups of eight arms that are scored together.
const GROUPS: usize = 4;
/// Up to this dimension everything stays in registers (of the widest kind).
const SMALL: usize = 8;
/// Arms that are scored together.
pub(super) const BATCH: usize = GROUPS * LANES;

/// One coordinate of all arms of a batch.
type Wide = [Lane; GROUPS];

/// Scratch space, kept by its thread: choosing and learning allocate nothing but the first time.
#[derive(Default)]
pub(super) struct Scratch {
    coordinates: Vec<Wide>,
    pub(super) scores: Vec<f64>,
    pub(super) image: Vec<f64>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// Takes it for a while; within that, somebody else gets another one.
    pub(super) fn with<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let result = work(&mut scratch);
        SCRATCH.set(Some(scratch));
        result
    }
}

/// The means and widths of a batch of arms.
#[derive(Debug, Default)]
pub(super) struct Estimated {
    means: Wide,
    widths: Wide,
}

impl Estimated {
    pub(super) fn means(&self) -> &[f64] {
        self.means.as_flattened()
    }

    /// 0 where rounding makes x' V^-1 x negative; what is not a number stays so.
    pub(super) fn widths(&self) -> &[f64] {
        self.widths.as_flattened()
    }

    /// mean + alpha * width
    pub(super) fn scores(&self, alpha: f64) -> [f64; BATCH] {
        let mut scores = [0.0; BATCH];
        for ((score, mean), width) in scores.iter_mut().zip(self.means()).zip(self.widths()) {
            *score = mean + alpha * width;
        }
        scores
    }

    #[inline(always)]
    fn put<S: Simd>(&mut self, simd: S, group: usize, mean: f64x8<S>, form: f64x8<S>) {
        let zero = f64x8::splat(simd, 0.0);
        mean.store_slice(&mut self.means[group]);
        form.simd_lt(zero).select(zero, form.sqrt()).store_slice(&mut self.widths[group]);
    }
}

/// The estimates of one to [`BATCH`] arms, by V^-1 (all rows) and theta. All have the dimension of theta.
pub(super) fn estimated(
    level: Level,
    inverse: &[f64],
    theta: &[f64],
    arms: &[&[f64]],
    scratch: &mut Scratch,
) -> Estimated {
    let coordinates = &mut scratch.coordinates;
    if theta.len() > SMALL && coordinates.len() < theta.len() {
        coordinates.resize(theta.len(), Wide::default());
    }
    dispatch!(level, simd => evaluate(simd, inverse, theta, arms, coordinates))
}

#[inline(always)]
fn evaluate<S: Simd>(simd: S, inverse: &[f64], theta: &[f64], arms: &[&[f64]], coordinates: &mut [Wide]) -> Estimated {
    match theta.len() {
        1 => small::<S, 1>(simd, inverse, theta, arms),
        2 => small::<S, 2>(simd, inverse, theta, arms),
        3 => small::<S, 3>(simd, inverse, theta, arms),
        4 => small::<S, 4>(simd, inverse, theta, arms),
        5 => small::<S, 5>(simd, inverse, theta, arms),
        6 => small::<S, 6>(simd, inverse, theta, arms),
        7 => small::<S, 7>(simd, inverse, theta, arms),
        SMALL => small::<S, SMALL>(simd, inverse, theta, arms),
        d => large(simd, inverse, theta, arms, &mut coordinates[..d]),
    }
}

/// A group that is not full repeats its first.
#[inline(always)]
fn filled<'a>(group: &[&'a [f64]]) -> [&'a [f64]; LANES] {
    let mut full = [group[0]; LANES];
    full[..group.len()].copy_from_slice(group);
    full
}

#[inline(always)]
fn small<S: Simd, const D: usize>(simd: S, inverse: &[f64], theta: &[f64], arms: &[&[f64]]) -> Estimated {
    let zero = f64x8::splat(simd, 0.0);
    let (inverse, theta) = (&inverse[..D * D], &theta[..D]);
    let mut estimated = Estimated::default();
    for (group, arms) in arms.chunks(LANES).enumerate() {
        if let [arm] = arms {
            (estimated.means[group][0], estimated.widths[group][0]) = alone::<D>(inverse, theta, arm);
            continue;
        }
        let mut coordinates = [Lane::default(); D];
        for (lane, arm) in filled(arms).into_iter().enumerate() {
            let arm = &arm[..D];
            for i in 0..D {
                coordinates[i][lane] = arm[i];
            }
        }
        let mut x = [zero; SMALL];
        for i in 0..D {
            x[i] = f64x8::from_slice(simd, &coordinates[i]);
        }
        let (mut mean, mut form) = (zero, zero);
        // Written out, for the compiler to keep everything in registers.
        macro_rules! rows {
            ($($i:literal: $($j:literal)*),*) => {
                $(if $i < D {
                    let below = zero $(+ f64x8::splat(simd, inverse[$i * D + $j]) * x[$j])*;
                    mean += f64x8::splat(simd, theta[$i]) * x[$i];
                    form += x[$i] * (below * 2.0 + f64x8::splat(simd, inverse[$i * D + $i]) * x[$i]);
                })*
            };
        }
        rows!(0:, 1: 0, 2: 0 1, 3: 0 1 2, 4: 0 1 2 3, 5: 0 1 2 3 4, 6: 0 1 2 3 4 5, 7: 0 1 2 3 4 5 6);
        estimated.put(simd, group, mean, form);
    }
    estimated
}

/// One arm that is left over takes less alone.
#[inline(always)]
fn alone<const D: usize>(inverse: &[f64], theta: &[f64], x: &[f64]) -> (f64, f64) {
    let x = &x[..D];
    let (mut mean, mut form) = (0.0, 0.0);
    for i in 0..D {
        let mut below = 0.0;
        for j in 0..i {
            below += inverse[i * D + j] * x[j];
        }
        mean += theta[i] * x[i];
        form += x[i] * (2.0 * below + inverse[i * D + i] * x[i]);
    }
    (mean, if form < 0.0 { 0.0 } else { form.sqrt() })
}

#[inline(always)]
fn large<S: Simd>(simd: S, inverse: &[f64], theta: &[f64], arms: &[&[f64]], coordinates: &mut [Wide]) -> Estimated {
    for (group, arms) in arms.chunks(LANES).enumerate() {
        gather(simd, arms, coordinates, group);
    }
    match arms.len().div_ceil(LANES) {
        1 => forms::<S, 1>(simd, inverse, theta, coordinates),
        2 => forms::<S, 2>(simd, inverse, theta, coordinates),
        _ => forms::<S, GROUPS>(simd, inverse, theta, coordinates),
    }
}

/// The coordinates of up to eight arms, turned so that each lane holds one arm.
#[inline(always)]
fn gather<S: Simd>(simd: S, arms: &[&[f64]], coordinates: &mut [Wide], group: usize) {
    let full = filled(arms);
    let last = coordinates.len() - LANES;
    let mut at = 0;
    loop {
        let mut rows = [f64x8::splat(simd, 0.0); LANES];
        for lane in 0..LANES {
            rows[lane] = f64x8::from_slice(simd, &full[lane][at..at + LANES]);
        }
        for (coordinate, lanes) in coordinates[at..at + LANES].iter_mut().zip(turned(rows)) {
            lanes.store_slice(&mut coordinate[group]);
        }
        if at == last {
            return;
        }
        // The last eight may overlap those before.
        at = (at + LANES).min(last);
    }
}

/// What is summed over rows: of each arm its mean and its form.
struct Sums<S: Simd, const G: usize> {
    means: [f64x8<S>; G],
    forms: [f64x8<S>; G],
}

#[inline(always)]
fn forms<S: Simd, const G: usize>(simd: S, inverse: &[f64], theta: &[f64], coordinates: &[Wide]) -> Estimated {
    let zero = f64x8::splat(simd, 0.0);
    let mut sums: Sums<S, G> = Sums { means: [zero; G], forms: [zero; G] };
    let d = theta.len();
    let mut first = 0;
    // Two rows of four groups fit into the registers of AVX-512 only.
    if G < GROUPS || S::f64s::LEN >= LANES {
        while first + 1 < d {
            rows::<S, G, 2>(simd, inverse, theta, coordinates, first, &mut sums);
            first += 2;
        }
    }
    while first < d {
        rows::<S, G, 1>(simd, inverse, theta, coordinates, first, &mut sums);
        first += 1;
    }
    let mut estimated = Estimated::default();
    for group in 0..G {
        estimated.put(simd, group, sums.means[group], sums.forms[group]);
    }
    estimated
}

/// Adds what `R` rows have to say.
#[inline(always)]
fn rows<S: Simd, const G: usize, const R: usize>(
    simd: S,
    inverse: &[f64],
    theta: &[f64],
    coordinates: &[Wide],
    first: usize,
    sums: &mut Sums<S, G>,
) {
    let d = theta.len();
    let mut below = [[f64x8::splat(simd, 0.0); G]; R];
    let before = &coordinates[..first];
    let mut left = [&inverse[..first]; R];
    for row in 0..R {
        left[row] = &inverse[(first + row) * d..][..first];
    }
    for j in 0..first {
        for row in 0..R {
            let entry = f64x8::splat(simd, left[row][j]);
            for group in 0..G {
                below[row][group] += entry * f64x8::from_slice(simd, &before[j][group]);
            }
        }
    }
    for (row, below) in below.iter_mut().enumerate() {
        let i = first + row;
        for j in first..i {
            let entry = f64x8::splat(simd, inverse[i * d + j]);
            for group in 0..G {
                below[group] += entry * f64x8::from_slice(simd, &coordinates[j][group]);
            }
        }
        let (diagonal, theta) = (f64x8::splat(simd, inverse[i * d + i]), f64x8::splat(simd, theta[i]));
        for group in 0..G {
            let x = f64x8::from_slice(simd, &coordinates[i][group]);
            sums.means[group] += theta * x;
            sums.forms[group] += x * (below[group] * 2.0 + diagonal * x);
        }
    }
}
