//! The branch and bound itself.
//!
//! Whether a set meets the target is a question about the set alone: where the order of sums could decide it, the set is
//! summed anew, by seats. Branches are cut, and clients forced, only where no rounding could change it. So all searches of
//! a round agree on every set, also where a set meets the target exactly, and the critical value is exact.

use super::bounds::{Item, cost_after_savings, cost_of_missing};
use crate::auction::kernel::Kernel;
use crate::auction::meter::Metered;
use crate::auction::path::Path;
use crate::auction::round::add;
use crate::auction::{Information, Refusal, Round, Seat, clock};
use crate::statistics::Pair;

#[derive(Debug, Clone, Copy)]
pub(super) struct Solution {
    pub(super) cost: i128,
    set: u128,
}

impl Solution {
    pub(super) fn includes(&self, seat: Seat) -> bool {
        self.set >> seat.0 & 1 == 1
    }

    pub(super) fn winners(&self) -> Vec<Seat> {
        (0..128).map(Seat).filter(|&seat| self.includes(seat)).collect()
    }
}

pub(super) struct Search<'r> {
    round: &'r Round,
    required: Information,
    without: Option<Seat>,
    kernel: Kernel,
    evaluations: u64,
    nodes: u64,
    node_limit: u64,
    /// A set must cost less than this to be the new best.
    limit: i128,
    best: Option<Solution>,
}

/// What is decided so far.
#[derive(Debug, Clone)]
struct Node {
    set: u128,
    cost: i128,
    /// The ridge Gram matrix of the included, and of the included and the free.
    included: Vec<f64>,
    available: Vec<f64>,
    included_level: Information,
    available_level: Information,
    /// Undecided clients, by seat.
    free: Vec<Seat>,
}

impl<'r> Search<'r> {
    pub(super) fn new(round: &'r Round, without: Option<Seat>, node_limit: u64) -> Search<'r> {
        let required = round.required(round.coverage());
        let (kernel, limit, best) = (round.kernel(), i128::MAX, None);
        Search { round, required, without, kernel, evaluations: 0, nodes: 0, node_limit, limit, best }
    }

    /// The cheapest set, or `None` when no set meets the target; and the log determinants it took.
    pub(super) fn run(mut self) -> Result<(Option<Solution>, u64), Refusal> {
        self.limit_by_good_set()?;
        let root = self.root();
        self.visit(root)?;
        Ok((self.best, self.evaluations + self.kernel.evaluations))
    }

    /// Starts from one more than the cost of a good set, so that a set of that cost is still found by the search
    /// itself. The clock's set is the better one, but cannot be had without a client that is admitted.
    fn limit_by_good_set(&mut self) -> Metered<()> {
        if self.without.is_none() {
            let (winners, evaluations) = clock::select(self.round)?;
            self.evaluations = evaluations;
            if self.round.level(&winners) >= self.required {
                self.limit = winners.iter().map(|&seat| i128::from(self.round.ask(seat).micros())).sum::<i128>() + 1;
            }
            return Ok(());
        }
        let start = Path::new(self.round, self.round.base_level())?;
        let walk = start.resume(self.round, 0, self.without);
        let bought = start.branch(walk, self.required)?;
        self.evaluations = start.evaluations + bought.evaluations;
        if bought.level >= self.required + self.round.noise() {
            self.limit = self.thinned(bought.picks().map(|pick| pick.ratio.seat).collect())? + 1;
        }
        Ok(())
    }

    /// The cost of a covering set after leaving out, the dearest first, whom it can do without.
    fn thinned(&mut self, mut seats: Vec<Seat>) -> Metered<i128> {
        let round = self.round;
        let mut matrix = round.base_matrix().to_vec();
        seats.iter().for_each(|&seat| add(&mut matrix, round.gram(seat)));
        seats.sort_by_key(|&seat| std::cmp::Reverse(round.ask(seat)));
        let mut cost = 0;
        for seat in seats {
            if self.kernel.level_without(&matrix, round.gram(seat))? >= self.required + round.noise() {
                matrix.iter_mut().zip(round.gram(seat)).for_each(|(entry, x)| *entry -= x);
            } else {
                cost += i128::from(round.ask(seat).micros());
            }
        }
        Ok(cost)
    }

    fn root(&self) -> Node {
        let round = self.round;
        Node {
            set: 0,
            cost: 0,
            included: round.base_matrix().to_vec(),
            available: round.tree().root.clone(),
            included_level: round.base_level(),
            available_level: round.total_level(),
            free: round.seats().collect(),
        }
    }

    fn visit(&mut self, mut node: Node) -> Result<(), Refusal> {
        self.nodes += 1;
        if self.nodes > self.node_limit {
            let (clients, limit) = (self.round.admitted(), self.node_limit);
            return Err(Refusal::TooManyNodes { clients, limit });
        }
        if !self.settle_forced(&mut node)? || node.cost >= self.limit {
            return Ok(());
        }
        if self.is_met(&node)? {
            self.limit = node.cost;
            self.best = Some(Solution { cost: node.cost, set: node.set });
            return Ok(());
        }
        if self.bound(&node)? >= self.limit {
            return Ok(());
        }
        let Some(&seat) = node.free.first() else { return Ok(()) };
        let mut with = node.clone();
        with.free.remove(0);
        if self.without != Some(seat) {
            self.include(&mut with, seat)?;
            self.visit(with)?;
        }
        node.free.remove(0);
        self.exclude(&mut node, seat)?;
        self.visit(node)
    }

    /// Leaves out who adds nothing and puts in whom the target cannot do without; false when that is the client that
    /// must not be there. Nobody else is left out before this has been asked: the available always meet the target.
    fn settle_forced(&mut self, node: &mut Node) -> Metered<bool> {
        let noise = self.round.noise();
        let mut index = 0;
        while index < node.free.len() && !self.is_met(node)? {
            let seat = node.free[index];
            let gram = self.round.gram(seat);
            if self.kernel.level_without(&node.available, gram)? + noise < self.required {
                if self.without == Some(seat) {
                    return Ok(false);
                }
                node.free.remove(index);
                self.include(node, seat)?;
            } else if gram.iter().all(|entry| *entry == 0.0) {
                node.free.remove(index);
            } else {
                index += 1;
            }
        }
        Ok(true)
    }

    fn is_met(&mut self, node: &Node) -> Metered<bool> {
        let spare = node.included_level - self.required;
        if spare.units().abs() > self.round.noise().units() {
            return Ok(spare > Information::ZERO);
        }
        let members = Solution { cost: node.cost, set: node.set }.winners();
        Ok(self.kernel.level(&self.round.sum(&members))? >= self.required)
    }

    fn include(&mut self, node: &mut Node, seat: Seat) -> Metered<()> {
        add(&mut node.included, self.round.gram(seat));
        node.included_level = self.kernel.level(&node.included)?;
        node.cost += i128::from(self.round.ask(seat).micros());
        node.set |= 1 << seat.0;
        Ok(())
    }

    fn exclude(&mut self, node: &mut Node, seat: Seat) -> Metered<()> {
        for (entry, x) in node.available.iter_mut().zip(self.round.gram(seat)) {
            *entry -= x;
        }
        node.available_level = self.kernel.level(&node.available)?;
        Ok(())
    }

    /// A lower bound of the cost of every covering set below a node.
    fn bound(&mut self, node: &Node) -> Metered<i128> {
        let noise = self.round.noise();
        let (mut with, mut without) = (Vec::new(), Vec::new());
        self.kernel.levels_with(&beside(self.round, &node.included, &node.free), &mut with)?;
        self.kernel.levels_without(&beside(self.round, &node.available, &node.free), &mut without)?;
        let mut items = Vec::with_capacity(node.free.len());
        for ((&seat, with), without) in node.free.iter().zip(with).zip(without) {
            let gain = with - node.included_level + noise;
            let loss = node.available_level - without - noise;
            let ask = self.round.ask(seat).micros() as f64;
            items.push(Item { ask, gain: gain.units() as f64, loss: loss.units().max(0) as f64 });
        }
        // The noise of one gain for each of at most 128 clients.
        let margin = (noise.units() * 128) as f64;
        let missing = (self.required - node.included_level).units() as f64 - margin;
        let spare = (node.available_level - self.required).units() as f64 + margin;
        let more = cost_of_missing(&mut items, missing).max(cost_after_savings(&mut items, spare));
        // Asks are whole micro-units: rounding up is safe, once a thousandth is taken off for the rounding of the sums. 1e37
        // fits into 128 bits, and stands for a set that cannot be completed.
        Ok(node.cost + (more - 1e-3).ceil().clamp(0.0, 1e37) as i128)
    }
}

/// A matrix with that of each client.
fn beside<'a>(round: &'a Round, matrix: &'a [f64], seats: &[Seat]) -> Vec<Pair<'a>> {
    seats.iter().map(|&seat| (matrix, round.gram(seat))).collect()
}
