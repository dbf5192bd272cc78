//! Claims about a single auction: monotonicity, truthfulness, payments, and the steps of the algorithms.
//!
//! A file for each group of statements: Truth-FedBan as a mechanism ([`truth_fedban`]), the steps of its algorithms ([`steps`])
//! and of the proofs ([`proofs`]), the baselines ([`baselines`]), and truthful mechanisms in general ([`general`]). All are searched
//! on the same random rounds.

mod baselines;
mod general;
mod proofs;
mod steps;
mod truth_fedban;

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::{Mechanism, Outcome, Round, Seat};
use truthfed::generate::varied_within;
use truthfed_report::page::Section;

use super::Part;
use super::claim::{Cell, Claim, Evidence, Number, Sample};
use super::lab::Lab;
use super::literal;
use super::readings::{TARGETS, all, flags, with_target};

pub(super) use self::steps::{ALONE, exponent};
pub(super) use self::truth_fedban::{FIXED_GRID, PAID_LESS, PRINTED_GRID};

pub(super) fn run(lab: &Lab) -> Part {
    lab.stage("single rounds");
    let rounds: Vec<Round> = (0..lab.many(600)).map(odd_round).collect();
    let searched = truth_fedban::search_all(&rounds);
    let growth = steps::selection_growth(lab);
    let claims = [
        truth_fedban::claims(&searched),
        steps::claims(&rounds, &growth),
        proofs::claims(&rounds),
        baselines::claims(&rounds),
        general::claims(&rounds),
    ]
    .concat();
    let text = "A mechanism can be truthful only if it is monotone: a client that wins with an ask also wins with any \
                lower one. These searches look through random small rounds (3 to 11 clients, dimension 1 to 4), most of them \
                odd on purpose. What depends on the target is searched under both readings of it; the trigger plays no part in \
                a single round.";
    let items = [truth_fedban::table(&searched).into(), steps::figure(&growth).into()];
    Part { section: Section::new("rounds", "Single rounds", [text], items), claims, ours: Vec::new() }
}

/// Where no other command shows what was counted.
const REPRODUCE: &str = "truthfed reproduce";

/// A command in the reading of a target.
fn with_flags(command: &str, target: &str) -> String {
    match command {
        REPRODUCE => command.to_owned(),
        command => format!("{command} {}", flags(target)),
    }
}

/// Differences of information below this are rounding.
const ROUNDING: f64 = 1e-9;

/// Clients and dimensions of the random rounds.
const CLIENTS: (usize, usize) = (3, 11);
const DIMENSIONS: (usize, usize) = (1, 4);

fn odd_round(seed: u64) -> Round {
    varied_within(seed, CLIENTS, DIMENSIONS)
}

/// The command that audits so many of these rounds. It tries more asks than the searches here, and may count clients instead of
/// rounds.
fn audit(mechanism: &str, rounds: usize, check: &str) -> String {
    let ((least, most), (low, high)) = (CLIENTS, DIMENSIONS);
    format!(
        "truthfed audit -m {mechanism} --seed 0 --random {rounds} --clients {least}..{most} --dim {low}..{high} --check {check}"
    )
}

fn sample(rounds: &[Round]) -> Sample {
    Sample::odd_rounds(rounds.len() as u64)
}

/// A statement that one violation refutes.
struct Statement {
    id: &'static str,
    source: &'static str,
    claim: &'static str,
    /// What a violation is, after "3 of 600".
    violation: &'static str,
    why: &'static str,
}

impl Statement {
    fn new(id: &'static str, source: &'static str, claim: &'static str, violation: &'static str) -> Statement {
        Statement { id, source, claim, violation, why: "" }
    }

    fn because(self, why: &'static str) -> Statement {
        Statement { why, ..self }
    }

    /// Looks for violations in all rounds. `of` counts the cases of a round, and those that break the statement.
    fn search(self, rounds: &[Round], command: &str, of: impl Fn(&Round) -> (usize, usize) + Sync) -> Claim {
        let cell = self.cell(all(), rounds, command.to_owned(), of);
        Claim::new(self.id, self.source, self.claim, self.why, vec![cell])
    }

    /// The same under each reading of the target, in the rounds in which it makes Algorithm 1 search. The command ends with the
    /// flags of the target.
    fn search_by_target(
        self,
        rounds: &[Round],
        command: &str,
        of: impl Fn(&Round, &str) -> (usize, usize) + Sync,
    ) -> Claim {
        let cell = |target: &'static str| {
            let command = with_flags(command, target);
            let searched = |round: &Round| if is_searched(round, target) { of(round, target) } else { (0, 0) };
            self.cell(with_target(target), rounds, command, searched)
        };
        Claim::new(self.id, self.source, self.claim, self.why, TARGETS.map(cell).to_vec())
    }

    fn cell(
        &self,
        readings: Vec<&'static str>,
        rounds: &[Round],
        command: String,
        of: impl Fn(&Round) -> (usize, usize) + Sync,
    ) -> Cell {
        let found = rounds.par_iter().map(&of).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        self.judge(readings, found.into(), sample(rounds), command)
    }

    fn judge(&self, readings: Vec<&'static str>, found: Found, sample: Sample, command: String) -> Cell {
        let Found { tried, broken, more, numbers } = found;
        let measured = format!("{broken} of {tried} {}{more}", self.violation);
        let numbers = [vec![Number::never("violations", broken, tried)], numbers].concat();
        Evidence::new(measured, numbers, sample, command).under(readings)
    }
}

/// How many cases were tried, how many of them break a statement, and what else there is to say of them.
struct Found {
    tried: usize,
    broken: usize,
    more: String,
    /// Those of a constructed case among them may decide too.
    numbers: Vec<Number>,
}

impl From<(usize, usize)> for Found {
    fn from((tried, broken): (usize, usize)) -> Found {
        Found { tried, broken, more: String::new(), numbers: Vec::new() }
    }
}

/// Rounds in which a paying search takes place.
fn is_searched(round: &Round, target: &str) -> bool {
    round.seats().all(|seat| round.ask(seat) > Amount::ZERO) && round.level(&[]) < literal::required(round, target)
}

fn total(round: &Round) -> i64 {
    round.seats().map(|seat| round.ask(seat).micros()).sum()
}

/// 17 rising budgets, from nothing to almost everything.
fn budgets(round: &Round) -> impl Iterator<Item = i64> {
    let sixteenth = total(round) / 16;
    (0..=16).map(move |part| sixteenth * part)
}

/// 40 rising asks, up to twice the highest ask of the round or the reserve.
fn asks(round: &Round) -> Vec<Amount> {
    let highest = round.seats().map(|seat| round.ask(seat).micros()).max().unwrap_or(0).max(1_000_000);
    let top = (2 * highest).min(round.reserve().micros());
    (1..=40).filter_map(|step| Amount::from_micros(top * step / 40)).collect()
}

fn wins(mechanism: &dyn Mechanism, round: &Round, seat: Seat, ask: Amount) -> bool {
    let asked = round.with_ask(round.client(seat), ask);
    mechanism.select(&asked).is_ok_and(|winners| winners.contains(&seat))
}

fn breaks_monotonicity(mechanism: &dyn Mechanism, round: &Round) -> bool {
    let asks = asks(round);
    round.seats().any(|seat| {
        let won: Vec<bool> = asks.iter().map(|&ask| wins(mechanism, round, seat, ask)).collect();
        won.windows(2).any(|pair| !pair[0] && pair[1])
    })
}

/// The largest gain of a client that asks 0.5, 1.1, 1.5 or 2 times its cost, relative to its cost.
fn best_gain(mechanism: &dyn Mechanism, round: &Round, honest: &Outcome) -> f64 {
    let gain = |seat: Seat| {
        let (client, cost) = (round.client(seat), round.ask(seat).to_f64());
        let utility = |outcome: &Outcome| outcome.winner(client).map_or(0.0, |won| won.payment.to_f64() - cost);
        let lied = |factor: f64| {
            let ask = Amount::from_micros((round.ask(seat).micros() as f64 * factor) as i64).unwrap_or(Amount::MAX);
            mechanism.run(&round.with_ask(client, ask)).map_or(0.0, |outcome| utility(&outcome))
        };
        let best = [0.5, 1.1, 1.5, 2.0].map(lied).into_iter().fold(0.0, f64::max);
        if cost > 0.0 { (best - utility(honest)) / cost } else { 0.0 }
    };
    round.seats().map(gain).fold(0.0, f64::max)
}
