//! Steps that the proofs take without a number of their own, and what is said of essential clients.

use truthfed::Amount;
use truthfed::auction::{Round, Seat};

use super::super::claim::Claim;
use super::super::literal;
use super::super::readings::truth_fedban;
use super::{REPRODUCE, ROUNDING, Statement, budgets, wins};

pub(super) fn claims(rounds: &[Round]) -> Vec<Claim> {
    vec![parting(rounds), half_budget(rounds), stopping_budget(rounds), stays_selected(rounds), essential(rounds)]
}

fn parting(rounds: &[Round]) -> Claim {
    let claim = "Where two budgets part, the client that the larger buys adds at least as much as all that the smaller buys from there, each alone.";
    let violation = "pairs of budgets part at a client that adds less";
    let statement = Statement::new("parting", "Equation 9", claim, violation)
        .because("The paper has more instead of at least as much, which ties break. Clients that add nothing are not bought here.");
    statement.search(rounds, REPRODUCE, |round| {
        let bought: Vec<Vec<Seat>> = budgets(round).map(|budget| literal::greedy(round, budget, None)).collect();
        let level = |seats: &[Seat]| literal::level(round, seats).to_nats();
        let of_pair = |pair: &[Vec<Seat>]| {
            let (less, more) = (&pair[0], &pair[1]);
            let at = less.iter().zip(more).take_while(|(a, b)| a == b).count();
            let added = |seat: &Seat| level(&[&less[..at], &[*seat]].concat()) - level(&less[..at]);
            let later: f64 = less[at..].iter().map(added).sum();
            more.get(at).map(|first| added(first) + ROUNDING < later)
        };
        let parted: Vec<bool> = bought.windows(2).filter_map(of_pair).collect();
        (parted.len(), parted.into_iter().filter(|is_broken| *is_broken).count())
    })
}

fn half_budget(rounds: &[Round]) -> Claim {
    let claim = "With the budget before the one at which Algorithm 1 stops, Algorithm 2 misses the target, as Equation 6 needs.";
    let violation = "searches stop at a budget of which half would do";
    let statement = Statement::new("half-budget", "Equation 4", claim, violation).because(
        "The first budget is twice the smallest ask, and the smallest ask itself is never tried: it may buy enough if it may be spent \
         whole. If the set before the first budget is taken to be empty, Equation 4 holds, and Equation 6 fails there.",
    );
    statement.search_by_target(
        rounds,
        "truthfed auction counterexamples/alone.json -m truth-fedban",
        |round, target| {
            let Some(stop) = literal::search(round, target, None).filter(|stop| stop.steps > 0) else { return (0, 0) };
            let bought = literal::greedy(round, literal::spendable(stop.budget / 2, target), None);
            (1, usize::from(literal::level(round, &bought) >= literal::required(round, target)))
        },
    )
}

fn stopping_budget(rounds: &[Round]) -> Claim {
    let claim = "If a winner asks less, Algorithm 1 stops at no larger a budget.";
    let violation = "winners that ask less make it stop at a larger one";
    let statement = Statement::new("stopping-budget", "Appendix A, proof of Proposition 5", claim, violation).because(
        "A lower ask changes what a budget buys, and the target can be missed. This is one of two places where the proof fails.",
    );
    statement.search_by_target(rounds, REPRODUCE, |round, target| {
        let Some(stop) = literal::search(round, target, None) else { return (0, 0) };
        let is_later = |seat: Seat| lower_asks(round, seat, target).any(|(_, budget)| budget > stop.budget);
        let winners = truth_fedban(target, &[]).select(round).expect("it never refuses");
        (winners.len(), winners.into_iter().filter(|seat| is_later(*seat)).count())
    })
}

fn stays_selected(rounds: &[Round]) -> Claim {
    let claim = "A winner that asks less, so that Algorithm 1 stops at no larger a budget, is still selected.";
    let violation = "winners that ask less lose at no larger a budget";
    let statement = Statement::new("stays-selected", "Appendix A, proof of Proposition 5", claim, violation).because(
        "A lower ask moves the grid of budgets, and at a smaller budget others may be bought. This is the other place where the \
         proof fails.",
    );
    statement.search_by_target(rounds, REPRODUCE, |round, target| {
        let mechanism = truth_fedban(target, &[]);
        let Some(stop) = literal::search(round, target, None) else { return (0, 0) };
        let loses = |seat: Seat| {
            let mut lower = lower_asks(round, seat, target).filter(|(_, budget)| *budget <= stop.budget);
            lower.any(|(ask, _)| !wins(mechanism.as_ref(), round, seat, ask))
        };
        let winners = mechanism.select(round).expect("it never refuses");
        (winners.len(), winners.into_iter().filter(|seat| loses(*seat)).count())
    })
}

/// Lower asks of a client, and the budget at which Algorithm 1 then stops.
fn lower_asks(round: &Round, seat: Seat, target: &str) -> impl Iterator<Item = (Amount, i64)> {
    let lower = [0.5, 0.8, 0.95].map(|factor| (round.ask(seat).micros() as f64 * factor) as i64);
    let lower = lower.into_iter().filter(|micros| *micros > 0).filter_map(Amount::from_micros);
    lower.filter_map(move |ask| {
        Some((ask, literal::search(&round.with_ask(round.client(seat), ask), target, None)?.budget))
    })
}

fn essential(rounds: &[Round]) -> Claim {
    let claim = "An essential client has an infinite critical value: it wins with any ask.";
    let violation = "essential clients lose if they ask the reserve";
    let statement = Statement::new("essential", "Sections 2.2 and 3, Appendix G.3", claim, violation)
        .because("The highest ask here is the reserve, and essential clients are paid it.");
    statement.search_by_target(
        rounds,
        "truthfed auction counterexamples/alone.json -m truth-fedban",
        |round, target| {
            let mechanism = truth_fedban(target, &[]);
            let is_essential = |seat: &Seat| {
                let others: Vec<Seat> = round.seats().filter(|other| other != seat).collect();
                round.level(&others) < literal::required(round, target)
            };
            let essential: Vec<Seat> = round.seats().filter(is_essential).collect();
            let loses = |seat: &&Seat| !wins(mechanism.as_ref(), round, **seat, round.reserve());
            (essential.len(), essential.iter().filter(loses).count())
        },
    )
}
