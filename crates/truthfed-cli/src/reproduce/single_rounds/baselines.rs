//! The baselines: plain greedy (Algorithm 3), its second form (Algorithms 4 and 5), and Inc-FedUCB.

use rayon::prelude::*;
use truthfed::auction::{Greedy, IncFedUcb, Mechanism, Round, certify};

use super::super::claim::{Cell, Claim, Sample};
use super::super::lab::{refuted_if, reproduced_if};
use super::super::literal;
use super::super::readings::{TARGETS, all, greedy_v2, is_strict, with_target};
use super::{Statement, best_gain, breaks_monotonicity, is_searched, sample, share};

pub(super) fn claims(rounds: &[Round]) -> Vec<Claim> {
    vec![greedy_truthful(rounds), greedy_payment(rounds), v2(rounds), baselines(rounds)]
}

fn greedy_truthful(rounds: &[Round]) -> Claim {
    let claim = "Plain greedy (Algorithm 3) is monotone and truthful.";
    let statement = Statement::new("greedy-truthful", "Appendix B", claim, "random rounds break it")
        .because("Proved in docs/mechanisms.md.");
    statement.search(rounds, "truthfed audit -m greedy --random 400 --runs 0", |round| {
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
    statement.search(rounds, "truthfed auction --generate 25,5 -m greedy --certify", |round| {
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
        Cell {
            readings: with_target(target),
            verdict: refuted_if(equal < all),
            measured: format!(
                "the same winners in {equal} of {all} random rounds with asks above 0, if purchases cost {spend} the budget"
            ),
            numbers: vec![share("equal", equal, all)],
            sample: Sample::odd_rounds(rounds.len().min(400) as u64),
            command: "truthfed reproduce".to_owned(),
        }
    };
    let claim = "Greedy V2 (Algorithms 4 and 5) decides like Algorithm 3 at its target.";
    let why = "Its budgets are sums of asks in greedy order: such a budget pays for a prefix of that order if it may be spent \
               whole, as in the proofs; if purchases must cost less, as Algorithm 2 prints it, it pays for less.";
    Claim::new("v2-equals-greedy", "Appendix B", claim, why, TARGETS.map(cell).to_vec())
}

fn baselines(rounds: &[Round]) -> Claim {
    let mechanism = IncFedUcb::default();
    let of = |round: &Round| {
        let honest = mechanism.run(round).expect("it never refuses");
        let below = honest.winners().iter().filter(|winner| winner.payment < winner.ask).count();
        [usize::from(best_gain(&mechanism, round, &honest) > 0.05), honest.winners().len(), below]
    };
    let add = |a: [usize; 3], b: [usize; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    let [gains, winners, below] = rounds.par_iter().map(of).reduce(|| [0; 3], add);
    let tried = rounds.len();
    let cell = Cell {
        readings: all(),
        verdict: reproduced_if(gains > 0 && below == 0),
        measured: format!(
            "{below} of {winners} winners are paid less than they ask; in {gains} of {tried} rounds some client gains more than \
             5 % by a lie (pay-as-ask)"
        ),
        numbers: vec![share("winners paid less", below, winners), share("rounds with a gain", gains, tried)],
        sample: sample(rounds),
        command: "truthfed audit -m inc-feducb --random 400 --runs 0".to_owned(),
    };
    let claim = "Inc-FedUCB (reconstructed) is individually rational and not truthful.";
    Claim::new("inc-feducb", "Table 1", claim, "", vec![cell])
}
