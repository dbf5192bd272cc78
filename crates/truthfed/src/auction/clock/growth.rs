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
use super::shrinkage::Directions;
use crate::auction::round::Blur;
use crate::auction::{Information, Round};

/// Steps before the last that are looked at one by one.
const SINGLE: usize = 16;
/// After that, cells grow by this share of their distance.
const SHARE: usize = 16;
/// With fewer clients for each cell, looking at each client takes less.
const WORTH_IT: usize = 8;
/// How much more than the mean over all directions the matrix grows in the worst: what is tried, one after another.
const WORST_OVER_MEAN: [f64; 8] = [1.05, 1.15, 1.3, 1.6, 2.2, 4.0, 16.0, 256.0];

/// Bounds for all steps from some step to a last one.
pub(super) struct Growth {
    blur: Blur,
    /// The last one first.
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
    /// The lowest `price` of this cell and of all before it.
    lowest_price: f64,
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
        let directions = Directions::of(round);
        let after = (history.matrix(last), history.level(last));
        // Trying begins where it ended for the cell after: distant cells grow more evenly.
        let mut tried = WORST_OVER_MEAN.len() - 1;
        let cell = |pair: &[usize]| {
            let (from, to) = (pair[1], pair[0]);
            let before = (history.matrix(from), history.level(from));
            let times = times(directions, before, after, &mut tried);
            Cell { from, to, times, price: history.lowest_scores[to - 1] / times, lowest_price: 0.0 }
        };
        let mut cells: Vec<Cell> = ends.windows(2).map(cell).collect();
        let mut lowest = f64::INFINITY;
        for cell in cells.iter_mut().rev() {
            lowest = lowest.min(cell.price);
            cell.lowest_price = lowest;
        }
        Some(Growth { blur: history.blur, cells })
    }

    /// The cells in which a client that loses so much at the last step, or at one of those before, might have a price below `best`
    /// before that, with what it loses in them at least.
    pub(super) fn open(&self, loss: Information, best: i128) -> impl Iterator<Item = (&Cell, Information)> {
        let surely = surely(self.blur, loss);
        let is_below = move |price: f64| price * surely - 2.0 < best as f64;
        let open = self.cells.iter().take_while(move |cell| is_below(cell.lowest_price));
        open.filter(move |cell| is_below(cell.price))
            .map(move |cell| (cell, Information::from_units((surely / cell.times) as i64)))
    }

    /// What a client surely loses at `step` and after it, if it loses so much at a later one.
    pub(super) fn least(&self, step: usize, loss: Information) -> Information {
        let cell = self.cells.partition_point(|cell| cell.from > step);
        let least = self.cells.get(cell).map_or(0.0, |cell| surely(self.blur, loss) / cell.times);
        Information::from_units(least as i64)
    }
}

/// A loss at some step, in units, less what the growth to it may have added beyond the growth of the matrices.
fn surely(blur: Blur, loss: Information) -> f64 {
    blur.least(loss).units().max(0) as f64 * (1.0 - loss.to_nats() / 2.0).max(0.0)
}

/// How many times the matrix after the one before is at most, in any direction. `tried` is where to begin, and where it ended.
fn times(
    directions: Directions,
    (before, level_before): (&[f64], Information),
    (after, level_after): (&[f64], Information),
    tried: &mut usize,
) -> f64 {
    let mean = directions.mean_ratio(level_before, level_after) - 1.0;
    let at = |tried: usize| 1.0 + mean.max(0.0) * WORST_OVER_MEAN[tried] + directions.least_excess();
    let suffices = |tried: usize| directions.are_at_most(before, at(tried), after);
    while *tried > 0 && suffices(*tried - 1) {
        *tried -= 1;
    }
    while *tried < WORST_OVER_MEAN.len() && !suffices(*tried) {
        *tried += 1;
    }
    match *tried < WORST_OVER_MEAN.len() {
        true => at(*tried),
        false => {
            *tried -= 1;
            f64::INFINITY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::federation;

    #[test]
    fn the_growth_in_the_worst_direction_is_bounded_closely() {
        let round = federation(3, 2, 1);
        let level = |matrix: &[f64]| round.kernel().level(matrix).unwrap();
        // The second matrix is 1.5 and 1.25 times the first.
        let (before, after) = ([6.0, 0.0, 1.25], [4.0, 0.0, 1.0]);
        let mut tried = WORST_OVER_MEAN.len() - 1;
        let ends = ((&before[..], level(&before)), (&after[..], level(&after)));
        let times = times(Directions::of(&round), ends.0, ends.1, &mut tried);
        assert!((1.5..1.6).contains(&times), "{times}");
        assert!(super::times(Directions::of(&round), ends.1, ends.1, &mut tried) < 1.0 + 1e-8);
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
                    for (cell, least) in growth.open(loss, i128::MAX) {
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
