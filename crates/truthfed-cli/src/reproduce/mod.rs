//! `truthfed reproduce`: every figure of the paper, a verdict on every checkable claim, and experiments beyond it.
//!
//! Each module measures one group of questions and returns a [`Part`]: a section of the report, statements of the paper with a
//! cell for each reading, and claims of our own. The code beside each measurement computes the verdict. The report contains no
//! wall-clock time, so the same seeds give the same bytes.

mod across_rounds;
mod audit;
mod beyond;
mod claim;
mod constants;
mod constraint;
mod decision;
mod determinants;
mod epochs;
mod growth;
mod interval;
mod knapsack;
mod lab;
mod lemmas;
mod liars;
mod literal;
mod macro_level;
mod methods;
mod micro_level;
mod numbering;
mod optimum;
mod orders;
mod output;
mod purse;
mod quota;
mod readings;
mod single_rounds;
mod summary;

use anyhow::Context;
use truthfed_report::chart::Errors;
use truthfed_report::page::{Item, Section, VerdictKind};
use truthfed_sim::output::OutputFolder;
use truthfed_sim::world::WorldError;

use self::claim::{Claim, Own, mark};
use self::decision::RULE;
use self::lab::Lab;
pub(crate) use self::output::{CLAIMS, FIGURES, REPRODUCTION};
use self::readings::{READINGS, Reading};
use crate::args::ReproduceArgs;
use crate::progress::Progress;
use crate::report::{Report, table};

/// How many groups of experiments [`measure`] runs.
const STAGES: u64 = 13;

struct Part {
    section: Section,
    /// Statements of the paper.
    claims: Vec<Claim>,
    /// Claims beyond the paper.
    ours: Vec<Own>,
}

struct Reproduction {
    /// Of a run in the paper's setting.
    steps: u64,
    seeds: u64,
    quick: bool,
    thorough: bool,
    sections: Vec<Section>,
    claims: Vec<Claim>,
    ours: Vec<Own>,
    methods: methods::Methods,
    /// Files of counterexamples that the audit found.
    counterexamples: Vec<(String, String)>,
}

pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<Report> {
    // Before the experiments: nobody should wait for a report that cannot be written.
    let folder = OutputFolder::open(&args.out, &output::REPRODUCTION)?;
    let seeds = if args.quick { args.seeds.min(2) } else { args.seeds };
    let progress = Progress::new("stages", STAGES);
    let lab = Lab { seeds, quick: args.quick, thorough: args.thorough, progress };
    let reproduction = measure(&lab)?;
    lab.progress.finish();
    let page = output::write(&reproduction, folder).context("the report is not written")?;
    if args.json {
        return Ok(Report::done(output::claims_json(&reproduction)));
    }
    let header = ["method", "regret", "communication", "social cost", "incentive"];
    let methods = table(&header, &[1, 2, 3, 4], methods::summary(&reproduction.methods));
    let found: String = summary::lines(&reproduction).iter().map(|line| format!("- {line}\n")).collect();
    let (matrix, ours) = (matrix(&reproduction.claims), ours(&reproduction.ours));
    Ok(Report::done(format!("{found}\n{matrix}\n{}\n{ours}\n{methods}\nreport: {}\n", legend(), page.display())))
}

fn measure(lab: &Lab) -> Result<Reproduction, WorldError> {
    let (mut sections, mut claims, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |part: Part| {
        lab.progress.step();
        sections.push(with_intervals(part.section));
        claims.extend(part.claims);
        ours.extend(part.ours);
    };
    let (compared, methods) = methods::run(lab)?;
    add(compared);
    add(micro_level::run(lab, &methods)?);
    add(macro_level::run(lab, &methods)?);
    add(single_rounds::run(lab));
    add(optimum::run(lab));
    add(growth::run(lab)?);
    add(lemmas::run(lab)?);
    let (audited, counterexamples) = audit::run(lab);
    add(audited);
    add(across_rounds::run(lab)?);
    add(quota::run(lab)?);
    add(purse::run(lab));
    add(liars::run(lab)?);
    add(beyond::run(lab, &methods.recorded)?);
    let Lab { seeds, quick, thorough, .. } = *lab;
    Ok(Reproduction { steps: lab.steps(), seeds, quick, thorough, sections, claims, ours, methods, counterexamples })
}

/// The errors in all figures of the report are 95 % intervals.
fn with_intervals(section: Section) -> Section {
    let item = |item: Item| match item {
        Item::Figure(figure) => Item::Figure(figure.with_errors(Errors::Intervals)),
        other => other,
    };
    Section { items: section.items.into_iter().map(item).collect(), ..section }
}

/// A row of marks for each statement of the paper.
fn matrix(claims: &[Claim]) -> String {
    let row = |claim: &Claim| {
        let marks = READINGS.iter().map(|reading| mark(claim.verdict(reading.name)).to_owned());
        marks.chain([claim.source.to_owned(), claim.claim.clone()]).collect()
    };
    let header: Vec<&str> = READINGS.iter().map(|reading| reading.name).chain(["in the paper", "statement"]).collect();
    table(&header, &[], claims.iter().map(row).collect())
}

/// What the marks and the columns mean.
fn legend() -> String {
    let reading = |reading: &Reading| {
        let spends = if reading.strict_budget { "less than" } else { "at most" };
        format!("{} {} target, {}, spends {spends} the budget", reading.name, reading.target, reading.trigger)
    };
    let readings: Vec<String> = READINGS.iter().map(reading).collect();
    format!(
        "+ holds, - not reproduced, x refuted by a counterexample, ? undecided. {RULE} Readings (rounds.target, rounds.trigger, \
         strict_budget): {}. In all, bisections begin at {} (bisection_from).\n",
        readings.join("; "),
        READINGS[0].bisection_from
    )
}

fn ours(claims: &[Own]) -> String {
    let rows = claims.iter().map(|claim| {
        let verdict = match claim.evidence.verdict {
            VerdictKind::Reproduced => "holds",
            VerdictKind::NotReproduced => "does not hold",
            VerdictKind::Refuted => "refuted",
            VerdictKind::Undecided => "undecided",
        };
        vec![verdict.to_owned(), claim.claim.to_owned()]
    });
    table(&["verdict", "beyond the paper"], &[], rows.collect())
}
