//! Beyond the paper: what a purse buys, and whether it holds.

use truthfed::Amount;
use truthfed::auction::{Clock, Mechanism, Round};
use truthfed::audit::{Audit, Findings, Property};
use truthfed::generate;
use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, Table, Verdict};
use truthfed_sim::experiment::Spread;

use super::Part;
use super::lab::{Lab, palette, refuted_if, series};

/// Purses, as shares of what a round costs without one.
const SHARES: [f64; 6] = [1.0, 0.7, 0.5, 0.2, 0.1, 0.01];
/// What `clock` claims, within a purse too.
const CLAIMED: [Property; 7] = [
    Property::Monotone,
    Property::IndividuallyRational,
    Property::Truthful,
    Property::Certified,
    Property::Collusion,
    Property::Coverage,
    Property::Purse,
];

pub(super) fn run(lab: &Lab) -> Part {
    lab.stage("purse");
    let seeds = lab.many(200);
    let audited: Vec<(f64, Findings)> = SHARES.into_iter().map(|share| (share, audit(seeds, share))).collect();
    let text = format!(
        "A round can have a purse. Where the target costs more, clock gives it up and buys what the purse can pay, so that the \
         true cost is still the best ask. Audited on {seeds} random rounds of 3 to 12 clients for each purse; the best set \
         is the one with the most information whose true costs the purse could pay, found by trying all."
    );
    let section = Section::new("purse", "Within a purse", [text], [table(&audited).into(), figure(&audited).into()]);
    Part { section, claims: Vec::new(), ours: vec![claim(&audited)] }
}

fn audit(seeds: u64, share: f64) -> Findings {
    let round = |seed: u64| -> Round {
        let round = generate::varied_within(seed, (3, 12), (1, 5));
        let cost = Clock.run(&round).map_or(0, |outcome| outcome.payments().micros());
        round.with_purse(Some(Amount::saturating((cost as f64 * share) as i128)))
    };
    let rounds: Vec<Round> = (0..seeds).map(round).collect();
    Audit::new(CLAIMED).rounds(&[&Clock], &rounds, || {})
}

/// Cases and violations of all properties.
fn broken(findings: &Findings) -> (u64, u64) {
    findings.verdicts.iter().fold((0, 0), |(cases, broken), it| (cases + it.cases, broken + it.violations))
}

/// Mean information bought over the best, of clock and of the proportional-share greedy.
fn bought(findings: &Findings) -> Option<[f64; 2]> {
    let economics = findings.economics.first()?;
    Some([economics.information?.mean, economics.proportional?.mean])
}

fn table(audited: &[(f64, Findings)]) -> Table {
    let row = |(share, findings): &(f64, Findings)| {
        let (cases, broken) = broken(findings);
        let [clock, proportional] = bought(findings).unwrap_or_default().map(|mean| format!("{mean:.2}"));
        vec![format!("{} %", 100.0 * share), cases.to_string(), broken.to_string(), clock, proportional]
    };
    let caption = "Purses as shares of what each round costs without one: cases of monotone, ir, truthful, certified, collusion, \
                   coverage and purse, those broken, and the information bought over that of the best set, mean.";
    let header = ["purse", "cases", "broken", "clock", "proportional share"];
    Table::new(caption, header, audited.iter().map(row))
}

fn figure(audited: &[(f64, Findings)]) -> Figure {
    let line = |name: &str, place: usize| {
        let mean = |findings| Some(Spread { mean: bought(findings)?[place], sd: 0.0 });
        series(name, audited.iter().filter_map(|(share, findings)| Some((100.0 * share, mean(findings)?))))
    };
    let lines = [line("clock", 0), line("proportional share", 1)];
    let chart = Chart::lines(
        "Information bought",
        Axis::log("purse, % of what the round costs without one"),
        Axis::linear("information over that of the best set"),
        lines,
    );
    let caption = "The proportional-share greedy is the truthful rule of the literature for a budget and a submodular value: best \
                   value first, while an ask is at most half the purse times its gain over all gains so far.";
    Figure::new("purse", "What a purse buys", caption, [chart]).with_palette(palette())
}

fn claim(audited: &[(f64, Findings)]) -> Verdict {
    let (cases, broken) = audited.iter().fold((0, 0), |(cases, all), (_, findings)| {
        let (more, broken) = broken(findings);
        (cases + more, all + broken)
    });
    let claim = "Within a purse, clock never exceeds it, payments are critical, and nobody gains by a lie.";
    let measured = format!("{cases} cases with purses of 1 to 100 % of the cost: {broken} broken");
    Verdict::new("purse", claim, measured, refuted_if(broken > 0), "truthfed audit -m clock --purse 50%")
}
