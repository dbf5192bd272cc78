//! Log determinants of eight matrices at once, each in its own lane of vector registers.
//!
//! Each lane does what [`log_det_in_place`](super::log_det_in_place) does with one matrix: the same operations on each entry in
//! the same order, without fused multiply-add, and the logarithm of `libm` operation by operation. So the bits are equal
//! to those of one matrix alone, however wide the registers of the machine are.
//!
//! Entry (i, k) of a matrix is reduced by the pivots 0 to k - 1 in this order. Which entry comes first is free: several are
//! reduced together in registers (a tile of rows and columns), so that each load serves many of them.
//!
//! Everything between `dispatch!` and a vector operation is `#[inline(always)]`: only there the compiler may use the wide
//! registers.

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, f64x8, u64x8};

use super::gram::packed_len;

/// Matrices side by side.
pub(crate) const LANES: usize = 8;
/// Below this dimension a matrix has fewer entries than there are lanes, and one alone takes little.
const LEAST_DIMENSION: usize = 4;
/// Up to this dimension all entries stay in registers (of the widest kind).
const SMALL: usize = 6;
/// Groups of small matrices that are done together: while one waits for a quotient, others go on.
const GROUPS: usize = 8;
/// Rows that are reduced together, by two columns at a time.
const ROWS: usize = 4;

/// One entry of each matrix.
pub(crate) type Lane = [f64; LANES];

/// A matrix, and one that is added to it or taken away: packed, of the same size.
pub(crate) type Pair<'a> = (&'a [f64], &'a [f64]);

/// Scratch space, and the vector instructions of this machine.
#[derive(Debug)]
pub(crate) struct Lanes {
    level: Level,
    scratch: Scratch,
}

#[derive(Debug)]
struct Scratch {
    dimension: usize,
    /// Row after row; after the elimination, entry (i, j) as pivot j found it.
    entries: Vec<Lane>,
    /// The rows that are being reduced, each entry over its pivot.
    scaled: Vec<Lane>,
    /// 1 over each pivot.
    scales: Vec<Lane>,
}

impl Lanes {
    pub(crate) fn new(dimension: usize) -> Lanes {
        let scratch = Scratch { dimension, entries: Vec::new(), scaled: Vec::new(), scales: Vec::new() };
        Lanes { level: Level::new(), scratch }
    }

    /// Log determinants of the sums, or of the differences if `ADD` is false. Those that are not a number have to be evaluated one
    /// by one: their dimension is too small, or there are pivots that are not above zero or far from any that data has.
    pub(crate) fn log_dets<const ADD: bool>(&mut self, pairs: &[Pair<'_>], log_dets: &mut Vec<f64>) {
        let Lanes { level, scratch } = self;
        let size = packed_len(scratch.dimension);
        let fits = |(matrix, gram): &Pair<'_>| matrix.len() == size && gram.len() == size;
        assert!(pairs.iter().all(fits), "bug: the matrices have different dimensions");
        let start = log_dets.len();
        log_dets.resize(start + pairs.len(), f64::NAN);
        if scratch.dimension < LEAST_DIMENSION {
            return;
        }
        for (pairs, log_dets) in pairs.chunks(GROUPS * LANES).zip(log_dets[start..].chunks_mut(GROUPS * LANES)) {
            dispatch!(*level, simd => evaluate::<_, ADD>(simd, scratch, pairs, log_dets));
        }
    }
}

#[inline(always)]
fn evaluate<S: Simd, const ADD: bool>(simd: S, scratch: &mut Scratch, pairs: &[Pair<'_>], log_dets: &mut [f64]) {
    let mut pivots = [Pivots::new(simd); GROUPS];
    match scratch.dimension {
        4 => small::<S, ADD, 4>(simd, scratch, pairs, &mut pivots),
        5 => small::<S, ADD, 5>(simd, scratch, pairs, &mut pivots),
        SMALL => small::<S, ADD, SMALL>(simd, scratch, pairs, &mut pivots),
        _ => large::<S, ADD>(simd, scratch, pairs, &mut pivots),
    }
    for (log_dets, pivots) in log_dets.chunks_mut(LANES).zip(pivots) {
        let lane = pivots.log_dets();
        log_dets.copy_from_slice(&lane[..log_dets.len()]);
    }
}

/// A group that is not full repeats its first.
#[inline(always)]
fn filled<'a>(group: &[Pair<'a>]) -> [Pair<'a>; LANES] {
    let mut full = [group[0]; LANES];
    full[..group.len()].copy_from_slice(group);
    full
}

/// Sums or differences, turned so that each lane holds one matrix.
#[inline(always)]
fn gather<S: Simd, const ADD: bool>(simd: S, pairs: &[Pair<'_>; LANES], entries: &mut [Lane]) {
    let last = entries.len() - LANES;
    let mut at = 0;
    loop {
        let [a, b, c, d, e, f, g, h] = *pairs;
        let columns = turned([
            row::<S, ADD>(simd, a, at),
            row::<S, ADD>(simd, b, at),
            row::<S, ADD>(simd, c, at),
            row::<S, ADD>(simd, d, at),
            row::<S, ADD>(simd, e, at),
            row::<S, ADD>(simd, f, at),
            row::<S, ADD>(simd, g, at),
            row::<S, ADD>(simd, h, at),
        ]);
        for (entry, lane) in entries[at..at + LANES].iter_mut().zip(columns) {
            lane.store_slice(entry);
        }
        if at == last {
            return;
        }
        // The last eight may overlap those before.
        at = (at + LANES).min(last);
    }
}

/// Eight entries of one sum or difference.
#[inline(always)]
fn row<S: Simd, const ADD: bool>(simd: S, (matrix, gram): Pair<'_>, at: usize) -> f64x8<S> {
    let matrix = f64x8::from_slice(simd, &matrix[at..at + LANES]);
    let gram = f64x8::from_slice(simd, &gram[at..at + LANES]);
    if ADD { matrix + gram } else { matrix - gram }
}

/// Eight rows of eight, as columns.
#[inline(always)]
pub(crate) fn turned<S: Simd>(rows: [f64x8<S>; LANES]) -> [f64x8<S>; LANES] {
    shuffled(shuffled(shuffled(rows)))
}

/// One of three perfect shuffles that turn eight rows into eight columns.
#[inline(always)]
fn shuffled<S: Simd>([a, b, c, d, e, f, g, h]: [f64x8<S>; LANES]) -> [f64x8<S>; LANES] {
    [a.zip_low(e), a.zip_high(e), b.zip_low(f), b.zip_high(f), c.zip_low(g), c.zip_high(g), d.zip_low(h), d.zip_high(h)]
}

// Loops over a triangle, written out: a compiler keeps entries in registers only if it can tell all indices, and it does not
// unroll loops whose ends depend on each other. What lies beyond the dimension is left out.

/// Reads the rows of a packed triangle.
macro_rules! load {
    ($d:expr, $rows:ident, $simd:expr, $entries:expr, $($i:literal: $($k:literal)*),*) => {
        $(if $i < $d { $($rows[$i][$k] = f64x8::from_slice($simd, &$entries[$i * ($i + 1) / 2 + $k]);)* })*
    };
}

/// Takes pivot after pivot, and reduces the rows below it.
macro_rules! eliminate {
    ($d:expr, $rows:ident, $pivots:ident, $($j:literal: [$($i:literal: $($k:literal)*),*]),*) => {
        $(if $j < $d {
            let scale = $pivots.take($rows[$j][$j]);
            $(if $i < $d {
                let factor = $rows[$i][$j] * scale;
                $($rows[$i][$k] -= factor * $rows[$k][$j];)*
            })*
            let _ = scale;
        })*
    };
}

/// Elimination in registers.
#[inline(always)]
fn small<S: Simd, const ADD: bool, const D: usize>(
    simd: S,
    scratch: &mut Scratch,
    pairs: &[Pair<'_>],
    pivots: &mut [Pivots<S>; GROUPS],
) {
    let size = packed_len(D);
    scratch.entries.resize(GROUPS * size, [0.0; LANES]);
    for (group, entries) in pairs.chunks(LANES).zip(scratch.entries.chunks_exact_mut(size)) {
        gather::<S, ADD>(simd, &filled(group), entries);
    }
    let groups = pairs.len().div_ceil(LANES);
    for (entries, pivots) in scratch.entries.chunks_exact(size).take(groups).zip(pivots) {
        let mut rows = [[f64x8::splat(simd, 0.0); SMALL]; SMALL];
        load!(D, rows, simd, entries, 0: 0, 1: 0 1, 2: 0 1 2, 3: 0 1 2 3, 4: 0 1 2 3 4, 5: 0 1 2 3 4 5);
        eliminate!(D, rows, pivots,
            0: [1: 1, 2: 1 2, 3: 1 2 3, 4: 1 2 3 4, 5: 1 2 3 4 5],
            1: [2: 2, 3: 2 3, 4: 2 3 4, 5: 2 3 4 5],
            2: [3: 3, 4: 3 4, 5: 3 4 5],
            3: [4: 4, 5: 4 5],
            4: [5: 5],
            5: []);
    }
}

/// Elimination of a few rows at a time.
#[inline(always)]
fn large<S: Simd, const ADD: bool>(
    simd: S,
    scratch: &mut Scratch,
    pairs: &[Pair<'_>],
    pivots: &mut [Pivots<S>; GROUPS],
) {
    let Scratch { dimension, entries, scaled, scales } = scratch;
    let dimension = *dimension;
    entries.resize(packed_len(dimension), [0.0; LANES]);
    scaled.resize(ROWS * dimension, [0.0; LANES]);
    scales.resize(dimension, [0.0; LANES]);
    for (group, pivots) in pairs.chunks(LANES).zip(pivots) {
        gather::<S, ADD>(simd, &filled(group), entries);
        let mut first = 0;
        while first < dimension {
            let work = (entries.as_mut_slice(), scaled.as_mut_slice(), scales.as_mut_slice());
            match dimension - first {
                1 => block::<S, 1>(simd, first, work, pivots),
                2 => block::<S, 2>(simd, first, work, pivots),
                3 => block::<S, 3>(simd, first, work, pivots),
                _ => block::<S, ROWS>(simd, first, work, pivots),
            }
            first += ROWS;
        }
    }
}

/// Where a row of a block starts, from the start of the block's first row.
#[inline(always)]
fn start(first: usize, row: usize) -> usize {
    packed_len(first + row) - packed_len(first)
}

/// Reduces `R` rows by all pivots above them, and then by each other.
#[inline(always)]
fn block<S: Simd, const R: usize>(
    simd: S,
    first: usize,
    (entries, scaled, scales): (&mut [Lane], &mut [Lane], &mut [Lane]),
    pivots: &mut Pivots<S>,
) {
    let (above, entries) = entries.split_at_mut(packed_len(first));
    let stride = scales.len();
    for k in (0..first).step_by(2) {
        let left = &above[packed_len(k)..][..k];
        let right = &above[packed_len(k + 1)..][..=k];
        let mut sums = [[f64x8::splat(simd, 0.0); 2]; R];
        for (row, sum) in sums.iter_mut().enumerate() {
            sum[0] = f64x8::from_slice(simd, &entries[start(first, row) + k]);
            sum[1] = f64x8::from_slice(simd, &entries[start(first, row) + k + 1]);
        }
        {
            let mut factors = [&scaled[..k]; R];
            for (row, factor) in factors.iter_mut().enumerate() {
                *factor = &scaled[row * stride..][..k];
            }
            for j in 0..k {
                let (left, right) = (f64x8::from_slice(simd, &left[j]), f64x8::from_slice(simd, &right[j]));
                for row in 0..R {
                    let factor = f64x8::from_slice(simd, &factors[row][j]);
                    sums[row][0] -= factor * left;
                    sums[row][1] -= factor * right;
                }
            }
        }
        let corner = f64x8::from_slice(simd, &right[k]);
        let scale = [f64x8::from_slice(simd, &scales[k]), f64x8::from_slice(simd, &scales[k + 1])];
        for (row, sum) in sums.iter_mut().enumerate() {
            let at = start(first, row) + k;
            let factor = sum[0] * scale[0];
            sum[1] -= factor * corner;
            sum[0].store_slice(&mut entries[at]);
            sum[1].store_slice(&mut entries[at + 1]);
            factor.store_slice(&mut scaled[row * stride + k]);
            (sum[1] * scale[1]).store_slice(&mut scaled[row * stride + k + 1]);
        }
    }
    triangle::<S, R>(simd, first, (entries, scaled, scales), pivots);
}

/// The last `R` columns of a block: its own pivots.
#[inline(always)]
fn triangle<S: Simd, const R: usize>(
    simd: S,
    first: usize,
    (entries, scaled, scales): (&mut [Lane], &[Lane], &mut [Lane]),
    pivots: &mut Pivots<S>,
) {
    let stride = scales.len();
    let starts = [start(first, 0), start(first, 1), start(first, 2), start(first, 3)];
    let zero = f64x8::splat(simd, 0.0);
    let mut sums = [[zero; ROWS]; ROWS];
    let mut rows = [(&entries[..first], &scaled[..first]); ROWS];
    for row in 0..R {
        rows[row] = (&entries[starts[row]..][..first], &scaled[row * stride..][..first]);
    }
    macro_rules! each {
        ($do:ident) => { $do!(0: 0, 1: 0 1, 2: 0 1 2, 3: 0 1 2 3) };
    }
    macro_rules! begin {
        ($($i:literal: $($k:literal)*),*) => {
            $(if $i < R { $(sums[$i][$k] = f64x8::from_slice(simd, &entries[starts[$i] + first + $k]);)* })*
        };
    }
    each!(begin);
    for j in 0..first {
        let mut lefts = [zero; ROWS];
        for row in 0..R {
            lefts[row] = f64x8::from_slice(simd, &rows[row].0[j]);
        }
        macro_rules! reduce {
            ($($i:literal: $($k:literal)*),*) => {
                $(if $i < R {
                    let factor = f64x8::from_slice(simd, &rows[$i].1[j]);
                    $(sums[$i][$k] -= factor * lefts[$k];)*
                })*
            };
        }
        each!(reduce);
    }
    let mut noted = Noted { pivots, scales: scales[first..].iter_mut() };
    eliminate!(R, sums, noted, 0: [1: 1, 2: 1 2, 3: 1 2 3], 1: [2: 2, 3: 2 3], 2: [3: 3], 3: []);
    macro_rules! end {
        ($($i:literal: $($k:literal)*),*) => {
            $(if $i < R { $(sums[$i][$k].store_slice(&mut entries[starts[$i] + first + $k]);)* })*
        };
    }
    each!(end);
}

/// The logarithms of the pivots so far: those whose product left the safe range, and the product of the others.
#[derive(Clone, Copy)]
struct Pivots<S: Simd> {
    simd: S,
    is_valid: bool,
    product: f64x8<S>,
    sum: f64x8<S>,
}

impl<S: Simd> Pivots<S> {
    #[inline(always)]
    fn new(simd: S) -> Pivots<S> {
        Pivots { simd, is_valid: true, product: f64x8::splat(simd, 1.0), sum: f64x8::splat(simd, 0.0) }
    }

    /// 1 over the pivot.
    #[inline(always)]
    fn take(&mut self, pivot: f64x8<S>) -> f64x8<S> {
        let one = f64x8::splat(self.simd, 1.0);
        self.product *= pivot;
        let inside = self.product.simd_ge(1e-140) & self.product.simd_lt(1e140);
        if !inside.all_true() {
            self.leave_range(pivot, inside);
        }
        one / pivot
    }

    #[inline(always)]
    fn leave_range(&mut self, pivot: f64x8<S>, inside: <f64x8<S> as SimdBase<S>>::Mask) {
        // Negative pivots and those that are no numbers make a product that is not inside, or another that will not be.
        let is_usual = pivot.simd_gt(0.0) & self.product.simd_ge(f64::MIN_POSITIVE) & self.product.simd_le(f64::MAX);
        self.is_valid &= is_usual.all_true();
        let log = log(self.simd, self.product);
        self.sum = inside.select(self.sum, self.sum + log);
        self.product = inside.select(self.product, f64x8::splat(self.simd, 1.0));
    }

    #[inline(always)]
    fn log_dets(self) -> Lane {
        let mut log_dets = [f64::NAN; LANES];
        if self.is_valid {
            (self.sum + log(self.simd, self.product)).store_slice(&mut log_dets);
        }
        log_dets
    }
}

/// Pivots whose scales are kept.
struct Noted<'a, S: Simd> {
    pivots: &'a mut Pivots<S>,
    scales: std::slice::IterMut<'a, Lane>,
}

impl<S: Simd> Noted<'_, S> {
    #[inline(always)]
    fn take(&mut self, pivot: f64x8<S>) -> f64x8<S> {
        let scale = self.pivots.take(pivot);
        if let Some(lane) = self.scales.next() {
            scale.store_slice(lane);
        }
        scale
    }
}

/// The logarithm of normal positive numbers as `libm` computes it, whose constants and order of operations these are: first the
/// exponent is taken off so that what is left lies within sqrt(2) of 1, then a polynomial in s = f / (2 + f) follows.
#[inline(always)]
fn log<S: Simd>(simd: S, x: f64x8<S>) -> f64x8<S> {
    const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
    const LOGS: [f64; 7] = [
        f64::from_bits(0x3fe5_5555_5555_5593),
        f64::from_bits(0x3fd9_9999_9997_fa04),
        f64::from_bits(0x3fd2_4924_9422_9359),
        f64::from_bits(0x3fcc_71c5_1d8e_78af),
        f64::from_bits(0x3fc7_4664_96cb_03de),
        f64::from_bits(0x3fc3_9a09_d078_c69f),
        f64::from_bits(0x3fc2_f112_df3e_5244),
    ];
    /// The upper half of sqrt(2) / 2, and of 1.
    const ROOT: u64 = 0x3fe6_a09e << 32;
    const ONE: u64 = 0x3ff0_0000 << 32;
    /// 2^52 as bits: a float with these bits and a small number has the value 2^52 and that number.
    const WHOLE: u64 = 0x4330_0000_0000_0000;
    let shifted: u64x8<S> = x.bitcast::<u64x8<S>>() + u64x8::splat(simd, ONE - ROOT);
    let exponent: f64x8<S> = ((shifted >> 52) | u64x8::splat(simd, WHOLE)).bitcast();
    let k = exponent - (f64::from_bits(WHOLE) + 1023.0);
    let x: f64x8<S> = ((shifted & u64x8::splat(simd, (1 << 52) - 1)) + u64x8::splat(simd, ROOT)).bitcast();
    let f = x - 1.0;
    let half_square = f * 0.5 * f;
    let s = f / (f + 2.0);
    let z = s * s;
    let w = z * z;
    let even = w * (w * (w * LOGS[5] + LOGS[3]) + LOGS[1]);
    let odd = z * (w * (w * (w * LOGS[6] + LOGS[4]) + LOGS[2]) + LOGS[0]);
    let rest = odd + even;
    s * (half_square + rest) + k * LN2_LOW - half_square + f + k * LN2_HIGH
}

/// Every set of vector instructions that this machine has, and which one.
#[cfg(test)]
pub(crate) fn levels() -> Vec<(&'static str, Level)> {
    let best = Level::new();
    let mut levels = vec![("best", best), ("portable", Level::baseline())];
    #[cfg(target_arch = "x86_64")]
    {
        levels.extend(best.as_sse4_2().map(|token| ("SSE 4.2", Level::Sse4_2(token))));
        levels.extend(best.as_avx2().map(|token| ("AVX2", Level::Avx2(token))));
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Stream;
    use crate::statistics::{Gram, log_det_in_place};

    fn one_by_one<const ADD: bool>((matrix, gram): Pair<'_>, dimension: usize) -> Option<u64> {
        let mut sum: Vec<f64> = matrix.iter().zip(gram).map(|(m, g)| if ADD { m + g } else { m - g }).collect();
        log_det_in_place(&mut sum, &mut vec![0.0; dimension]).map(f64::to_bits)
    }

    /// Checks the sums and differences of the pairs at every level.
    fn check_all(dimension: usize, pairs: &[Pair<'_>]) {
        fn check<const ADD: bool>(name: &str, lanes: &mut Lanes, pairs: &[Pair<'_>]) {
            let dimension = lanes.scratch.dimension;
            let mut log_dets = vec![0.5];
            lanes.log_dets::<ADD>(pairs, &mut log_dets);
            let bits: Vec<Option<u64>> = log_dets[1..].iter().map(|log_det| Some(log_det.to_bits())).collect();
            let expected: Vec<Option<u64>> = pairs.iter().map(|&pair| one_by_one::<ADD>(pair, dimension)).collect();
            assert_eq!(bits, expected, "{name}, d = {dimension}, {} pairs", pairs.len());
        }
        for (name, level) in levels() {
            let mut lanes = Lanes { level, ..Lanes::new(dimension) };
            check::<true>(name, &mut lanes, pairs);
            check::<false>(name, &mut lanes, pairs);
        }
    }

    #[test]
    fn every_width_gives_the_bits_of_one_matrix_alone() {
        for dimension in (LEAST_DIMENSION..=34).chain([63, 64, 65, 130]) {
            for seed in 0..if dimension < 35 { 20 } else { 2 } {
                let mut stream = Stream::new(seed, dimension as u64);
                // From 10^-12 to 10^12, so that products leave the safe range at different pivots.
                let scale = libm::pow(10.0, 24.0 * stream.uniform() - 12.0);
                let mut sum = Gram::zeros(dimension).unwrap();
                // One, a few, and more than are done at once.
                let count = [1, 3, LANES, 13, GROUPS * LANES + 9][seed as usize % 5];
                let grams: Vec<Gram> = (0..count)
                    .map(|_| {
                        let mut gram = Gram::zeros(dimension).unwrap();
                        for _ in 0..stream.between(0, dimension) {
                            let x: Vec<f64> = stream.normals(dimension).iter().map(|x| scale.sqrt() * x).collect();
                            gram.add_outer(&x);
                        }
                        sum.add(&gram);
                        gram
                    })
                    .collect();
                let sum = sum.ridge(0.1 * scale);
                let one = &sum;
                let pairs: Vec<Pair<'_>> = grams.iter().map(|gram| (one.lower(), gram.lower())).collect();
                check_all(dimension, &pairs);
            }
        }
    }

    #[test]
    fn logarithms_have_the_bits_of_libm() {
        let mut stream = Stream::new(3, 0);
        for (name, level) in levels() {
            for round in 0..20_000 {
                let x: Lane = std::array::from_fn(|_| match round % 3 {
                    0 => 1.0 + (stream.uniform() - 0.5) / 1000.0,
                    1 => libm::pow(10.0, 600.0 * stream.uniform() - 300.0),
                    _ => stream.pick(&[1.0, 2.0, 0.5, std::f64::consts::SQRT_2, f64::MIN_POSITIVE, f64::MAX, 3.0]),
                });
                let mut logs = [0.0; LANES];
                dispatch!(level, simd => log(simd, f64x8::from_slice(simd, &x)).store_slice(&mut logs));
                assert_eq!(logs.map(f64::to_bits), x.map(|x| libm::log(x).to_bits()), "{name}: {x:?}");
            }
        }
    }

    #[test]
    fn matrices_that_are_not_positive_are_left_to_the_scalar_code() {
        for dimension in [4, 5, 6, 7, 8, 9, 25] {
            let good = Gram::zeros(dimension).unwrap().ridge(3.0);
            let zero = Gram::zeros(dimension).unwrap();
            for at in 0..dimension {
                for bad in [-1.0, 0.0, f64::NAN, f64::INFINITY, 1e-320] {
                    let mut lower = good.lower().to_vec();
                    lower[packed_len(at) + at] = bad;
                    let mut pairs = [(good.lower(), zero.lower()); LANES];
                    pairs[at % LANES].0 = &lower;
                    for (name, level) in levels() {
                        let mut log_dets = Vec::new();
                        Lanes { level, ..Lanes::new(dimension) }.log_dets::<true>(&pairs, &mut log_dets);
                        assert!(log_dets[at % LANES].is_nan(), "{name}, d = {dimension}: {bad} at {at}");
                    }
                }
            }
        }
    }
}
