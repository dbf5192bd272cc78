//! `truthfed reproduce`: every figure of the paper, a verdict on every checkable claim, and experiments beyond it.
//!
//! Each module measures one group of questions and returns a [`Part`]: a section of the report and its claims. The code
//! beside each measurement computes the verdict. The report contains no wall-clock time, so the same seeds give the same
//! bytes.

mod across_rounds;
mod audit;
mod beyond;
mod growth;
mod lab;
mod liars;
mod macro_level;
mod methods;
mod micro_level;
mod optimum;
mod output;
mod purse;
mod quota;
mod single_rounds;

use anyhow::Context;
use truthfed_report::page::{Section, Verdict, VerdictKind};
use truthfed_sim::output::OutputFolder;
use truthfed_sim::world::WorldError;

use self::lab::Lab;
use crate::args::ReproduceArgs;
use crate::progress::Progress;
use crate::report::{Report, table};

/// How many groups of experiments [`measure`] runs.
const STAGES: u64 = 12;

struct Part {
    section: Section,
    claims: Vec<Verdict>,
}

struct Reproduction {
    seeds: u64,
    quick: bool,
    sections: Vec<Section>,
    claims: Vec<Verdict>,
    runs: methods::Runs,
}

pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<Report> {
    // Before the experiments: nobody should wait for a report that cannot be written.
    let folder = OutputFolder::open(&args.out, &output::REPRODUCTION)?;
    let seeds = if args.quick { args.seeds.min(2) } else { args.seeds };
    let lab = Lab { seeds, quick: args.quick, progress: Progress::new("stages", STAGES) };
    let reproduction = measure(&lab)?;
    lab.progress.finish();
    let page = output::write(&reproduction, folder).context("the report is not written")?;
    if args.json {
        return Ok(Report::done(output::claims_json(&reproduction.claims)));
    }
    let header = ["method", "regret", "communication", "social cost", "incentive"];
    let methods = table(&header, &[1, 2, 3, 4], reproduction.runs.iter().map(methods::summary).collect());
    let verdicts = output::verdicts(&reproduction.claims);
    let claims = claims(&reproduction.claims);
    Ok(Report::done(format!("{methods}\n{claims}\n{verdicts}\nreport: {}\n", page.display())))
}

fn measure(lab: &Lab) -> Result<Reproduction, WorldError> {
    let (mut sections, mut claims) = (Vec::new(), Vec::new());
    let mut add = |part: Part| {
        lab.progress.step();
        sections.push(part.section);
        claims.extend(part.claims);
    };
    let (compared, runs) = methods::run(lab)?;
    add(compared);
    add(micro_level::run(lab)?);
    add(macro_level::run(lab)?);
    add(single_rounds::run(lab));
    add(optimum::run(lab));
    add(growth::run(lab)?);
    add(audit::run(lab));
    add(across_rounds::run(lab)?);
    add(quota::run(lab)?);
    add(purse::run(lab));
    add(liars::run(lab)?);
    add(beyond::run(lab, &runs)?);
    Ok(Reproduction { seeds: lab.seeds, quick: lab.quick, sections, claims, runs })
}

fn claims(claims: &[Verdict]) -> String {
    let rows = claims.iter().map(|claim| {
        let verdict = match claim.verdict {
            VerdictKind::Reproduced => "reproduced",
            VerdictKind::NotReproduced => "not reproduced",
            VerdictKind::Refuted => "refuted",
        };
        vec![verdict.to_owned(), claim.claim.clone()]
    });
    table(&["verdict", "claim"], &[], rows.collect())
}
