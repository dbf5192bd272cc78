//! One log determinant, as a share of what the processor can do.
//!
//! The peak is that of a loop of multiplications and additions, each rounded, on registers alone, measured in the same run: what
//! matters is the ratio. All on one thread, with matrices that fit into the cache. A log determinant counts for the
//! operations of the elimination, of taking the client's matrix away, and of one logarithm.

#![allow(clippy::print_stdout, clippy::disallowed_methods)] // tables of times are what this program is for

use std::hint::black_box;
use std::time::Instant;

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, f64x8};
use truthfed::auction::Seat;
use truthfed::generate;

const CLIENTS: usize = 256;
/// Samples of which the fastest counts: others on the machine only make it slower.
const SAMPLES: usize = 40;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let samples = if std::env::args().any(|arg| arg == "--bench") { SAMPLES } else { 1 };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    one_thread.install(|| print(samples));
}

fn print(samples: usize) {
    let level = Level::new();
    let peak = peak(level, samples);
    println!("Log determinants of {CLIENTS} clients in turn ({level:?}); mul-add peak {:.1} Gflop/s\n", peak / 1e9);
    println!("   d  ns each  flop each  Gflop/s  share of peak");
    for dimension in [4, 5, 6, 8, 10, 16, 25, 64, 128] {
        let round = generate::federation(CLIENTS, dimension, 1);
        let seats: Vec<Seat> = round.seats().collect();
        let repeats = 1 + 2_000_000 / (CLIENTS * dimension * dimension * dimension);
        let seconds = fastest(samples, || (0..repeats).for_each(|_| drop(black_box(round.losses(black_box(&seats))))));
        let each = seconds / (repeats * CLIENTS) as f64;
        let (flops, nanoseconds) = (operations(dimension), each * 1e9);
        let speed = flops as f64 / each;
        let share = 100.0 * speed / peak;
        println!("{dimension:>4}{nanoseconds:>9.1}{flops:>11}{:>9.2}{share:>13.1} %", speed / 1e9);
    }
}

/// Elimination (a product and a difference for each entry and pivot before it, a quotient for each row and pivot), the
/// difference at the beginning, and the polynomial of the logarithm.
fn operations(d: usize) -> usize {
    (d - 1) * d * (d + 1) / 3 + d * (d - 1) / 2 + 2 * d + d * (d + 1) / 2 + 21
}

fn fastest(samples: usize, mut run: impl FnMut()) -> f64 {
    let mut sample = || {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..samples).map(|_| sample()).fold(f64::INFINITY, f64::min)
}

/// Operations per second of a loop that does nothing else.
fn peak(level: Level, samples: usize) -> f64 {
    const ROUNDS: usize = 20_000;
    const SUMS: usize = 12;
    let seconds = fastest(samples, || {
        dispatch!(level, simd => multiply_and_add::<_, SUMS>(simd, ROUNDS));
    });
    (2 * 8 * SUMS * ROUNDS) as f64 / seconds
}

#[inline(always)]
fn multiply_and_add<S: Simd, const SUMS: usize>(simd: S, rounds: usize) {
    let factor = f64x8::splat(simd, black_box(0.999));
    let term = f64x8::splat(simd, black_box(0.001));
    let mut sums = [term; SUMS];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = *sum * factor + term;
        }
    }
    for sum in sums {
        let mut lanes = [0.0; 8];
        sum.store_slice(&mut lanes);
        black_box(lanes);
    }
}
