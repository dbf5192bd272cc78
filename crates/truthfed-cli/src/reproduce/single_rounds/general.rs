//! What Sections 2.2 and 4.1 say of truthful mechanisms in general: monotone rules with critical payments, and VCG.

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::{Clock, Greedy, Mechanism, Ratchet, Round, Seat, Vcg, certify};
use truthfed_report::page::VerdictKind::NotReproduced;

use super::super::claim::{Claim, Evidence, Number};
use super::super::decision::Side;
use super::super::literal;
use super::super::readings::all;
use super::{REPRODUCE, Statement, audit, best_gain, sample};

pub(super) fn claims(rounds: &[Round]) -> Vec<Claim> {
    vec![characterised(rounds), vcg(rounds), approximate_vcg(rounds)]
}

fn characterised(rounds: &[Round]) -> Claim {
    let claim = "A monotone rule has critical values (Definition 4), and paying them makes it truthful.";
    let violation = "runs of the monotone rules greedy, ratchet and clock have a client that gains by a lie, or a payment that is \
                     not critical";
    let statement = Statement::new("characterised", "Section 4.1, Definition 4", claim, violation)
        .because("A known result. What fails for Algorithm 1 is that it is monotone.");
    statement.search(rounds, &audit("clock", rounds.len(), "monotone,certified,truthful"), |round| {
        let rules: [&dyn Mechanism; 3] = [&Greedy, &Ratchet::default(), &Clock];
        let is_broken = |rule: &&&dyn Mechanism| {
            let honest = rule.run(round).expect("it never refuses");
            certify(round, **rule, &honest).is_err() || best_gain(**rule, round, &honest) > 1e-6
        };
        (rules.len(), rules.iter().filter(is_broken).count())
    })
}

fn vcg(rounds: &[Round]) -> Claim {
    let claim = "VCG is truthful where it finds an optimal selection.";
    let statement = Statement::new("vcg", "Section 2.2", claim, "random rounds have a client that gains by a lie")
        .because("A known result.");
    statement.search(rounds, &audit("vcg", rounds.len(), "truthful"), |round| {
        let vcg = Vcg::default();
        let honest = vcg.run(round).expect("so few clients are searched");
        (1, usize::from(best_gain(&vcg, round, &honest) > 1e-6))
    })
}

fn approximate_vcg(rounds: &[Round]) -> Claim {
    let gains = rounds.par_iter().filter(|round| pays_a_lie(round)).count();
    let measured = format!(
        "with the selection of Algorithm 3, in {gains} of {} random rounds a client gains more than 5 % by a lie",
        rounds.len()
    );
    let some = Number::share("rounds with a gain", gains, rounds.len()).claimed(Side::Above(0.0), NotReproduced);
    let evidence = Evidence::new(measured, vec![some], sample(rounds), REPRODUCE);
    let claim = "With a selection that is not optimal, the payments of VCG need not be truthful.";
    Claim::new("approximate-vcg", "Section 2.2", claim, "", vec![evidence.under(all())])
}

/// Whether some client gains more than 5 % of its cost by asking 0.5, 1.1, 1.5 or 2 times as much.
fn pays_a_lie(round: &Round) -> bool {
    round.seats().filter(|seat| round.ask(*seat) > Amount::ZERO).any(|seat| {
        let cost = round.ask(seat).micros();
        let gains = [0.5, 1.1, 1.5, 2.0].map(|factor| {
            let ask = Amount::saturating((cost as f64 * factor) as i128).min(round.reserve());
            pivot(&round.with_ask(round.client(seat), ask), seat).map_or(0, |paid| paid - cost)
        });
        let honest = pivot(round, seat).map_or(0, |paid| paid - cost);
        gains.into_iter().any(|lied| (lied - honest) as f64 > 0.05 * cost as f64)
    })
}

/// What a client is paid if Algorithm 3 selects it: what the others cost without it, less what they cost with it, but no more
/// than the reserve.
fn pivot(round: &Round, seat: Seat) -> Option<i64> {
    let cost = |seats: &[Seat]| -> i64 { seats.iter().map(|seat| round.ask(*seat).micros()).sum() };
    let winners = greedy(round, None)?;
    let others = winners.contains(&seat).then(|| cost(&winners) - round.ask(seat).micros())?;
    let reserve = round.reserve().micros();
    Some(greedy(round, Some(seat)).map_or(reserve, |without| (cost(&without) - others).min(reserve)))
}

/// The winners of Algorithm 3, without a client if one is given; none if all that are left do not reach the target.
fn greedy(round: &Round, without: Option<Seat>) -> Option<Vec<Seat>> {
    let order = literal::greedy(round, i64::MAX, without);
    let required = round.required(round.coverage());
    let enough = (0..=order.len()).find(|count| literal::level(round, &order[..*count]) >= required)?;
    Some(order[..enough].to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::odd_round;
    use super::*;

    #[test]
    fn pivots_of_an_optimal_selection_are_the_payments_of_vcg() {
        let mut compared = 0;
        for (seed, round) in (0..200).map(|seed| (seed, odd_round(seed))) {
            let vcg = Vcg::default().run(&round).unwrap();
            let is_optimal = |without: Option<Seat>| {
                let cost = |seats: &[Seat]| seats.iter().map(|seat| round.ask(*seat).micros()).sum::<i64>();
                let others =
                    without.map_or_else(|| round.clone(), |seat| round.with_ask(round.client(seat), round.reserve()));
                let best = Vcg::default().select(&others).unwrap();
                without.is_none_or(|seat| !best.contains(&seat))
                    && greedy(&round, without).is_some_and(|it| cost(&it) == cost(&best))
            };
            let is_known = |seat: Seat| is_optimal(None) && is_optimal(Some(seat));
            for winner in vcg.winners().iter().filter(|winner| winner.ask > Amount::ZERO && is_known(winner.seat)) {
                let Some(paid) = pivot(&round, winner.seat) else { continue };
                // At Clarke's value both selections cost the same, and the tie may go to the others.
                let above = paid - winner.payment.micros();
                assert!((0..=1).contains(&above), "seed {seed}, {}: {above}", winner.client);
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared}");
    }
}
