//! Beyond the paper: what false data earns and harms, while everyone is believed and where others' data decides.

use std::collections::BTreeSet;

use rayon::prelude::*;
use truthfed::auction::ClientId;
use truthfed::generate::{self, HonestDelivery};
use truthfed::protocol::{Ending, RoundId, Surprise};
use truthfed_report::chart::{Axis, BarGroup, Chart, Figure};
use truthfed_report::page::{Section, Table, VerdictKind};
use truthfed_sim::config::Behaviour;
use truthfed_sim::experiment::{Spread, run_seeds};
use truthfed_sim::federation::{client_id, paid};
use truthfed_sim::simulation::{Run, behaviours};
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Evidence, Number, Own, Sample};
use super::decision::Side;
use super::interval::Interval;
use super::lab::{Lab, bar};

/// What each liar does, in words.
const LIARS: [(&str, &str); 5] = [
    ("inverter", "invents data that says the opposite of what the others believe"),
    ("random", "delivers rewards of a world it made up"),
    ("turncoat", "turns its rewards round after ten rounds"),
    ("amplifier", "sells ten times what it observed"),
    ("echo", "invents data that says what the others believe already"),
];
/// Those of them that say something false.
const FALSE: usize = 3;
const SEEDS: u64 = 30;
/// Rounds that decide.
const HOLD: u64 = 10;
/// Rounds in which the turncoat is honest.
const HONEST_ROUNDS: u64 = 10;
/// Synthetic deliveries of honest members.
const HONEST: u64 = 100_000;

/// What came of one liar among honest clients, over the seeds.
struct Trial {
    earned: Vec<f64>,
    /// Mean regret of the others.
    regret: Vec<f64>,
    /// Its deliveries up to the first that was held, of the runs in which one was.
    until_held: Vec<f64>,
    /// Its false deliveries in the other runs.
    unheld: Vec<u64>,
    /// Payments that it got after it was found once.
    paid_later: u64,
    /// Payments for false deliveries, of each run.
    paid_false: Vec<u64>,
    /// Deliveries of honest clients, and how often something of one was held or void.
    honest: (u64, u64),
    seeds: usize,
}

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("false data");
    let seeds = lab.many(SEEDS);
    let mut trials = Vec::new();
    for (liar, _) in LIARS {
        trials.push([trial(lab, liar, 0, seeds)?, trial(lab, liar, HOLD, seeds)?]);
    }
    let truthful = [trial(lab, "truthful", 0, seeds)?, trial(lab, "truthful", HOLD, seeds)?];
    let tried = lab.many(HONEST);
    let flagged = (0..tried).into_par_iter().filter(|seed| is_flagged(*seed)).count();
    let text = format!(
        "Asks are truthful; data need not be. Here one of the clients of the paper's setting lies about its data, and asks nothing \
         for it, under {seeds} seeds. Where data is held, a delivery that contradicts what others delivered is not shared and not \
         paid for; payments wait until others' data confirms what they are for, and what is still contradicted after {HOLD} \
         rounds is void. An honest delivery is contradicted less than once in a million."
    );
    let blocks = [figure(&trials, &truthful).into(), table(&trials, &truthful).into()];
    let section = Section::new("false-data", "False data", [text], blocks);
    let claims = vec![held_claim(seeds, &trials), honest_claim(&trials, &truthful, (tried, flagged))];
    Ok(Part { section, claims: Vec::new(), ours: claims })
}

fn trial(lab: &Lab, liar: &str, hold: u64, seeds: u64) -> Result<Trial, WorldError> {
    let hold = hold.to_string();
    let changes = [("behaviour.kind", liar), ("behaviour.share", "0.04"), ("rounds.hold", &hold)];
    let honest_first = if liar == "turncoat" { HONEST_ROUNDS } else { 0 };
    let config = lab.config(&changes);
    let runs = run_seeds(&config, seeds, || {})?;
    let clients = config.raw().world.clients;
    let liar_of = |run: &Run| behaviours(&config, run.seed).iter().position(|it| *it != Behaviour::Truthful);
    let mut trial = Trial {
        earned: runs.iter().filter_map(|run| Some(run.clients[liar_of(run)?].incentive)).collect(),
        regret: Vec::from_iter(runs.iter().map(|run| {
            let others = run.clients.iter().enumerate().filter(|(client, _)| Some(*client) != liar_of(run));
            let (regret, count) = others.fold((0.0, 0), |(sum, count), (_, it)| (sum + it.regret, count + 1));
            regret / f64::from(count)
        })),
        until_held: Vec::new(),
        unheld: Vec::new(),
        paid_later: 0,
        paid_false: Vec::new(),
        honest: (0, 0),
        seeds: runs.len(),
    };
    for run in &runs {
        let name = liar_of(run).map(|liar| client_id(liar, clients));
        let (mut delivered, mut is_found) = (0_u64, false);
        let (mut false_rounds, mut paid_false) = (BTreeSet::new(), 0);
        for (_, record) in &run.rounds {
            let Ending::Settled { paid: now, waiting, judgement, .. } = &record.ending else { continue };
            for (client, _) in now.iter().chain(waiting) {
                if Some(client) != name.as_ref() {
                    trial.honest.0 += 1;
                    continue;
                }
                delivered += 1;
                if delivered > honest_first {
                    false_rounds.insert(record.round);
                }
            }
            let of_now = now.iter().map(|(client, _)| (client, record.round));
            let of_before = judgement.paid.iter().map(|payment| (&payment.member, payment.round));
            let is_false =
                |(client, round): &(&ClientId, RoundId)| Some(*client) == name.as_ref() && false_rounds.contains(round);
            paid_false += of_now.chain(of_before).filter(is_false).count() as u64;
            trial.honest.1 += judgement.held.iter().filter(|client| Some(*client) != name.as_ref()).count() as u64;
            let is_liar = |client: &&_| Some(*client) == name.as_ref();
            if is_found {
                trial.paid_later += paid(record).iter().filter(|(client, _)| is_liar(client)).count() as u64;
            } else if judgement.held.iter().any(|client| is_liar(&client)) {
                is_found = true;
                trial.until_held.push(delivered as f64);
            }
        }
        trial.paid_false.push(paid_false);
        if !is_found {
            trial.unheld.push(delivered.saturating_sub(honest_first));
        }
    }
    Ok(trial)
}

/// Whether an honest delivery, drawn by the seed, contradicts what honest others delivered.
fn is_flagged(seed: u64) -> bool {
    let HonestDelivery { others, delivered, lambda, sigma } = generate::honest_delivery(seed);
    let offered = (delivered.gram(), delivered.samples());
    Surprise::of(&others, lambda, sigma, offered, delivered.moment()).is_some_and(|found| found.is_flagged())
}

/// A mean with half of a 95 % interval.
fn interval(values: &[f64]) -> String {
    let Interval { mean, half } = Interval::of(values.iter().copied());
    let digits = if mean.abs() < 100.0 { 1 } else { 0 };
    format!("{mean:.digits$} ± {half:.digits$}")
}

fn figure(trials: &[[Trial; 2]], truthful: &[Trial; 2]) -> Figure {
    let bar = |(name, trial): (&str, &Trial)| bar(name, trial.regret.clone(), |mean| format!("{mean:.1}"));
    let named = LIARS.iter().map(|(liar, _)| *liar).chain(["nobody lies"]).zip(trials.iter().chain([truthful]));
    let groups = named.map(|(liar, pair)| {
        let bars = ["everyone is believed", "data is held"].into_iter().zip(pair).map(bar).collect();
        BarGroup { name: liar.to_owned(), bars }
    });
    let chart = Chart::bars("Harm to the others", Axis::linear("regret of each honest client"), groups);
    let caption = "Mean regret of the honest clients beside one liar, with 95 % intervals.";
    Figure::new("false-data", "What one liar does to the others", caption, [chart])
}

fn table(trials: &[[Trial; 2]], truthful: &[Trial; 2]) -> Table {
    let held = |trial: &Trial| match trial.until_held.len() {
        0 => "never".to_owned(),
        runs => format!("{:.1} ({runs} of {})", Spread::of(trial.until_held.iter().copied()).mean, trial.seeds),
    };
    let cells = |name: &str, [believed, held_back]: &[Trial; 2]| {
        vec![
            name.to_owned(),
            interval(&believed.earned),
            interval(&held_back.earned),
            interval(&believed.regret),
            interval(&held_back.regret),
            held(held_back),
        ]
    };
    let rows = LIARS.iter().zip(trials).map(|((liar, what), pair)| cells(&format!("{liar}: {what}"), pair));
    let mut nobody = cells("nobody lies", truthful);
    (nobody[1], nobody[2]) = (String::new(), String::new());
    let caption = "Means over the seeds with 95 % intervals, while everyone is believed and where data is held. The last column has \
                   the deliveries of the liar up to the first that was held, and in how many runs one was. An echo cannot be told \
                   from honest data once the model is right: a purse and a quota bound what it earns.";
    let header = [
        "liar",
        "earns, believed",
        "earns, held",
        "others' regret, believed",
        "others' regret, held",
        "deliveries until held",
    ];
    Table::new(caption, header, rows.chain([nobody]))
}

fn held_claim(seeds: u64, trials: &[[Trial; 2]]) -> Own {
    let lying: Vec<&Trial> = trials[..FALSE].iter().map(|[_, held]| held).collect();
    let held: Vec<f64> = lying.iter().flat_map(|it| it.until_held.iter().copied()).collect();
    let unheld: Vec<u64> = lying.iter().flat_map(|it| it.unheld.iter().copied()).collect();
    let later: u64 = lying.iter().map(|it| it.paid_later).sum();
    let paid: Vec<u64> = lying.iter().flat_map(|it| it.paid_false.iter().copied()).collect();
    let (often, most_paid) = (paid.iter().filter(|times| **times > 1).count(), paid.iter().max().unwrap_or(&0));
    let claim = "False data of an inverter, of random rewards and of a turncoat is held, and who delivered it is paid for none of it from then on.";
    let after = match held.as_slice() {
        [] => String::new(),
        held => format!(", after {:.1} deliveries on average", Spread::of(held.iter().copied()).mean),
    };
    let rest = match unheld.iter().max() {
        None => String::new(),
        Some(most) => format!("; in the others they delivered false data at most {most} times"),
    };
    let measured = format!(
        "inverter, random and turncoat were held in {} of {} runs{after}{rest}; {often} were paid for more than one false \
         delivery, at most {most_paid}; {later} payments were made to them afterwards",
        held.len(),
        held.len() + unheld.len()
    );
    let command =
        "truthfed simulate --set behaviour.kind=inverter --set behaviour.share=0.04 --set rounds.hold=10 --seeds 30";
    Evidence::new(measured, on_held(&unheld, later), Sample::runs(seeds), command).on("held", claim)
}

/// A liar that was not held refutes the claim if it lied for as many rounds as data is held; with fewer, nobody can tell.
fn on_held(unheld: &[u64], paid_later: u64) -> Vec<Number> {
    let most = unheld.iter().max().copied().unwrap_or(0);
    vec![
        Number::exact("payments after a delivery was held", paid_later as f64)
            .claimed(Side::AtMost(0.0), VerdictKind::Refuted),
        Number::exact("most false deliveries in a run that held none", most as f64)
            .claimed(Side::Below(HOLD as f64), VerdictKind::Refuted),
        Number::exact("runs that held none", unheld.len() as f64).claimed(Side::AtMost(0.0), VerdictKind::Undecided),
    ]
}

fn honest_claim(trials: &[[Trial; 2]], truthful: &[Trial; 2], (tried, flagged): (u64, usize)) -> Own {
    let (delivered, held) = truthful[1].honest;
    let beside: u64 = trials.iter().map(|[_, held]| held.honest.1).sum();
    let claim =
        "Honest data is held less than once in a million (by the bound behind the threshold; no case was found).";
    let measured = format!(
        "{flagged} of {tried} honest deliveries of 1 to 10^6 samples in 1 to 50 dimensions would be held, and {held} of {delivered} \
         in runs without a liar; beside a liar, where the two contradict each other, {beside}"
    );
    let command = "truthfed simulate --set rounds.hold=10 --seeds 30";
    let numbers = vec![
        Number::never("honest deliveries that would be held", flagged, tried as usize),
        Number::never("held in runs without a liar", held as usize, delivered as usize),
        Number::exact("held beside a liar", beside as f64),
    ];
    Evidence::new(measured, numbers, Sample::draws(tried), command).on("honest", claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_false_deliveries_decide_nothing() {
        let check = |unheld: &[u64], paid_later, expected| {
            let evidence = Evidence::new("", on_held(unheld, paid_later), Sample::runs(1), "");
            assert_eq!(evidence.verdict, expected, "{unheld:?}, {paid_later} paid later");
        };
        check(&[], 0, VerdictKind::Reproduced);
        check(&[0, HOLD - 1], 0, VerdictKind::Undecided);
        check(&[0, HOLD], 0, VerdictKind::Refuted);
        check(&[], 1, VerdictKind::Refuted);
    }
}
