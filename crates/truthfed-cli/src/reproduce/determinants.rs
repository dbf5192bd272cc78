//! Lemmas 15 to 17 and a step in the proof of Lemma 7, tried on random matrices.

use rayon::prelude::*;
use truthfed::generate::Stream;
use truthfed::statistics::{Factor, Gram, Statistics};

use super::claim::{Claim, Evidence, Number, Sample};
use super::lab::Lab;
use super::readings::all;

/// A violation below this is rounding, relative to the size of a logarithm.
const ROUNDING: f64 = 1e-7;

/// By how much each inequality fails, in nats; the identity by its relative error.
struct Violations {
    trace: f64,
    potential: f64,
    potential_trace: f64,
    identity: f64,
    others: f64,
}

pub(super) fn claims(lab: &Lab) -> Vec<Claim> {
    let found: Vec<Violations> = (0..lab.many(300)).into_par_iter().map(violations).collect();
    let claim = |id, source, claim: &str, by: fn(&Violations) -> f64| {
        let is_broken = |it: &&Violations| by(it) > ROUNDING * (1.0 + by(it).abs());
        let (broken, tried) = (found.iter().filter(is_broken).count(), found.len());
        let measured = format!("broken by {broken} of {tried} random inputs in 1 to 8 dimensions");
        let numbers = vec![Number::never("violations", broken, tried)];
        let evidence = Evidence::new(measured, numbers, Sample::draws(tried as u64), "truthfed reproduce");
        Claim::new(id, source, claim, "A known result.", vec![evidence.under(all())])
    };
    vec![
        claim("determinant-trace", "Lemma 15", "det V is at most (λ + t L² / d)^d.", |it| it.trace),
        claim(
            "potential",
            "Lemma 16",
            "The growth of log det V is at most the sum of the squared lengths of arms in the inverse of V before, and at least half of them capped at 1.",
            |it| it.potential,
        ),
        claim(
            "potential-trace",
            "Lemma 16",
            "Twice the growth of log det V is at most 2 (d log((trace V + n L²) / d) - log det V).",
            |it| it.potential_trace,
        ),
        claim(
            "determinant-identity",
            "Lemma 17",
            "det(A + B Cᵀ) = det(A) det(I + Cᵀ A⁻¹ B), with any number of columns.",
            |it| it.identity,
        ),
        claim(
            "others-keep",
            "Appendix D",
            "Without a client, at least λ^d / det(ΔV + λ I) >= (1 + t L² / (λ d))^-d of the determinant is left.",
            |it| it.others,
        ),
    ]
}

pub(super) fn ridge(gram: &Gram, lambda: f64) -> Factor {
    Factor::new(&gram.ridge(lambda)).expect("a ridge matrix is positive definite")
}

/// The sums of some contexts.
fn sum<'a>(dimension: usize, contexts: impl IntoIterator<Item = &'a Vec<f64>>) -> Statistics {
    let mut sums = Statistics::new(dimension).expect("a small dimension");
    for x in contexts {
        sums.observe(x, 0.0).expect("a finite context");
    }
    sums
}

fn violations(seed: u64) -> Violations {
    let mut stream = Stream::new(seed, 5);
    let (d, count) = (stream.between(1, 8), stream.between(1, 60));
    let lambda = libm::exp(3.0 * stream.normal());
    let norm = libm::exp(stream.normal());
    let mut draw = |count: usize| -> Vec<Vec<f64>> {
        let context = |_| stream.context(d).into_iter().map(|entry| entry * norm).collect();
        (0..count).map(context).collect()
    };
    // V is the ridge alone in Lemma 15 and any positive definite matrix in Lemma 16.
    let (contexts, before) = (draw(count), draw(count % 7));
    let (n, dimension) = (count as f64, d as f64);
    let log_det = |sums: &Statistics| ridge(sums.gram(), lambda).log_det();
    let most = |trace: f64| dimension * libm::log(lambda + (trace + n * norm * norm) / dimension);
    let mut seen = sum(d, &before);
    let (start, trace) = (log_det(&seen), seen.gram().trace());
    let (mut lengths, mut capped) = (0.0, 0.0);
    for x in &contexts {
        let length = ridge(seen.gram(), lambda).quadratic_form(x);
        lengths += length;
        capped += length.min(1.0);
        seen.observe(x, 0.0).expect("a finite context");
    }
    let growth = log_det(&seen) - start;
    // Lemma 7: one client has every third context.
    let is_own = |(index, _): &(usize, &Vec<f64>)| index % 3 == 0;
    let own = sum(d, contexts.iter().enumerate().filter(is_own).map(|(_, x)| x));
    let others = sum(d, contexts.iter().enumerate().filter(|it| !is_own(it)).map(|(_, x)| x));
    let all_of_them = log_det(&sum(d, &contexts));
    let least = dimension * libm::log(lambda) - log_det(&own);
    let monopoly_free = -dimension * libm::log1p(n * norm * norm / (lambda * dimension));
    Violations {
        trace: all_of_them - most(0.0),
        potential: (growth - lengths).max(capped - 2.0 * growth),
        potential_trace: 2.0 * growth - 2.0 * (most(trace) - start),
        identity: identity(&mut stream),
        others: (least - (log_det(&others) - all_of_them)).max(monopoly_free - least),
    }
}

type Matrix = Vec<Vec<f64>>;

/// The error of Lemma 17 for random matrices, relative to what rows of these lengths allow.
fn identity(stream: &mut Stream) -> f64 {
    let (n, m) = (stream.between(1, 8), stream.between(1, 8));
    let mut draw = |rows: usize, columns: usize| -> Matrix { (0..rows).map(|_| stream.normals(columns)).collect() };
    let (a, b, c) = (draw(n, n), draw(n, m), draw(n, m));
    let dot = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
    let entries = |size: usize, entry: &dyn Fn(usize, usize) -> f64| -> Matrix {
        (0..size).map(|i| (0..size).map(|j| entry(i, j)).collect()).collect()
    };
    let sum = entries(n, &|i, j| a[i][j] + dot(&b[i], &c[j]));
    let (determinant, solved) = eliminate(&a, &b);
    let small = entries(m, &|i, j| {
        let column: f64 = (0..n).map(|row| c[row][i] * solved[row][j]).sum();
        column + f64::from(u8::from(i == j))
    });
    let lengths = |matrix: &Matrix| -> f64 { matrix.iter().map(|row| dot(row, row).sqrt()).product() };
    let none = |rows: usize| vec![Vec::new(); rows];
    let (left, right) = (eliminate(&sum, &none(n)).0, determinant * eliminate(&small, &none(m)).0);
    (left - right).abs() / (lengths(&sum) + lengths(&a) * lengths(&small))
}

/// det(A), and A⁻¹ B, by elimination with the largest pivots.
fn eliminate(a: &Matrix, b: &Matrix) -> (f64, Matrix) {
    let size = a.len();
    let mut rows: Matrix = a.iter().zip(b).map(|(a, b)| [a.as_slice(), b].concat()).collect();
    let mut determinant = 1.0;
    for at in 0..size {
        let largest = (at..size).max_by(|x, y| rows[*x][at].abs().total_cmp(&rows[*y][at].abs())).unwrap_or(at);
        if largest != at {
            rows.swap(at, largest);
            determinant = -determinant;
        }
        let pivot = rows[at].clone();
        determinant *= pivot[at];
        for (_, row) in rows.iter_mut().enumerate().filter(|(index, _)| *index != at) {
            let factor = row[at] / pivot[at];
            row.iter_mut().zip(&pivot).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    let solved = rows.iter().enumerate().map(|(at, row)| row[size..].iter().map(|entry| entry / row[at]).collect());
    (determinant, solved.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elimination_finds_the_determinant_and_the_solution() {
        // By hand: det = 0 * 3 - 2 * 1; x + 3 y = 5 and 2 y = 4 give y = 2, x = -1.
        let (determinant, solved) = eliminate(&vec![vec![0.0, 2.0], vec![1.0, 3.0]], &vec![vec![4.0], vec![5.0]]);
        assert_eq!((determinant, solved), (-2.0, vec![vec![-1.0], vec![2.0]]));
    }

    #[test]
    fn the_identity_holds_to_rounding() {
        let worst = (0..50).map(|seed| identity(&mut Stream::new(seed, 5))).fold(0.0, f64::max);
        assert!(worst < ROUNDING, "{worst}");
    }
}
