//! Beyond the paper: what a purse buys, and whether it holds.

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::{Clock, Mechanism};
use truthfed::audit::{Audit, Economics, Findings, Property, Spread};
use truthfed::generate;
use truthfed_report::chart::{Axis, Chart, Figure, Point, Series, Value};
use truthfed_report::page::{Section, Table};

use super::Part;
use super::claim::{Evidence, Number, Own, Sample};
use super::interval::Interval;
use super::lab::{Lab, palette};

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
    let audited: Vec<Audited> = SHARES.into_iter().map(|share| (share, audit(seeds, share))).collect();
    let text = format!(
        "A round can have a purse. Where the target costs more, clock gives it up and buys what the purse can pay, so that the \
         true cost is still the best ask. Audited on {seeds} random rounds of 3 to 12 clients for each purse; the best set \
         is the one with the most information whose true costs the purse could pay, found by trying all."
    );
    let section = Section::new("purse", "Within a purse", [text], [table(&audited).into(), figure(&audited).into()]);
    Part { section, claims: Vec::new(), ours: vec![claim(seeds, &audited)] }
}

/// A purse, and what was found in each round.
type Audited = (f64, Vec<Findings>);

fn audit(seeds: u64, share: f64) -> Vec<Findings> {
    let of = |seed: u64| {
        let round = generate::varied_within(seed, (3, 12), (1, 5));
        let cost = Clock.run(&round).map_or(0, |outcome| outcome.payments().micros());
        let round = round.with_purse(Some(Amount::saturating((cost as f64 * share) as i128)));
        Audit::new(CLAIMED).rounds(&[&Clock], [&round], || {})
    };
    (0..seeds).into_par_iter().map(of).collect()
}

/// Cases and violations of all properties.
fn broken(rounds: &[Findings]) -> (u64, u64) {
    let verdicts = rounds.iter().flat_map(|findings| &findings.verdicts);
    verdicts.fold((0, 0), |(cases, broken), it| (cases + it.cases, broken + it.violations))
}

/// Information bought over the best in each round where that is defined, of clock or of the proportional-share greedy.
fn bought(rounds: &[Findings], by: Bought) -> Vec<Value> {
    let value = |(seed, findings): (u64, &Findings)| {
        let spread = by(findings.economics.first()?)?;
        Some(Value { seed, value: spread.mean })
    };
    (0..).zip(rounds).filter_map(value).collect()
}

/// What a rule buys.
type Bought = fn(&Economics) -> Option<Spread>;

const RULES: [(&str, Bought); 2] = [("clock", |it| it.information), ("proportional share", |it| it.proportional)];

fn mean(values: &[Value]) -> f64 {
    values.iter().map(|it| it.value).sum::<f64>() / values.len().max(1) as f64
}

fn table(audited: &[Audited]) -> Table {
    let row = |(share, findings): &Audited| {
        let (cases, broken) = broken(findings);
        let [clock, proportional] = RULES.map(|(_, by)| format!("{:.2}", mean(&bought(findings, by))));
        vec![format!("{} %", 100.0 * share), cases.to_string(), broken.to_string(), clock, proportional]
    };
    let caption = "Purses as shares of what each round costs without one: cases of monotone, ir, truthful, certified, collusion, \
                   coverage and purse, those broken, and the information bought over that of the best set, mean.";
    let header = ["purse", "cases", "broken", "clock", "proportional share"];
    Table::new(caption, header, audited.iter().map(row))
}

fn figure(audited: &[Audited]) -> Figure {
    let line = |(name, by): (&str, Bought)| {
        let point = |(share, findings): &Audited| {
            let values = bought(findings, by);
            let Interval { mean, half } = Interval::of(values.iter().map(|it| it.value));
            (!values.is_empty()).then(|| Point::new(100.0 * share, mean, half).with_values(values))
        };
        Series::new(name, audited.iter().filter_map(point))
    };
    let lines = RULES.map(line);
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

fn claim(seeds: u64, audited: &[Audited]) -> Own {
    let (cases, broken) = audited.iter().fold((0, 0), |(cases, all), (_, findings)| {
        let (more, broken) = broken(findings);
        (cases + more, all + broken)
    });
    let claim = "Within a purse, clock never exceeds it, payments are critical, and nobody gains by a lie.";
    let measured = format!("{cases} cases with purses of 1 to 100 % of the cost: {broken} broken");
    let numbers = vec![Number::never("broken cases", broken as usize, cases as usize)];
    let command = format!("truthfed audit -m clock --seed 0 --random {seeds} --runs 0 --purse 50%");
    Evidence::new(measured, numbers, Sample::odd_rounds(seeds), command).on("purse", claim)
}
