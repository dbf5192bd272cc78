//! Claims about a single auction: monotonicity, V2 against greedy, and the work of selecting.

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::catalog::{self, Claim, Entry};
use truthfed::auction::{
    Clock, Coverage, Greedy, GreedyV2, Mechanism, Outcome, Round, RoundDocument, Seat, TruthFedBan,
};
use truthfed::generate::{federation, varied_within};
use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, Table, Verdict};
use truthfed_sim::experiment::Spread;

use super::Part;
use super::lab::{Lab, refuted_if, reproduced_if, series};
use super::micro_level::COUNTEREXAMPLE;

/// A round in which Algorithm 1 is not monotone even with a fixed grid of budgets.
pub(super) const FIXED_GRID: &str = include_str!("counterexamples/fixed-grid.json");

pub(super) fn run(lab: &Lab) -> Part {
    lab.stage("single rounds");
    let searched = search_monotone(lab);
    let growth = selection_growth(lab);
    let claims = vec![monotone_claim(&searched), v2_claim(lab), growth_claim(&growth)];
    let text = "A mechanism can be truthful only if it is monotone: a client that wins with an ask also wins with any \
                lower one. This search looks through random small rounds (3 to 11 clients, dimension 1 to 4) for a \
                client that wins with some ask and loses with a lower one.";
    let items = [monotone_table(&searched).into(), growth_figure(&growth).into()];
    let section = Section::new("rounds", "Single rounds", [text], items);
    Part { section, claims }
}

struct Searched {
    mechanism: &'static str,
    rounds: u64,
    broken: u64,
    gains: Vec<f64>,
}

fn search_monotone(lab: &Lab) -> Vec<Searched> {
    let rounds = lab.many(600);
    // The paper's own first, then all that claim to be truthful.
    let is_searched = |entry: &&'static Entry| entry.name == "truth-fedban" || entry.claims().truthful == Claim::Yes;
    let search = |entry: &'static Entry| {
        let mechanism = &*entry.mechanism();
        let find = |seed: u64| {
            let round = varied_within(seed, (3, 11), (1, 4));
            (breaks_monotonicity(mechanism, &round), best_gain(mechanism, &round))
        };
        let found: Vec<(bool, f64)> = (0..rounds).into_par_iter().map(find).collect();
        let gains = found.iter().map(|(_, gain)| *gain).filter(|gain| *gain > 0.05).collect();
        let broken = found.iter().filter(|(broken, _)| *broken).count() as u64;
        Searched { mechanism: entry.name, rounds, broken, gains }
    };
    catalog::entries().iter().filter(is_searched).map(search).collect()
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
fn best_gain(mechanism: &dyn Mechanism, round: &Round) -> f64 {
    let Ok(honest) = mechanism.run(round) else { return 0.0 };
    let gain = |seat: Seat| {
        let (client, cost) = (round.client(seat), round.ask(seat).to_f64());
        let utility = |outcome: &Outcome| outcome.winner(client).map_or(0.0, |won| won.payment.to_f64() - cost);
        let lied = |factor: f64| {
            let ask = Amount::from_micros((round.ask(seat).micros() as f64 * factor) as i64).unwrap_or(Amount::MAX);
            mechanism.run(&round.with_ask(client, ask)).map_or(0.0, |outcome| utility(&outcome))
        };
        let best = [0.5, 1.1, 1.5, 2.0].map(lied).into_iter().fold(0.0, f64::max);
        if cost > 0.0 { (best - utility(&honest)) / cost } else { 0.0 }
    };
    round.seats().map(gain).fold(0.0, f64::max)
}

fn monotone_table(searched: &[Searched]) -> Table {
    let row = |found: &Searched| {
        let most = found.gains.iter().copied().fold(0.0, f64::max);
        vec![
            found.mechanism.to_owned(),
            format!("{} of {}", found.broken, found.rounds),
            format!("{} of {}", found.gains.len(), found.rounds),
            if most > 0.0 { format!("{most:.2} times its cost") } else { "none".to_owned() },
        ]
    };
    let header =
        ["mechanism", "rounds with a client that loses by asking less", "rounds with a gain above 5 %", "largest gain"];
    let caption = "Random search for violations. Lies tried for gains: 0.5, 1.1, 1.5 and 2 times the cost.";
    Table::new(caption, header, searched.iter().map(row)).with_numeric([1, 2, 3])
}

fn monotone_claim(searched: &[Searched]) -> Verdict {
    let printed = &searched[0];
    let round = RoundDocument::read_round(COUNTEREXAMPLE).expect("a valid round");
    let liar = round.seat_of(&"c01".parse().expect("a client")).expect("it offers");
    let mechanism = TruthFedBan::new(1.0, Amount::STEP).expect("valid parameters");
    let at = |ask: &str| wins(&mechanism, &round, liar, ask.parse().expect("an amount"));
    let shown = !at("5.8") && at("6.4");
    let claim = "Proposition: the selection of Algorithm 1 is monotone.";
    let measured = format!(
        "client c01 of the counterexample loses when it asks 5.8 and wins when it asks 6.4; in {} of {} random rounds \
         some client loses by asking less",
        printed.broken, printed.rounds
    );
    let command = "truthfed auction counterexamples/printed-grid.json --mechanism truth-fedban";
    Verdict::new("monotone", claim, measured, refuted_if(shown), command)
}

/// Algorithms 4 and 5 as printed, with ratios of floats.
fn printed_v2(round: &Round) -> Vec<Seat> {
    let required = round.required(strict(round));
    let order = budgeted(round, i64::MAX);
    let mut budget = 0;
    for seat in &order {
        budget += round.ask(*seat).micros();
        let mut bought = budgeted(round, budget);
        bought.sort();
        if round.level(&bought) >= required {
            return bought;
        }
    }
    order
}

/// coverage^(1 - 1/e).
fn strict(round: &Round) -> Coverage {
    Coverage::ratio(libm::exp(round.coverage().log() * (1.0 - 1.0 / std::f64::consts::E))).expect("a ratio")
}

/// Algorithm 2: buys the best affordable value until nothing is affordable.
fn budgeted(round: &Round, budget: i64) -> Vec<Seat> {
    let (mut bought, mut left) = (Vec::new(), budget);
    loop {
        let mut sorted: Vec<Seat> = bought.clone();
        sorted.sort();
        let level = round.level(&sorted);
        let value = |seat: Seat| {
            let mut with = sorted.clone();
            with.push(seat);
            with.sort();
            (round.level(&with) - level).to_nats() / round.ask(seat).to_f64()
        };
        let affordable = round.seats().filter(|seat| !bought.contains(seat) && round.ask(*seat).micros() <= left);
        let best = affordable.map(|seat| (value(seat), seat)).filter(|(value, _)| *value > 0.0);
        let Some((_, seat)) = best.reduce(|best, next| if next.0 > best.0 { next } else { best }) else {
            return bought;
        };
        left -= round.ask(seat).micros();
        bought.push(seat);
    }
}

fn v2_claim(lab: &Lab) -> Verdict {
    let rounds: Vec<Round> = (0..lab.many(400))
        .map(|seed| varied_within(seed, (3, 11), (1, 4)))
        .filter(|round| round.seats().all(|seat| round.ask(seat) > Amount::ZERO))
        .filter(|round| round.level(&[]) < round.required(strict(round)))
        .collect();
    let equal = rounds
        .par_iter()
        .filter(|round| {
            let greedy = Greedy.select(&round.with_coverage(strict(round))).expect("it never refuses");
            greedy == printed_v2(round) && GreedyV2::default().select(round).is_ok_and(|winners| winners == greedy)
        })
        .count();
    let claim = "Greedy V2 (Algorithms 4 and 5) at coverage c decides like plain greedy at c^(1-1/e).";
    let measured = format!("the same winners in {equal} of {} random rounds with asks above 0", rounds.len());
    let command = "truthfed auction counterexamples/printed-grid.json --mechanism greedy-v2";
    Verdict::new("v2-equals-greedy", claim, measured, reproduced_if(equal == rounds.len()), command)
}

/// For each mechanism, log determinants to select by number of clients.
type Growth = [(&'static str, Vec<(f64, f64)>); 3];

fn selection_growth(lab: &Lab) -> Growth {
    let sizes: &[usize] = if lab.quick { &[25, 50, 100] } else { &[25, 50, 100, 200, 400] };
    let printed = TruthFedBan::default();
    let count = |name, mechanism: &dyn Mechanism| {
        let points = sizes.iter().map(|&clients| {
            let outcome = mechanism.run(&federation(clients, 5, 1)).expect("it never refuses");
            (clients as f64, outcome.evaluations().select as f64)
        });
        (name, points.collect())
    };
    [count("truth-fedban", &printed), count("greedy", &Greedy), count("clock", &Clock)]
}

/// The exponent of the least-squares line through the logarithms.
pub(super) fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (libm::log(*x), libm::log(*y))).collect();
    let n = logs.len() as f64;
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let covariance: f64 = logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    covariance / logs.iter().map(|(x, _)| (x - mx) * (x - mx)).sum::<f64>()
}

fn growth_figure(growth: &Growth) -> Figure {
    let exact = |&(x, y): &(f64, f64)| (x, Spread { mean: y, sd: 0.0 });
    let lines = growth.iter().map(|(name, points)| series(*name, points.iter().map(exact)));
    let (x, y) = (Axis::log("clients N"), Axis::log("log determinants"));
    let caption = "Log determinants evaluated to choose the winners of one round of N clients in dimension 5. Lazy \
                   evaluation keeps all three nearly linear; evaluating every client at every step would be quadratic.";
    let charts = [Chart::lines("Log determinants to select", x, y, lines)];
    Figure::new("selection-work", "Work of the selection", caption, charts)
}

fn growth_claim([(_, printed), ..]: &Growth) -> Verdict {
    let found = exponent(printed);
    let claim = "For each budget, the number of evaluations is at most quadratic in N.";
    let measured = format!("with lazy evaluation, the log determinants of the whole selection grow as N^{found:.2}");
    let command = "truthfed auction --generate 400,5 --mechanism truth-fedban";
    Verdict::new("selection-time", claim, measured, reproduced_if(found <= 2.0), command)
}
