//! Beyond the paper: what strategies over a whole run gain where clients have a quota.

use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure, Value};
use truthfed_report::page::{Section, Table};
use truthfed_sim::config::Config;
use truthfed_sim::manipulation::{Family, Finding, Findings, Plan, SETTING};
use truthfed_sim::world::WorldError;

use super::Part;
use super::across_rounds::{never_gains, percent};
use super::claim::{Evidence, Own, Sample};
use super::interval::Interval;
use super::lab::{Lab, signed};

const COVERAGES: [f64; 2] = [0.5, 0.8];
const COSTS: [(&str, &[&str]); 2] =
    [("a cost per sale", &[]), ("a cost per sample", &["costs.base_high=0", "costs.per_sample=1"])];
/// With `--thorough`.
const MANY_SEEDS: u64 = 100;
/// Seeds under which parameters are chosen; the measurement uses others.
const CHOOSING_SEEDS: u64 = 2;
/// Without one, and as much as clients collect.
const QUOTAS: [f64; 2] = [0.0, 1.0];

/// What was found at a coverage, under a cost, without and with a quota.
struct Setting {
    coverage: f64,
    cost: &'static str,
    found: [Findings; 2],
}

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("quota");
    let mut settings = Vec::new();
    for (cost, changes) in COSTS {
        for coverage in COVERAGES {
            let [without, with] = QUOTAS.map(|quota| plan(lab, coverage, quota, changes).run(|| {}));
            settings.push(Setting { coverage, cost, found: [without?, with?] });
        }
    }
    let [without, with] = [0, 1].map(|at| &settings[0].found[at]);
    let text = format!(
        "While unsold data keeps, and all of it may be offered, asking too much costs little. A quota bounds what a client may \
         offer by what it collects, from one awarded round to the next, and what is not used of it is lost. Here each of {} of 8 \
         clients in turn follows {} strategies over a whole run of clock, and what a search for a best response found, without a \
         quota and with one, under {} seeds; the best parameter of each kind was chosen under {} others.",
        with.manipulators,
        with.trials.len() - 1,
        without.seeds,
        without.choosing_seeds
    );
    let section = Section::new("quota", "Within a quota", [text], [figure(&settings).into(), table(&settings).into()]);
    Ok(Part { section, claims: Vec::new(), ours: vec![claim(&settings)] })
}

fn plan(lab: &Lab, coverage: f64, quota: f64, changes: &[&str]) -> Plan {
    let own = [format!("rounds.coverage={coverage}"), format!("rounds.quota={quota}")];
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).chain(own).collect();
    let config = Config::read(SETTING, &changes).expect("the setting is valid");
    let plan = Plan::new(config).with_mechanisms(&["clock"]).expect("the catalog has it");
    let seeds = if lab.thorough { MANY_SEEDS } else { lab.judged() };
    let plan = plan.with_seeds(seeds).with_choosing_seeds(lab.many(CHOOSING_SEEDS)).with_search(quota > 0.0);
    if lab.quick { plan.with_manipulators(1) } else { plan }
}

/// The best of what a client can do alone, chosen under other seeds than measured.
fn best_alone(found: &Findings) -> &Finding {
    found.best_response("clock").expect("there are strategies")
}

fn in_words(finding: &Finding) -> String {
    percent(finding).signed()
}

fn figure(settings: &[Setting]) -> Figure {
    let bar = |(name, found): (&str, &Findings)| {
        let best = best_alone(found);
        let Interval { mean, half } = percent(best);
        let gains = best.gains.iter().map(|gain| 100.0 * gain / best.truthful.mean);
        Bar::new(name, mean, half).with_label(signed(mean)).with_values(Value::from_seed(1, gains))
    };
    let bars = |it: &Setting| ["without", "with a quota"].into_iter().zip(&it.found).map(bar).collect();
    let chart = |(cost, _): (&str, &[&str])| {
        let of_cost = settings.iter().filter(|setting| setting.cost == cost);
        let groups = of_cost.map(|it| BarGroup { name: format!("coverage {}", it.coverage), bars: bars(it) });
        Chart::bars(cost, Axis::linear("gain over truth, %"), groups)
    };
    let caption = "Gain of the best strategy that a client can follow alone, relative to the utility of telling the truth, with \
                   95 % intervals.";
    Figure::new("quota", "What one client gains over a whole run, without and with a quota", caption, COSTS.map(chart))
}

fn table(settings: &[Setting]) -> Table {
    let row = |setting: &Setting| {
        let mut cells = vec![setting.cost.to_owned(), setting.coverage.to_string()];
        for found in &setting.found {
            let best = best_alone(found);
            cells.extend([best.strategy.clone(), in_words(best)]);
        }
        cells.extend(setting.found[1].of("clock", Family::Merge).map(in_words));
        cells
    };
    let header = [
        "cost",
        "coverage",
        "best alone, without",
        "gain, %",
        "best alone, with a quota",
        "gain, %",
        "enrols as one, %",
    ];
    let caption = "Gains with 95 % intervals. Two clients that enrol as one are no plan over time: they win a monopoly in \
                   single rounds, which no mechanism here protects against.";
    Table::new(caption, header, settings.iter().map(row))
}

fn claim(settings: &[Setting]) -> Own {
    let found = |at: usize| settings.iter().map(move |setting| (setting, best_alone(&setting.found[at])));
    let most = |at: usize| {
        let most = found(at).max_by(|(_, a), (_, b)| percent(a).mean.total_cmp(&percent(b).mean));
        let (setting, finding) = most.expect("there are settings");
        format!("{} % ({}, coverage {}, {})", in_words(finding), finding.strategy, setting.coverage, setting.cost)
    };
    let paying = found(1).filter(|(_, finding)| percent(finding).low() > 0.0).count();
    let claim = "Within a quota of what clients collect, no strategy that was tried gains one client more than \
                 5 % over a whole run.";
    let measured = format!(
        "the best of {} strategies and a search gains beyond its 95 % interval in {paying} of {} settings, {} seeds each; at most {}, \
         and without a quota {}",
        settings[0].found[1].trials.len() - 1,
        settings.len(),
        settings[0].found[1].seeds,
        most(1),
        most(0)
    );
    let command = "truthfed audit -m clock --random 1 --runs 30 --set rounds.quota=1 --set rounds.coverage=0.8";
    let number = |(Setting { coverage, cost, .. }, finding): (&Setting, &Finding)| {
        never_gains(&format!("{}, coverage {coverage}, {cost}", finding.strategy), finding)
    };
    let sample = Sample::runs(settings[0].found[1].seeds);
    Evidence::new(measured, found(1).map(number).collect(), sample, command).on("quota", claim)
}
