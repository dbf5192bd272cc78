//! `truthfed reproduce`: the paper end to end, with a report to open.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use truthfed_sim::output::{OutputFolder, REPRODUCTION};
use truthfed_sim::report::page::VerdictKind;
use truthfed_sim::reproduce::{Options, Reproduction, STAGES, Watch, write};

use crate::args::ReproduceArgs;
use crate::progress::Progress;
use crate::report::{Report, table};

pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<Report> {
    let folder = OutputFolder::open(&args.out, &REPRODUCTION)?;
    let seeds = if args.quick { args.seeds.min(2) } else { args.seeds };
    let options = Options { seeds, quick: args.quick };
    let stages = Stages { progress: Progress::new("stages", STAGES), begun: AtomicBool::new(false) };
    let reproduction = Reproduction::run(options, &stages)?;
    stages.progress.step();
    stages.progress.finish();
    let page = write(&reproduction, folder).context("the report is not written")?;
    if args.json {
        return Ok(Report::done(reproduction.claims_json()));
    }
    let text = format!("{}\n{}\nreport: {}\n", methods(&reproduction), claims(&reproduction), page.display());
    Ok(Report::done(text))
}

/// Shows each stage as it begins; a stage is done when the next one begins.
struct Stages {
    progress: Progress,
    begun: AtomicBool,
}

impl Watch for Stages {
    fn stage(&self, name: &str) {
        if self.begun.swap(true, Ordering::Relaxed) {
            self.progress.step();
        }
        self.progress.note(name);
    }
}

fn methods(reproduction: &Reproduction) -> String {
    let rows = reproduction.summary().iter().map(|method| {
        vec![
            method.mechanism.clone(),
            format!("{:.2}", method.regret),
            format!("{:.0}", method.scalars),
            format!("{:.0}", method.social_cost),
            format!("{:.0}", method.incentive),
        ]
    });
    let header = ["method", "regret", "communication", "social cost", "incentive"];
    table(&header, &[1, 2, 3, 4], rows.collect())
}

fn claims(reproduction: &Reproduction) -> String {
    let rows = reproduction.claims().iter().map(|claim| {
        let verdict = match claim.verdict {
            VerdictKind::Reproduced => "reproduced",
            VerdictKind::NotReproduced => "not reproduced",
            VerdictKind::Refuted => "refuted",
        };
        vec![verdict.to_owned(), claim.claim.clone()]
    });
    table(&["verdict", "claim"], &[], rows.collect())
}
