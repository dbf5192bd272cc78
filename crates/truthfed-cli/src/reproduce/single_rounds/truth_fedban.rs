//! Truth-FedBan as a mechanism: monotone, truthful, individually rational, with critical payments.

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::{Mechanism, Round, RoundDocument, Winner};
use truthfed_report::page::{Table, VerdictKind};

use super::super::claim::{Claim, Number, Sample};
use super::super::decision::Side;
use super::super::readings::{FINEST, TARGETS, truth_fedban, with_target};
use super::{Found, REPRODUCE, Statement, audit, best_gain, breaks_monotonicity, with_flags};

/// A round in which Algorithm 1 as printed is not monotone and rewards a lie.
pub(in crate::reproduce) const PRINTED_GRID: &str = include_str!("../counterexamples/printed-grid.json");
/// A round in which Algorithm 1 is not monotone even with a fixed grid of budgets.
pub(in crate::reproduce) const FIXED_GRID: &str = include_str!("../counterexamples/fixed-grid.json");

/// A round in which a winner is paid less than it asks, under both readings of the target.
pub(in crate::reproduce) const PAID_LESS: &str = include_str!("../counterexamples/paid-less.json");

/// What a search found against Truth-FedBan in one reading of its target.
pub(super) struct Searched {
    target: &'static str,
    rounds: usize,
    /// Rounds in which some client loses by asking less.
    broken: usize,
    /// Gains above 5 % of the cost, the largest of each round.
    gains: Vec<f64>,
    /// Winners in rounds with asks above 0: with an ask of 0 the paper's budgets would stay at 0.
    priced: usize,
    /// Those paid less than they ask by a bisection to the micro-unit, and the least share of it.
    below: usize,
    least: f64,
    /// Further winners paid less than they ask with the paper's tolerance.
    within_gamma: usize,
    /// Winners that ask half: those that still win, and are then paid otherwise.
    asked_less: usize,
    paid_otherwise: usize,
    /// Rounds in which some winner has the same utility with half its cost.
    other_best: usize,
    /// Winners whose payment is not the largest ask with which they win.
    not_critical: usize,
}

pub(super) fn search_all(rounds: &[Round]) -> Vec<Searched> {
    TARGETS.into_iter().map(|target| search(target, rounds)).collect()
}

fn search(target: &'static str, rounds: &[Round]) -> Searched {
    let mechanism = &*truth_fedban(target, &[]);
    let finest = &*truth_fedban(target, &[FINEST]);
    let found: Vec<Searched> = rounds.par_iter().map(|round| search_round(target, mechanism, finest, round)).collect();
    let zero = Searched::none(target);
    found.into_iter().fold(zero, |sum, one| Searched {
        target,
        rounds: sum.rounds + one.rounds,
        broken: sum.broken + one.broken,
        gains: [sum.gains, one.gains].concat(),
        priced: sum.priced + one.priced,
        below: sum.below + one.below,
        least: sum.least.min(one.least),
        within_gamma: sum.within_gamma + one.within_gamma,
        asked_less: sum.asked_less + one.asked_less,
        paid_otherwise: sum.paid_otherwise + one.paid_otherwise,
        other_best: sum.other_best + one.other_best,
        not_critical: sum.not_critical + one.not_critical,
    })
}

impl Searched {
    fn none(target: &'static str) -> Searched {
        Searched {
            target,
            rounds: 0,
            broken: 0,
            gains: Vec::new(),
            priced: 0,
            below: 0,
            least: 1.0,
            within_gamma: 0,
            asked_less: 0,
            paid_otherwise: 0,
            other_best: 0,
            not_critical: 0,
        }
    }
}

fn search_round(target: &'static str, mechanism: &dyn Mechanism, finest: &dyn Mechanism, round: &Round) -> Searched {
    let honest = mechanism.run(round).expect("it never refuses");
    let gain = best_gain(mechanism, round, &honest);
    let mut found = Searched {
        rounds: 1,
        broken: usize::from(breaks_monotonicity(mechanism, round)),
        gains: Some(gain).filter(|gain| *gain > 0.05).into_iter().collect(),
        ..Searched::none(target)
    };
    let is_usual = round.seats().all(|seat| round.ask(seat) > Amount::ZERO);
    let exact = finest.run(round).expect("it never refuses");
    let mut is_other_best = false;
    for winner in exact.winners().iter().filter(|_| is_usual) {
        found.priced += 1;
        let at = |ask: Amount| finest.select(&round.with_ask(&winner.client, ask)).expect("it never refuses");
        let wins = |ask: Amount| ask <= round.reserve() && at(ask).contains(&winner.seat);
        let above = Amount::from_micros(winner.payment.micros() + 2).unwrap_or(Amount::MAX);
        let below = Amount::from_micros((winner.payment.micros() - 2).max(0)).unwrap_or(Amount::ZERO);
        let is_below = winner.payment.micros() + 2 < winner.ask.micros();
        // A winner that is paid less than it asks wins above its payment.
        found.not_critical += usize::from(is_below || !wins(below) || wins(above));
        if is_below {
            found.below += 1;
            found.least = found.least.min(winner.payment.to_f64() / winner.ask.to_f64());
        } else {
            found.within_gamma +=
                usize::from(honest.winner(&winner.client).is_some_and(|coarse| coarse.payment < coarse.ask));
        }
    }
    for winner in honest.winners() {
        let half = Amount::from_micros(winner.ask.micros() / 2).expect("half an amount is one");
        if half == winner.ask {
            continue;
        }
        let lied = mechanism.run(&round.with_ask(&winner.client, half)).expect("it never refuses");
        if let Some(now) = lied.winner(&winner.client) {
            found.asked_less += 1;
            found.paid_otherwise += usize::from(now.payment != winner.payment);
            is_other_best |= now.payment == winner.payment;
        }
    }
    found.other_best = usize::from(is_other_best);
    found
}

pub(super) fn table(searched: &[Searched]) -> Table {
    let row = |found: &Searched| {
        let most = found.gains.iter().copied().fold(0.0, f64::max);
        vec![
            found.target.to_owned(),
            format!("{} of {}", found.broken, found.rounds),
            format!("{} of {}", found.gains.len(), found.rounds),
            if most > 0.0 { format!("{most:.2} times its cost") } else { "none".to_owned() },
            format!("{} of {}", found.below, found.priced),
        ]
    };
    let header = [
        "target",
        "rounds with a client that loses by asking less",
        "rounds with a gain above 5 %",
        "largest gain",
        "winners paid less than they ask, to the micro-unit, with all asks above 0",
    ];
    let caption =
        "Random search for violations by Truth-FedBan. Lies tried for gains: 0.5, 1.1, 1.5 and 2 times the cost.";
    Table::new(caption, header, searched.iter().map(row)).with_numeric([1, 2, 3, 4])
}

impl Statement {
    /// Judges what was found under each reading of the target. The command ends with the flags of the target.
    fn found(self, searched: &[Searched], command: &str, of: impl Fn(&Searched) -> Found) -> Claim {
        let cell = |found: &Searched| {
            let command = with_flags(command, found.target);
            let sample = Sample::odd_rounds(found.rounds as u64);
            self.judge(with_target(found.target), of(found), sample, command)
        };
        Claim::new(self.id, self.source, self.claim, self.why, searched.iter().map(cell).collect())
    }
}

pub(super) fn claims(searched: &[Searched]) -> Vec<Claim> {
    vec![
        monotone(searched),
        truthful(searched),
        individually_rational(searched),
        only_way(searched),
        independent(searched),
        critical(searched),
    ]
}

fn monotone(searched: &[Searched]) -> Claim {
    let claim = "The selection of Algorithm 1 is monotone.";
    let violation = "random rounds have a client that loses by asking less";
    Statement::new("monotone", "Proposition 5", claim, violation)
        .because(
            "A client that lowers its ask can move the grid of budgets, or change the purchases after it so that the target \
             is missed at that budget. The audit has the smallest round.",
        )
        .found(searched, &audit("truth-fedban", searched[0].rounds, "monotone"), |found| (found.rounds, found.broken).into())
}

fn truthful(searched: &[Searched]) -> Claim {
    let claim = "No client gains by misreporting its cost.";
    let violation = "random rounds have a client that gains more than 5 % of its cost by a lie";
    let statement =
        Statement::new("truthful", "Theorem 8 (a), Table 1", claim, violation).because("It rests on Proposition 5.");
    statement.found(searched, &audit("truth-fedban", searched[0].rounds, "truthful"), |found| {
        let most = found.gains.iter().copied().fold(0.0, f64::max);
        Found {
            more: format!(", at most {most:.2} times its cost"),
            numbers: vec![Number::exact("largest gain over cost", most)],
            ..(found.rounds, found.gains.len()).into()
        }
    })
}

fn individually_rational(searched: &[Searched]) -> Claim {
    let claim = "No client that takes part has a negative utility.";
    let violation =
        "winners in rounds with all asks above 0 are paid less than they ask by a bisection to the micro-unit";
    let command = "truthfed auction counterexamples/paid-less.json -m truth-fedban --gamma 0.000001";
    Statement::new("individually-rational", "Theorem 8 (b), Table 1, Appendix G.3", claim, violation)
        .because(
            "Winning asks need not be an interval: a bisection from 0, as Algorithm 7 prints it, can end below an ask that wins. One \
             that begins at the ask, as the text of Appendix G.3 has it (`--bisection-from ask`), is individually rational.",
        )
        .found(searched, command, |found| {
            let Winner { ask, payment, .. } = worst_paid(found.target);
            let least = if found.below > 0 { format!(", at worst {:.2} of it", found.least) } else { String::new() };
            Found {
                more: format!(
                    "{least}; {} more only because the paper's bisection stops within γ = 1; in the constructed round of three \
                     clients one asks {ask} and is paid {payment}",
                    found.within_gamma
                ),
                numbers: vec![
                    Number::exact("least payment over ask", found.least),
                    Number::share("further winners within γ", found.within_gamma, found.priced),
                    constructed(ask, payment),
                ],
                ..(found.priced, found.below).into()
            }
        })
}

/// The winner of the constructed round that is paid the least share of its ask, to the micro-unit.
fn worst_paid(target: &str) -> Winner {
    let round = RoundDocument::read_round(PAID_LESS).expect("a valid round");
    let outcome = truth_fedban(target, &[FINEST]).run(&round).expect("it never refuses");
    let share = |winner: &Winner| winner.payment.to_f64() / winner.ask.to_f64();
    let worst = outcome.winners().iter().min_by(|a, b| share(a).total_cmp(&share(b)));
    worst.expect("the round needs winners").clone()
}

fn constructed(ask: Amount, payment: Amount) -> Number {
    Number::exact("least payment over ask in the constructed round", payment.to_f64() / ask.to_f64())
        .claimed(Side::AtLeast(1.0), VerdictKind::Refuted)
}

fn only_way(searched: &[Searched]) -> Claim {
    let claim = "Reporting the true cost is the only way to achieve the best utility.";
    let violation = "random rounds have a winner with the same utility if it asks half its cost";
    Statement::new("only-way", "Abstract, proof of Theorem 8", claim, violation)
        .because("Case 1 of the proof says the opposite: any two winning asks earn the same.")
        .found(searched, REPRODUCE, |found| (found.rounds, found.other_best).into())
}

fn independent(searched: &[Searched]) -> Claim {
    let claim = "A winner's payment does not depend on its own ask.";
    let violation = "winners that still win with half their ask are paid otherwise";
    Statement::new("independent", "Equation 2", claim, violation)
        .because("With `--bisection-from ask` it would.")
        .found(searched, REPRODUCE, |found| (found.asked_less, found.paid_otherwise).into())
}

fn critical(searched: &[Searched]) -> Claim {
    let claim = "The payment of Algorithm 7 is critical (Definition 4): a client wins below it and loses above it.";
    let violation = "winners in rounds with all asks above 0 lose below their payment or win above it, with a bisection to the micro-unit";
    let command = "truthfed auction counterexamples/paid-less.json -m truth-fedban --gamma 0.000001";
    Statement::new("critical", "Appendix G.3, proof of Theorem 8", claim, violation)
        .because("A critical value exists only for monotone rules.")
        .found(searched, command, |found| {
            let Winner { ask, payment, .. } = worst_paid(found.target);
            Found {
                more: format!("; in the constructed round one is paid {payment} and wins with {ask}"),
                numbers: vec![constructed(ask, payment)],
                ..(found.priced, found.not_critical).into()
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_winner_of_the_constructed_round_is_paid_less_than_it_asks_unless_the_bisection_begins_there() {
        let round = RoundDocument::read_round(PAID_LESS).unwrap();
        let least = |target: &str, from: &str| {
            let outcome = truth_fedban(target, &[FINEST, ("bisection_from", from)]).run(&round).unwrap();
            outcome.winners().iter().map(|it| it.payment.to_f64() / it.ask.to_f64()).fold(f64::MAX, f64::min)
        };
        for target in TARGETS {
            assert!(least(target, "zero") < 0.51 && least(target, "ask") >= 1.0, "{target}");
        }
    }
}
