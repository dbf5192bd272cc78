//! The baselines: plain greedy (Algorithm 3), its second form (Algorithms 4 and 5), Inc-FedUCB and DisLinUCB.

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::{Everyone, Greedy, IncFedUcb, Mechanism, Round, Seat, certify};
use truthfed_report::page::VerdictKind::NotReproduced;

use super::super::claim::{Claim, Evidence, Number, Sample};
use super::super::decision::Side;
use super::super::literal;
use super::super::readings::{TARGETS, all, greedy_v2, is_strict, with_target};
use super::{REPRODUCE, Statement, audit, best_gain, breaks_monotonicity, is_searched, sample};

pub(super) fn claims(rounds: &[Round]) -> Vec<Claim> {
    let greedy = vec![greedy_truthful(rounds), greedy_payment(rounds), v2(rounds)];
    [greedy, of_table_1(rounds)].concat()
}

fn greedy_truthful(rounds: &[Round]) -> Claim {
    let claim = "Plain greedy (Algorithm 3) is monotone and truthful.";
    let statement = Statement::new("greedy-truthful", "Appendix B", claim, "random rounds break it")
        .because("Proved in docs/mechanisms.md.");
    statement.search(rounds, &audit("greedy", rounds.len(), "monotone,truthful"), |round| {
        let honest = Greedy.run(round).expect("it never refuses");
        let is_broken = breaks_monotonicity(&Greedy, round) || best_gain(&Greedy, round, &honest) > 1e-6;
        (1, usize::from(is_broken))
    })
}

fn greedy_payment(rounds: &[Round]) -> Claim {
    let claim = "The closed form of Equation 13 is the critical value of Algorithm 3.";
    let statement = Statement::new(
        "greedy-payment",
        "Equation 13",
        claim,
        "winners lose at their payment or win a micro-unit above it",
    );
    statement.search(rounds, &audit("greedy", rounds.len(), "certified"), |round| {
        let outcome = Greedy.run(round).expect("it never refuses");
        (outcome.winners().len(), usize::from(certify(round, &Greedy, &outcome).is_err()))
    })
}

fn v2(rounds: &[Round]) -> Claim {
    let cell = |target: &'static str| {
        let usual: Vec<&Round> = rounds.iter().take(400).filter(|round| is_searched(round, target)).collect();
        let mechanism = greedy_v2(target);
        let is_equal = |round: &&&Round| {
            literal::greedy_v2(round, target).is_some_and(|it| it == mechanism.select(round).expect("it never refuses"))
        };
        let (equal, all) = (usual.par_iter().filter(is_equal).count(), usual.len());
        let spend = if is_strict(target) { "less than" } else { "at most" };
        let measured = format!(
            "the same winners in {equal} of {all} random rounds with asks above 0, if purchases cost {spend} the budget"
        );
        let numbers = vec![Number::never("rounds with other winners", all - equal, all)];
        let sample = Sample::odd_rounds(rounds.len().min(400) as u64);
        Evidence::new(measured, numbers, sample, REPRODUCE).under(with_target(target))
    };
    let claim = "Greedy V2 (Algorithms 4 and 5) decides like Algorithm 3 at its target.";
    let why = "Its budgets are sums of asks in greedy order: such a budget pays for a prefix of that order if it may be spent \
               whole, as in the proofs; if purchases must cost less, as Algorithm 2 prints it, it pays for less.";
    Claim::new("v2-equals-greedy", "Appendix B", claim, why, TARGETS.map(cell).to_vec())
}

/// What happened to the members of a baseline in all rounds.
#[derive(Default)]
struct Treated {
    /// Rounds in which some client gains more than 5 % of its cost by a lie.
    gains: usize,
    members: usize,
    /// Members paid less than their cost, and more.
    below: usize,
    above: usize,
}

fn treated(mechanism: &dyn Mechanism, rounds: &[Round]) -> Treated {
    let of = |round: &Round| {
        let honest = mechanism.run(round).expect("it never refuses");
        Treated {
            gains: usize::from(best_gain(mechanism, round, &honest) > 0.05),
            members: honest.winners().len(),
            below: honest.winners().iter().filter(|winner| winner.payment < winner.ask).count(),
            above: honest.winners().iter().filter(|winner| winner.payment > winner.ask).count(),
        }
    };
    let add = |a: Treated, b: Treated| Treated {
        gains: a.gains + b.gains,
        members: a.members + b.members,
        below: a.below + b.below,
        above: a.above + b.above,
    };
    rounds.par_iter().map(of).reduce(Treated::default, add)
}

/// Whether some report changes what DisLinUCB does to a client. An ask above the reserve would keep the client out, and is none
/// of its reports.
fn depends_on_reports(round: &Round) -> bool {
    let changes = |seat: Seat| {
        let lies = [0.5, 2.0].map(|factor| Amount::saturating((round.ask(seat).micros() as f64 * factor) as i128));
        lies.into_iter().any(|ask| {
            let client = round.client(seat);
            let told = Everyone.run(&round.with_ask(client, ask.min(round.reserve()))).expect("it never refuses");
            told.winner(client).is_none_or(|member| member.payment > Amount::ZERO)
        })
    };
    round.seats().any(changes)
}

/// Table 1 on incentives, and what Section 3 says of payments.
fn of_table_1(rounds: &[Round]) -> Vec<Claim> {
    let tried = rounds.len();
    let claim = |id, (source, claim): (&'static str, &str), why, command: String, measured: String, numbers| {
        let evidence = Evidence::new(measured, numbers, sample(rounds), command);
        Claim::new(id, source, claim, why, vec![evidence.under(all())])
    };
    // Random rounds show that there are some; that there are none, they do not refute for a reconstructed mechanism.
    let some = |name, count, of| Number::share(name, count, of).claimed(Side::Above(0.0), NotReproduced);
    let none = |name, count, of| Number::share(name, count, of).claimed(Side::AtMost(0.0), NotReproduced);
    let Treated { gains, members, below, above } = treated(&IncFedUcb::default(), rounds);
    let unpaid = treated(&Everyone, rounds);
    let changed = rounds.par_iter().filter(|round| depends_on_reports(round)).count();
    vec![
        claim(
            "inc-feducb",
            ("Table 1", "Inc-FedUCB (reconstructed) is individually rational and not truthful."),
            "",
            audit("inc-feducb", tried, "ir,truthful"),
            format!(
                "{below} of {members} winners are paid less than they ask; in {gains} of {tried} rounds some client gains more \
                 than 5 % by a lie (pay-as-ask)"
            ),
            vec![none("winners paid less", below, members), some("rounds with a gain", gains, tried)],
        ),
        claim(
            "inc-feducb-payment",
            ("Section 3", "If all are truthful, Inc-FedUCB (reconstructed) pays nobody more than its true cost."),
            "",
            "truthfed auction --generate 25,5 --seed 1 -m inc-feducb".to_owned(),
            format!("{above} of {members} winners are paid more than they ask"),
            vec![none("winners paid more", above, members)],
        ),
        claim(
            "dislinucb-rational",
            ("Table 1", "DisLinUCB is not individually rational."),
            "It pays nobody.",
            audit("everyone", tried, "ir"),
            format!("{} of {} clients take part at a loss", unpaid.below, unpaid.members),
            vec![some("clients at a loss", unpaid.below, unpaid.members)],
        ),
        claim(
            "dislinucb-truthful",
            ("Table 1", "DisLinUCB gives no guarantee of incentive compatibility (read as: some report pays)."),
            "It asks for no reports, so none can pay, and by Definition 1 it is truthful; the table says that nobody promises it.",
            REPRODUCE.to_owned(),
            format!("in {changed} of {tried} rounds some client's utility changes with its report"),
            vec![some("rounds with a change", changed, tried)],
        ),
    ]
}
