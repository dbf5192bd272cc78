//! How much losses can have grown from one step to a later one, for all clients at once.
//!
//! The price of a client is about score(t) * loss(t). Over many steps the score falls nearly as fast as the loss grows, and to
//! find the least product for each client by itself takes many log determinants. But what makes losses grow is the same for
//! everyone: the matrix of a step a is at most k times that of a later step b, where k is the largest eigenvalue of
//! M_b^-1 M_a. So the eigenvalues of M^-1 G are at step a at least 1/k of what they are at b, and as a loss is the sum of
//! -log(1 - x) over them, and h - h^2/2 <= x <= h for each h = -log(1 - x),
//!
//! loss(a) >= loss(b) (1 - loss(b) / 2) / k.
//!
//! With that, one evaluation at the last of many steps usually shows that no step before it has a lower price.

use super::rejection::History;
use crate::auction::{Information, Round};
use crate::statistics::{Factor, Gram};

/// Steps before the last that are looked at one by one.
const SINGLE: usize = 16;
/// After that, cells grow by this share of their distance.
const SHARE: usize = 16;
/// With fewer clients for each cell, looking at each client takes less.
const WORTH_IT: usize = 8;

/// Bounds for all steps from some step to a last one.
pub(super) struct Growth {
    cells: Vec<Cell>,
}

/// The steps `from..to`, before the last one.
pub(super) struct Cell {
    pub(super) from: usize,
    pub(super) to: usize,
    /// At most so many times what it is in this cell a loss is at the last step, but for the second order.
    times: f64,
    /// No price in it is below this times the loss at the last step, but for the second order.
    price: f64,
}

impl Growth {
    /// From step `from` to `last`, if there are so many clients that it pays.
    pub(super) fn new(
        round: &Round,
        history: &History,
        (from, last): (usize, usize),
        clients: usize,
    ) -> Option<Growth> {
        let mut ends = vec![last];
        while let Some(&end) = ends.last().filter(|&&end| end > from) {
            let distance = last - end;
            let width = if distance < SINGLE { 1 } else { distance / SHARE };
            ends.push(end.saturating_sub(width).max(from));
        }
        if ends.len() * WORTH_IT > clients {
            return None;
        }
        let gram = |step: usize| Gram::from_lower(round.dimension(), history.matrix(step).to_vec()).ok();
        let after = gram(last)?;
        let factor = Factor::new(&after).ok()?;
        let cell = |pair: &[usize]| {
            let (from, to) = (pair[1], pair[0]);
            let times = 1.0 + excess(&factor, history.matrix(from), after.lower());
            Cell { from, to, times, price: history.lowest_scores[to - 1] / times }
        };
        Some(Growth { cells: ends.windows(2).map(cell).collect() })
    }

    /// The cells in which a client that loses so much at the last step might have a price below `best`, with what it loses in
    /// them at least.
    pub(super) fn open(
        &self,
        round: &Round,
        loss: Information,
        best: i128,
    ) -> impl Iterator<Item = (&Cell, Information)> {
        let noise = round.noise();
        let surely = (loss - noise - noise).units().max(0) as f64 * (1.0 - loss.to_nats() / 2.0).max(0.0);
        let is_open = move |cell: &&Cell| cell.price * surely - 2.0 < best as f64;
        self.cells.iter().filter(is_open).map(move |cell| (cell, Information::from_units((surely / cell.times) as i64)))
    }
}

/// By how much more than 1 the largest eigenvalue of `M^-1 earlier` is, at most: M is the matrix of the factor, `later`.
///
/// The largest of some eigenvalues is at most the 64th root of the sum of their 64th powers, which is a trace.
fn excess(factor: &Factor, earlier: &[f64], later: &[f64]) -> f64 {
    let d = factor.dimension();
    let difference: Vec<f64> = earlier.iter().zip(later).map(|(a, b)| a - b).collect();
    let entry =
        |i: usize, j: usize| if i >= j { difference[i * (i + 1) / 2 + j] } else { difference[j * (j + 1) / 2 + i] };
    // L^-1 D, column by column, then L^-1 of its transpose: D is symmetric.
    let columns: Vec<Vec<f64>> =
        (0..d).map(|j| factor.solve_lower(&(0..d).map(|i| entry(i, j)).collect::<Vec<f64>>())).collect();
    let rows = (0..d).map(|i| factor.solve_lower(&columns.iter().map(|column| column[i]).collect::<Vec<f64>>()));
    let mut power: Vec<Vec<f64>> = rows.collect();
    let largest = power.iter().flatten().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    power.iter_mut().flatten().for_each(|entry| *entry /= largest);
    let mut scale = largest;
    let mut root = 1.0;
    for _ in 0..6 {
        power = squared(&power);
        root /= 2.0;
        let largest = power.iter().flatten().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        power.iter_mut().flatten().for_each(|entry| *entry /= largest);
        scale *= libm::pow(largest, root);
    }
    let trace: f64 = (0..d).map(|i| power[i][i]).sum();
    scale * libm::pow(trace, root) * (1.0 + 1e-9)
}

fn squared(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let entry = |row: &[f64], j: usize| row.iter().zip(matrix).map(|(x, other)| x * other[j]).sum();
    matrix.iter().map(|row| (0..row.len()).map(|j| entry(row, j)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::federation;

    #[test]
    fn the_largest_eigenvalue_is_bounded_closely() {
        let factor = Factor::new(&Gram::from_rows(&[[4.0, 0.0], [0.0, 1.0]]).unwrap()).unwrap();
        // M^-1 (M + D) has the eigenvalues 1.5 and 1.25.
        let excess = excess(&factor, &[6.0, 0.0, 1.25], &[4.0, 0.0, 1.0]);
        assert!((0.5..0.5 * 1.012).contains(&excess), "{excess}");
        assert_eq!(super::excess(&factor, &[4.0, 0.0, 1.0], &[4.0, 0.0, 1.0]), 0.0);
    }

    #[test]
    fn no_loss_at_an_earlier_step_is_below_the_bound() {
        let mut checked = 0;
        for seed in 0..4 {
            let round = federation(1500, 1 + seed as usize, seed);
            let history = History::new(&round, Information::NOTHING).unwrap();
            for last in [100, 700, 1300, 1499] {
                let growth = Growth::new(&round, &history, (0, last), usize::MAX).unwrap();
                let mut kernel = round.kernel();
                for seat in round.seats().step_by(97) {
                    let loss = history.loss(&mut kernel, last, round.gram(seat)).unwrap();
                    for (cell, least) in growth.open(&round, loss, i128::MAX) {
                        let earlier = history.loss(&mut kernel, cell.from, round.gram(seat)).unwrap();
                        assert!(least <= earlier, "seed {seed}, step {} of {last}", cell.from);
                        checked += 1;
                    }
                }
            }
        }
        assert!(checked > 10_000, "{checked}");
    }
}
