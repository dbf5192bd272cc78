//! Beyond the paper: what a client gains over a whole run by a strategy.

use truthfed::auction::catalog::{self, Claim};
use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure, Value};
use truthfed_report::page::{Item, Section, Table, VerdictKind};
use truthfed_sim::config::Config;
use truthfed_sim::manipulation::{Family, Finding, Findings, Plan, SETTING};
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Evidence, Number, Own, Sample};
use super::decision::{SAME, Side};
use super::interval::Interval;
use super::lab::{Lab, label, signed};

/// Two settings: in one every sale costs the same however much is sold, in the other every sample costs the same.
const SETTINGS: [(&str, &[&str]); 2] =
    [("A cost per sale", &[]), ("A cost per sample", &["costs.base_high=0", "costs.per_sample=1"])];
/// Clients that manipulate, one at a time, with `--quick`.
const QUICK_MANIPULATORS: usize = 2;
/// Seeds under which parameters are chosen; the measurement uses others.
const CHOOSING_SEEDS: u64 = 3;

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("manipulation across rounds");
    let found: Vec<Findings> =
        SETTINGS.iter().map(|(_, changes)| plan(lab, changes).run(|| {})).collect::<Result<_, _>>()?;
    let mut items = vec![Item::Figure(figure(&found))];
    items.extend(SETTINGS.iter().zip(&found).map(|((title, _), found)| Item::Table(table(title, found))));
    let text = [
        format!(
            "Truthfulness is a promise about one round. Here one client after another ({} of 8) follows a strategy \
             over a whole run while the others tell the truth. It asks a multiple of its cost in every round; it asks \
             the reserve, so that it sells only when it is essential; it withholds its data for some rounds and then \
             sells; or it enrols twice and gives each identity half of its data. Each gain compares with the same \
             client telling the truth in the same world. The parameters were chosen under {} seeds that the \
             measurement does not use.",
            found[0].manipulators, found[0].choosing_seeds
        ),
        "A client can sell later what it does not sell now. Where every sale costs the same however much is sold \
         (nearly so with the paper's cost), a higher ask sells less often and more at a time, for nearly as much \
         money: the truth is the best ask of each round, but not the best plan. Where every sample costs the same, \
         waiting saves nothing. It can still win a monopoly: a client that holds out has more data, and where the \
         target is strict it is essential more often."
            .to_owned(),
    ];
    let section = Section::new("across-rounds", "Across rounds", text, items);
    Ok(Part { section, claims: Vec::new(), ours: vec![best_response_claim(&found[0])] })
}

fn plan(lab: &Lab, changes: &[&str]) -> Plan {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    let config = Config::read(SETTING, &changes).expect("the setting is valid");
    let plan = Plan::new(config).with_seeds(lab.judged()).with_choosing_seeds(CHOOSING_SEEDS);
    if lab.quick { plan.with_manipulators(QUICK_MANIPULATORS).with_choosing_seeds(1) } else { plan }
}

fn figure(found: &[Findings]) -> Figure {
    let caption = "Gain of the best strategy of each kind, relative to the utility of telling the truth, with 95 % intervals. Under \
                   `inc-feducb` the truth earns nothing; the tables show its gains.";
    let charts = SETTINGS.iter().zip(found).map(|((title, _), found)| chart(title, found));
    Figure::new("across-rounds", "What one client gains over a whole run", caption, charts)
}

fn chart(title: &str, found: &Findings) -> Chart {
    let group = |mechanism: &str| {
        let of_mechanism = found.best.iter().filter(|finding| finding.mechanism == mechanism);
        let bars: Vec<Bar> = of_mechanism.filter_map(bar).collect();
        (!bars.is_empty()).then(|| BarGroup { name: label(mechanism), bars })
    };
    Chart::bars(title, Axis::linear("gain over truth, %"), found.mechanisms().into_iter().filter_map(group))
}

/// In percent of the utility of the truth; `None` if the truth earns nothing.
fn bar(finding: &Finding) -> Option<Bar> {
    finding.relative_gain?;
    let scale = 100.0 / finding.truthful.mean;
    let gains = Value::from_seed(1, finding.gains.iter().map(|gain| scale * gain));
    let Interval { mean, half } = percent(finding);
    Some(Bar::new(finding.family.to_string(), mean, half).with_label(signed(mean)).with_values(gains))
}

fn gain(finding: &Finding) -> Interval {
    Interval::of(finding.gains.iter().copied())
}

/// The gain in percent of what the truth earns.
pub(super) fn percent(finding: &Finding) -> Interval {
    gain(finding).percent_of(finding.truthful.mean)
}

fn table(title: &str, found: &Findings) -> Table {
    let families = found.families();
    let row = |mechanism: &str| {
        let of_mechanism: Vec<&Finding> = families.iter().filter_map(|&family| found.of(mechanism, family)).collect();
        let paying = of_mechanism.iter().filter(|finding| finding.pays()).map(|finding| finding.strategy.as_str());
        let paying = Some(paying.collect::<Vec<_>>().join("; ")).filter(|paying| !paying.is_empty());
        let mut cells = vec![label(mechanism), format!("{:.1}", of_mechanism[0].truthful.mean)];
        cells.extend(of_mechanism.into_iter().map(in_words));
        cells.push(paying.unwrap_or_else(|| "nothing beyond chance".to_owned()));
        cells
    };
    let header =
        ["mechanism", "utility with truth"].into_iter().chain(families.iter().copied().map(short)).chain(["what pays"]);
    let caption = format!(
        "{title}: gain over the truth in units of money, with 95 % intervals and the best parameter of each kind in brackets (factor, \
         or first round of selling). The last column lists gains above three standard errors; among so many cells one may \
         be chance."
    );
    Table::new(caption, header, found.mechanisms().into_iter().map(row)).with_numeric(1..=1 + families.len())
}

fn short(family: Family) -> &'static str {
    match family {
        Family::Multiple => "multiple",
        Family::Hide => "hides",
        Family::Shift => "shifts",
        Family::JoinLate => "joins late",
        Family::Delay => "never opens",
        Family::Adaptive => "adaptive",
        Family::UntilEssential => "reserve",
        Family::Sandbag => "withholds",
        Family::Schedule => "searched",
        Family::Split => "splits",
        Family::Merge => "enrols as one",
    }
}

fn in_words(finding: &Finding) -> String {
    let parameter = finding.parameter.map_or(String::new(), |parameter| format!(" ({parameter})"));
    format!("{}{parameter}", gain(finding).signed())
}

fn best_response_claim(found: &Findings) -> Own {
    let truthful = catalog::entries().iter().filter(|entry| entry.claims().truthful == Claim::Yes);
    let best: Vec<&Finding> = truthful.filter_map(|entry| found.best_response(entry.name)).collect();
    let words = |finding: &&Finding| {
        let Finding { mechanism, strategy, truthful, .. } = finding;
        let (gain, percent) = (gain(finding).signed(), percent(finding).signed());
        format!("{mechanism}, {strategy}: {gain} on top of {:.1}, {percent} %", truthful.mean)
    };
    let holding_out = |finding: &&Finding| {
        let held = found.of(&finding.mechanism, Family::UntilEssential);
        held.map_or(0.0, |held| held.gain.mean)
    };
    let most_by_holding_out = best.iter().map(holding_out).fold(f64::NEG_INFINITY, f64::max);
    let claim =
        "If the truth is the best ask in every single round, nothing gains more than 5 % over a whole run either.";
    let measured = format!(
        "the best strategy and its gain, {} clients, dimension 3, {} seeds: {}; asking the reserve until essential changes the \
         utility by {most_by_holding_out:.1} at best",
        found.clients,
        found.seeds,
        best.iter().map(words).collect::<Vec<_>>().join("; ")
    );
    let command = "truthfed simulate across-rounds.toml --set behaviour.kind=over --set behaviour.factor=2 --set behaviour.share=0.125 --seeds 30 --out one  # one client; see one/clients.csv, and again with behaviour.share=0";
    let numbers = best.iter().map(|it| never_gains(&format!("{}, {}", it.mechanism, it.strategy), it)).collect();
    Evidence::new(measured, numbers, Sample::runs(found.seeds), command).on("across-rounds", claim)
}

/// The gain of a strategy of which it is claimed that it gains nothing: one that does is a counterexample.
pub(super) fn never_gains(name: &str, finding: &Finding) -> Number {
    let name = format!("gain in % by {name}");
    Number::with_interval(name, percent(finding)).claimed(Side::AtMost(SAME), VerdictKind::Refuted)
}
