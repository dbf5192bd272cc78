//! Equation 1 in one dimension: clients that cost what they bring are a knapsack to be covered, which is NP-hard.

use rayon::prelude::*;
use truthfed::auction::{Mechanism, RoundDocument, Vcg};
use truthfed::generate::Stream;

use super::claim::{Claim, Evidence, Number, Sample};
use super::constants::document;
use super::lab::Lab;
use super::optimum::cost;
use super::readings::all;

/// Clients of a round, and what each brings and costs at most.
const CLIENTS: usize = 12;
const MOST: usize = 60;

pub(super) fn claim(lab: &Lab) -> Claim {
    let tried = lab.many(100);
    let found: Vec<(usize, usize)> = (0..tried).into_par_iter().map(both).collect();
    let other = found.iter().filter(|(round, knapsack)| round != knapsack).count();
    let measured = format!(
        "in {other} of {tried} rounds of {CLIENTS} clients the optimum is not the smallest sum of their weights that reaches the \
         limit, found without determinants"
    );
    let numbers = vec![Number::never("rounds with another optimum", other, tried as usize)];
    let command = "truthfed auction counterexamples/knapsack.json -m vcg";
    let evidence = Evidence::new(measured, numbers, Sample::draws(tried), command);
    let claim = "Minimising the social cost under Equation 1 is NP-hard.";
    let why = "Proved by this: in one dimension, with clients that cost what they bring, it is to find the smallest sum of weights that \
               reaches a limit, and subset sum is part of that. (Equation 3 is the same problem, as the logarithm grows.)";
    Claim::new("np-hard", "Section 1, Equation 1", claim, why, vec![evidence.under(all())])
}

/// The file of the first round.
pub(super) fn file() -> (String, String) {
    let (weights, limit) = drawn(0);
    ("knapsack.json".to_owned(), written(&weights, limit))
}

/// What the optimum of a round costs, and the smallest sum of weights that reaches its limit.
fn both(seed: u64) -> (usize, usize) {
    let (weights, limit) = drawn(seed);
    let round = RoundDocument::read_round(&written(&weights, limit)).expect("a valid round");
    let winners = Vcg::default().select(&round).expect("so few clients are searched");
    (cost(&round, &winners).to_f64().round() as usize, smallest_cover(&weights, limit))
}

fn drawn(seed: u64) -> (Vec<usize>, usize) {
    let mut stream = Stream::new(seed, 31);
    let weights: Vec<usize> = (0..CLIENTS).map(|_| stream.between(1, MOST)).collect();
    let limit = stream.between(1, weights.iter().sum());
    (weights, limit)
}

/// With lambda 1 and no data before, a set reaches the coverage if 1 and its weights are 1 and the limit at least. Half a unit less
/// keeps rounding away.
fn written(weights: &[usize], limit: usize) -> String {
    let coverage = (limit as f64 + 0.5) / (1 + weights.iter().sum::<usize>()) as f64;
    let offer = |(number, weight): (usize, &usize)| (format!("c{number:02}"), *weight as f64, *weight as f64);
    document(coverage, &weights.iter().enumerate().map(offer).collect::<Vec<_>>())
}

/// The smallest sum of weights that reaches a limit, by all sums there are.
fn smallest_cover(weights: &[usize], limit: usize) -> usize {
    let mut reached = vec![false; weights.iter().sum::<usize>() + 1];
    reached[0] = true;
    for weight in weights {
        for sum in (*weight..reached.len()).rev() {
            reached[sum] |= reached[sum - weight];
        }
    }
    (limit..reached.len()).find(|sum| reached[*sum]).expect("all weights together reach it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_sum_that_reaches_a_limit() {
        // 3 + 8 misses 12, 5 + 8 does not.
        assert_eq!(smallest_cover(&[3, 5, 8], 12), 13);
        assert_eq!(smallest_cover(&[3, 5, 8], 8), 8);
        assert_eq!(smallest_cover(&[3, 5, 8], 16), 16);
    }
}
