//! `truth-fedban`: the paper's Algorithms 1, 2 and 7, as printed unless parameters choose another reading.
//!
//! Budgets grow by (1 + epsilon) from the smallest ask; the first at which Algorithm 2 meets the target
//! coverage^(1 - 1/e) decides the winners. A winner is paid the last midpoint of a bisection between 0 and
//! the budget at which the search without it stops.
//!
//! Neither is truthful: the client with the smallest ask moves the whole grid, and a client that lowers
//! its ask can change the purchases after it, miss the target and be dropped. The tests show both.
//!
//! Readings: `target` says what (1 - 1/e) log c means ([`super::target`]); `bisection_from` where the bisection begins: at 0
//! (Algorithm 7) or at the winner's ask (the text around it), which pays no winner less than it asks but makes payments
//! depend on asks; `strict_budget` whether purchases cost less than the budget (Algorithm 2) or at most as much (the proofs).
//!
//! Where the print leaves a gap: an ask of 0 would make the first budget 0 for ever, so the grid starts at the
//! smallest ask above 0 (if there is none, every ask is affordable and any budget will do). A bisection
//! interval below the tolerance from the start gives its midpoint, an empty one its beginning. No payment exceeds the
//! reserve. Strictly less than a budget is at most a micro-unit less.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::budget::{EPSILON, Grid};
use super::catalog::{Claim, Claims, Entry};
use super::meter::{Metered, within_limit};
use super::outcome::{Priced, tally};
use super::parameter::{Kind, Parameter, ParameterError, Value};
use super::path::{Path, turns};
use super::target::{TARGET, Target};
use super::{Evaluations, Information, Mechanism, MechanismSetting, Outcome, PaymentRule, Refusal, Round, Seat};
use crate::Amount;

/// The printed truthful incentive search with bisected payments.
#[derive(Debug, Clone, Copy)]
pub struct TruthFedBan {
    epsilon: f64,
    gamma: Amount,
    target: Target,
    /// The bisection begins at the winner's ask instead of 0.
    from_ask: bool,
    strict_budget: bool,
}

/// As in the paper's experiments. At 0 the bisection would not end.
const GAMMA: Parameter = Parameter {
    name: "gamma",
    kind: Kind::Amount { default: Amount::from_units(1) },
    help: "the bisection of a payment stops within this",
};

const ZERO: &str = "zero";
const ASK: &str = "ask";
const BISECTION_FROM: Parameter = Parameter {
    name: "bisection_from",
    kind: Kind::Choice(&[ZERO, ASK]),
    help: "the bisection of a payment begins at 0, or at the winner's ask",
};

const STRICT_BUDGET: Parameter = Parameter {
    name: "strict_budget",
    kind: Kind::Switch,
    help: "purchases cost less than the budget, not at most as much",
};

pub(super) const ENTRY: Entry = Entry {
    name: "truth-fedban",
    summary: "the paper's Algorithms 1, 2 and 7, bisected payments; parameters choose a reading",
    target: "c^(1-1/e)",
    parameters: &[EPSILON, GAMMA, TARGET, BISECTION_FROM, STRICT_BUDGET],
    claims: |setting| Claims {
        individually_rational: if setting.choice(&BISECTION_FROM) == ASK { Claim::Yes } else { Claim::No },
        ..Claims::NONE
    },
    build: |setting| Box::new(TruthFedBan::of(setting)),
};

impl TruthFedBan {
    /// As printed: budgets grow by `1 + epsilon`, bisection stops within `gamma`.
    pub fn new(epsilon: f64, gamma: Amount) -> Result<TruthFedBan, ParameterError> {
        EPSILON.check(epsilon)?;
        GAMMA.check(gamma)?;
        Ok(TruthFedBan { epsilon, gamma, target: Target::Printed, from_ask: false, strict_budget: false })
    }

    fn of(setting: &MechanismSetting) -> TruthFedBan {
        TruthFedBan {
            epsilon: setting.real(&EPSILON),
            gamma: setting.amount(&GAMMA),
            target: Target::of(setting),
            from_ask: setting.choice(&BISECTION_FROM) == ASK,
            strict_budget: setting.is_on(&STRICT_BUDGET),
        }
    }

    /// A winner with its payment by bisection (Algorithm 7), and the log determinants it took.
    fn price(&self, search: &Search<'_>, turns: &[Option<usize>], seat: Seat) -> Metered<Priced> {
        let round = search.round;
        let turn = turns[seat.0];
        let without = Search::without(search, seat, turn)?;
        let mut evaluations = without.path.evaluations;
        if without.path.level < search.required {
            return Ok(((seat, round.reserve()), evaluations));
        }
        let (stop, work) = without.stopping_budget()?;
        evaluations += work;
        let from = if self.from_ask { i128::from(round.ask(seat).micros()) } else { 0 };
        let (mut low, mut high) = (from, stop.max(from));
        let mut middle = i128::midpoint(low, high);
        while high - low >= 2 * i128::from(self.gamma.micros()) {
            middle = i128::midpoint(low, high);
            let (wins, work) = match middle <= i128::from(round.reserve().micros()) {
                true => self.wins_at(search, seat, turn, Amount::saturating(middle))?,
                false => (false, 0),
            };
            evaluations += work;
            if wins { low = middle } else { high = middle }
        }
        Ok(((seat, Amount::saturating(middle).min(round.reserve())), evaluations))
    }

    fn wins_at(&self, search: &Search<'_>, seat: Seat, turn: Option<usize>, ask: Amount) -> Metered<(bool, u64)> {
        let round = search.round.with_seat_ask(seat, ask);
        // A higher ask leaves everything before the client's turn as it is; a lower one may come earlier.
        let same = if ask >= search.round.ask(seat) { turn.unwrap_or(search.path.len()) } else { 0 };
        let walk = search.path.resume(&round, same, None);
        let path = search.path.branch(walk, search.required)?;
        let probe = Search { round: &round, path, ..*search };
        let (winners, work) = probe.winners()?;
        Ok((winners.contains(&seat), work + probe.path.evaluations))
    }
}

impl Default for TruthFedBan {
    fn default() -> TruthFedBan {
        TruthFedBan::of(&ENTRY.setting())
    }
}

impl Mechanism for TruthFedBan {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        let from = if self.from_ask { ASK } else { ZERO };
        [
            EPSILON.with(self.epsilon),
            GAMMA.with(self.gamma),
            self.target.parameter(),
            BISECTION_FROM.with(from),
            STRICT_BUDGET.with(self.strict_budget),
        ]
        .into()
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        within_limit(round, |round| {
            let target = self.target.coverage(round);
            let search = Search::new(round, self)?;
            let (winners, work) = search.winners()?;
            let turns = turns(&search.path, round.admitted());
            let priced = winners.par_iter().map(|&seat| self.price(&search, &turns, seat));
            let (paid, price) = tally(priced.collect::<Result<_, _>>()?);
            let evaluations = Evaluations { select: search.path.evaluations + work, price };
            Ok(Outcome::new(round, self.name(), PaymentRule::Bisected, target, paid, evaluations))
        })
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        Ok(Search::new(round, self)?.winners()?.0)
    }
}

/// Algorithm 1 on a round, along the greedy path up to the target.
struct Search<'p> {
    round: &'p Round,
    epsilon: f64,
    strict_budget: bool,
    required: Information,
    without: Option<Seat>,
    path: Path<'p>,
}

impl<'p> Search<'p> {
    fn new(round: &'p Round, mechanism: &TruthFedBan) -> Metered<Search<'p>> {
        let TruthFedBan { epsilon, strict_budget, .. } = *mechanism;
        let required = round.required(mechanism.target.coverage(round));
        Ok(Search { round, epsilon, strict_budget, required, without: None, path: Path::new(round, required)? })
    }

    /// The most that a budget lets purchases cost.
    fn spendable(&self, budget: i128) -> i128 {
        if self.strict_budget { (budget - 1).max(0) } else { budget }
    }

    /// The same search if `seat`, whose turn was `turn`, were not there.
    fn without(search: &'p Search<'p>, seat: Seat, turn: Option<usize>) -> Metered<Search<'p>> {
        let walk = search.path.resume(search.round, turn.unwrap_or(search.path.len()), Some(seat));
        let path = search.path.branch(walk, search.required)?;
        Ok(Search { path, without: Some(seat), ..*search })
    }

    /// The winners, by seat, and the log determinants it took.
    fn winners(&self) -> Metered<(Vec<Seat>, u64)> {
        if self.round.base_level() >= self.required {
            return Ok((Vec::new(), 0));
        }
        let (budget, work) = self.stopping_budget()?;
        let budget = self.spendable(budget);
        let step = self.path.affordable(budget);
        let walk = self.path.resume(self.round, step, self.without).within(budget);
        let bought = self.path.branch(walk, Information::UNREACHABLE)?;
        let mut winners: Vec<Seat> = bought.picks().map(|pick| pick.ratio.seat).collect();
        winners.sort();
        Ok((winners, work + bought.evaluations))
    }

    /// The first budget that meets the target, and the log determinants it took.
    ///
    /// More budget never buys less information, so the first of the grid is found by halving.
    fn stopping_budget(&self) -> Metered<(i128, u64)> {
        let others = self.round.seats().filter(|&seat| Some(seat) != self.without);
        let positive = others.map(|seat| self.round.ask(seat).micros()).filter(|&micros| micros > 0);
        let Some(smallest) = positive.min() else { return Ok((0, 0)) };
        let grid = Grid::new(smallest, self.epsilon);
        // The path itself is affordable from here on. The printed loop multiplies before it buys.
        let (mut low, mut high) = (1, grid.reaching(self.path.spent + i128::from(self.strict_budget)).max(1));
        let mut evaluations = 0;
        // Most often the budget before is too small: ask there first.
        let mut probe = high.saturating_sub(1);
        while low < high {
            let (enough, work) = self.is_enough(self.spendable(grid.budget(probe)))?;
            evaluations += work;
            (low, high) = if enough { (low, probe) } else { (probe + 1, high) };
            probe = u64::midpoint(low, high);
        }
        Ok((grid.budget(high), evaluations))
    }

    fn is_enough(&self, budget: i128) -> Metered<(bool, u64)> {
        let step = self.path.affordable(budget);
        if step == self.path.len() {
            return Ok((true, 0));
        }
        let missed = self.path.pick(step);
        let ask = missed.ratio.ask.micros() as f64;
        let rest = (budget - missed.spent) as f64;
        // No affordable client is better value than the one missed. The margin of 1e-9 is far above the rounding of
        // these few float operations: too much only costs a walk.
        let at_best = missed.ratio.gain.to_nats() / ask * rest * (1.0 + 1e-9);
        let needed = (self.required - missed.level - self.round.noise()).to_nats();
        if at_best < needed {
            return Ok((false, 0));
        }
        let mut walk = self.path.resume(self.round, step, self.without).within(budget);
        while walk.level < self.required {
            let Some(pick) = walk.choose()? else { return Ok((false, walk.kernel.evaluations)) };
            walk.take(&pick);
        }
        Ok((true, walk.kernel.evaluations))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{check_payments, naive_greedy, one_dimensional, random_rounds};
    use crate::auction::{ClientId, RoundDocument};

    /// Algorithm 1 to the letter, budget by budget.
    fn letter_by_letter(round: &Round, mechanism: &TruthFedBan) -> Vec<Seat> {
        let asks = round.seats().map(|seat| round.ask(seat).micros());
        on_grid(round, Grid::new(asks.filter(|&ask| ask > 0).min().unwrap_or(1), mechanism.epsilon), mechanism)
    }

    /// Algorithm 1 on any grid of budgets.
    fn on_grid(round: &Round, grid: Grid, mechanism: &TruthFedBan) -> Vec<Seat> {
        let required = round.required(mechanism.target.coverage(round));
        let (mut level, mut m, mut winners) = (round.base_level(), 0, Vec::new());
        while level < required {
            m += 1;
            let budget = grid.budget(m) - i128::from(mechanism.strict_budget);
            let bought = naive_greedy(round, Information::UNREACHABLE, budget.max(0));
            level = bought.iter().fold(round.base_level(), |level, (_, gain)| level + *gain);
            winners = bought.into_iter().map(|(seat, _)| seat).collect();
        }
        winners.sort();
        winners
    }

    #[test]
    fn the_search_buys_what_the_printed_loop_buys_under_every_reading() {
        for (epsilon, target, strict_budget) in [
            (1.0, Target::Printed, false),
            (0.1, Target::Printed, false),
            (1.0, Target::Normalised, false),
            (0.1, Target::Normalised, true),
            (1.0, Target::Plain, true),
        ] {
            let mechanism = TruthFedBan { epsilon, target, strict_budget, ..TruthFedBan::default() };
            for (seed, round) in random_rounds(300) {
                let expected = letter_by_letter(&round, &mechanism);
                assert_eq!(mechanism.select(&round).unwrap(), expected, "seed {seed}, {mechanism:?}");
            }
        }
    }

    /// Algorithm 7 to the letter: select anew at each midpoint.
    #[test]
    fn a_payment_is_where_a_bisection_by_whole_selections_ends() {
        for target in [Target::Printed, Target::Normalised] {
            let mechanism = TruthFedBan { target, ..TruthFedBan::default() };
            for (seed, round) in random_rounds(300) {
                for winner in mechanism.run(&round).unwrap().winners() {
                    let search = Search::new(&round, &mechanism).unwrap();
                    let turn = turns(&search.path, round.admitted())[winner.seat.0];
                    let without = Search::without(&search, winner.seat, turn).unwrap();
                    let mut expected = i128::from(round.reserve().micros());
                    if without.path.level >= without.required {
                        let (mut low, mut high) = (0, without.stopping_budget().unwrap().0);
                        let mut middle = high / 2;
                        while high - low >= 2_000_000 {
                            middle = i128::midpoint(low, high);
                            let wins = middle <= i128::from(round.reserve().micros()) && {
                                let asked = round.with_seat_ask(winner.seat, Amount::saturating(middle));
                                mechanism.select(&asked).unwrap().contains(&winner.seat)
                            };
                            if wins { low = middle } else { high = middle }
                        }
                        expected = middle.min(expected);
                    }
                    assert_eq!(i128::from(winner.payment.micros()), expected, "seed {seed}");
                }
            }
        }
    }

    /// Both are needed and together ask 6, the first budget of the grid.
    #[test]
    fn a_strict_budget_cannot_be_spent_whole() {
        let round = one_dimensional(0.9, &[("a", "3", 1.0), ("b", "3", 1.0)]);
        let budget = |strict_budget: bool| {
            let mechanism = TruthFedBan { strict_budget, ..TruthFedBan::default() };
            Search::new(&round, &mechanism).unwrap().stopping_budget().unwrap().0
        };
        assert_eq!((budget(false), budget(true)), (6_000_000, 12_000_000));
    }

    #[test]
    fn a_bisection_that_begins_at_the_ask_pays_no_winner_less_than_it_asks() {
        let mut below = 0;
        let from_ask = TruthFedBan { from_ask: true, ..TruthFedBan::default() };
        for (seed, round) in random_rounds(300) {
            for (winner, printed) in from_ask
                .run(&round)
                .unwrap()
                .winners()
                .iter()
                .zip(TruthFedBan::default().run(&round).unwrap().winners())
            {
                assert!(winner.payment >= winner.ask, "seed {seed}");
                below += usize::from(printed.payment < printed.ask);
            }
        }
        assert!(below > 0, "a bisection from 0 pays some winner less than it asks");
    }

    #[test]
    fn a_grid_that_no_ask_can_move_does_not_mend_the_search() {
        #[derive(serde::Deserialize)]
        struct Counterexample {
            round: Box<serde_json::value::RawValue>,
            client: ClientId,
            epsilon: f64,
            first_budget: f64,
            wins: BTreeMap<String, bool>,
        }
        let text = include_str!("../../tests/vectors/fixed-grid-not-monotone.json");
        let example: Counterexample = serde_json::from_str(text).unwrap();
        let round = RoundDocument::read_round(example.round.get()).unwrap();
        let seat = round.seat_of(&example.client).unwrap();
        let grid = Grid::new((example.first_budget * 1e6) as i64, example.epsilon);
        assert_eq!(example.wins.len(), 2);
        for (ask, wins) in example.wins {
            let winners = on_grid(&round.with_seat_ask(seat, ask.parse().unwrap()), grid, &TruthFedBan::default());
            assert_eq!(winners.contains(&seat), wins, "at ask {ask}");
        }
    }

    #[test]
    fn a_winner_can_be_paid_far_below_its_ask_however_fine_the_bisection() {
        let round = crate::generate::federation(6, 3, 62);
        let finest = TruthFedBan::new(1.0, Amount::STEP).unwrap().run(&round).unwrap();
        let winner = finest.winner(&"c0".parse().unwrap()).unwrap();
        assert!(winner.payment.to_f64() < 0.6 * winner.ask.to_f64(), "asks {}, paid {}", winner.ask, winner.payment);
    }

    /// The bisection has nothing to do. Without a, budgets of 5, 10 and 20 are tried for b and c; without b, 3, 6 and 12.
    #[test]
    fn a_gamma_above_every_budget_pays_half_of_the_last() {
        let round = one_dimensional(0.3, &[("a", "3", 1.0), ("b", "5", 1.0), ("c", "9", 1.0)]);
        let coarse = TruthFedBan::new(1.0, Amount::from_units(1000)).unwrap();
        check_payments(&coarse, &round, &[("a", "10"), ("b", "6")]);
    }

    #[test]
    fn asks_of_zero_do_not_stop_the_budget_from_growing() {
        let round = one_dimensional(0.9, &[("a", "0", 1.0), ("b", "7", 5.0), ("c", "0", 0.5)]);
        let winners = TruthFedBan::default().run(&round).unwrap();
        assert_eq!(winners.winners().len(), 3);
        let free = one_dimensional(0.9, &[("a", "0", 1.0), ("b", "0", 5.0)]);
        assert_eq!(TruthFedBan::default().run(&free).unwrap().winners().len(), 2);
    }

    #[test]
    fn parameters_outside_their_bounds_are_refused() {
        let error = TruthFedBan::new(1.0, Amount::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "gamma is 0: it must be above 0");
        assert!(TruthFedBan::new(0.0, Amount::STEP).is_err());
        assert!(TruthFedBan::new(f64::NAN, Amount::STEP).is_err());
    }
}
