//! `truthfed audit`: tries to refute what mechanisms claim, and explains what it found before.

mod across;
mod files;
mod json;
mod recorded;
mod replay;
mod words;

use anyhow::Context;
use rayon::prelude::*;
use truthfed::auction::catalog::Claim;
use truthfed::auction::{Mechanism, MechanismSetting, Round};
use truthfed::audit::{Audit, Counterexample, Economics, Effort, Findings, Property, Replay, Verdict};
use truthfed::generate;
use truthfed_sim::manipulation;

use self::files::Folder;
use crate::args::AuditArgs;
use crate::progress::Progress;
use crate::purse::{self, Purse};
use crate::report::Report;

/// Random rounds where nothing else is asked for.
const RANDOM: u32 = 10_000;
/// Seeds of whole runs where everything is checked and nothing else is asked for.
const RUNS: u64 = 5;
/// Up to so many rounds are audited thoroughly.
const FEW: usize = 20;

pub(crate) fn run(args: &AuditArgs) -> anyhow::Result<Report> {
    if let Some(path) = &args.replay {
        args.parameters.expect_none("a counterexample is replayed with the parameters in its file")?;
        return replay::run(path, args.json);
    }
    let settings = match args.mechanism.as_str() {
        "all" => args.parameters.all_settings()?,
        name => vec![args.parameters.setting(name)?],
    };
    if args.purse.is_some() {
        settings.iter().try_for_each(purse::check)?;
    }
    let source = Source::of(args)?;
    // Before the work: nobody should wait for results that cannot be written.
    let folder = args.out.as_deref().map(Folder::open).transpose()?;
    let audited = match args.jobs {
        None => audited(args, &source, &settings)?,
        Some(jobs) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(jobs)).build()?;
            pool.install(|| audited(args, &source, &settings))?
        }
    };
    let json = json::text(&audited, folder.is_some());
    let mut text = if args.json { json.clone() } else { words::text(&source, &audited) };
    if let Some(folder) = folder {
        let written = folder.write(&audited, &json)?;
        if !args.json {
            text.push_str(&written);
        }
    }
    Ok(if audited.rows.iter().any(Row::is_failed_claim) { Report::refuted(text) } else { Report::done(text) })
}

struct Audited {
    rows: Vec<Row>,
    economics: Vec<Economics>,
    across_rounds: Option<manipulation::Findings>,
}

/// One mechanism, one property.
struct Row {
    verdict: Verdict,
    is_claimed: bool,
    /// The worst violation, made small.
    found: Option<(Counterexample, Replay)>,
}

impl Row {
    /// Whether the mechanism promises what it does not keep.
    fn is_failed_claim(&self) -> bool {
        self.is_claimed && !self.verdict.holds()
    }

    fn file(&self) -> String {
        format!("{}-{}.json", self.verdict.mechanism, self.verdict.property)
    }
}

fn audited(args: &AuditArgs, source: &Source, settings: &[MechanismSetting]) -> anyhow::Result<Audited> {
    let mechanisms: Vec<Box<dyn Mechanism>> = settings.iter().map(MechanismSetting::mechanism).collect();
    let mechanisms: Vec<&dyn Mechanism> = mechanisms.iter().map(AsRef::as_ref).collect();
    let effort = if source.rounds() <= FEW { Effort::THOROUGH } else { Effort::QUICK };
    let audit = Audit::new(checks(&args.check, source.has_purse())?).with_effort(effort);
    let progress = Progress::new("rounds", source.rounds() as u64);
    let Findings { verdicts, economics, .. } = audit.rounds(&mechanisms, source.iter(), || progress.step());
    progress.finish();
    let rows = verdicts.into_par_iter().map(|verdict| row(verdict, settings)).collect::<Result<_, _>>()?;
    let is_everything = args.rounds.is_none() && args.check.is_empty();
    let is_everything = is_everything && args.purse.is_none();
    let across_rounds =
        across::run(settings, args.runs.unwrap_or(if is_everything { RUNS } else { 0 }), &args.changes)?;
    Ok(Audited { rows, economics, across_rounds })
}

fn row(verdict: Verdict, settings: &[MechanismSetting]) -> anyhow::Result<Row> {
    let setting = settings.iter().find(|setting| setting.name() == verdict.mechanism);
    let setting = setting.context("a verdict is on one of the mechanisms")?;
    let mechanism = &*setting.mechanism();
    let found = verdict
        .counterexample(mechanism)
        .map(|counterexample| counterexample.replay(mechanism).map(|replay| (counterexample, replay)));
    let is_claimed = verdict.property.claim_of(&setting.claims()) == Claim::Yes;
    Ok(Row { is_claimed, found: found.transpose()?, verdict })
}

/// The properties of some names, or all that rounds with or without a purse can have.
fn checks(names: &[String], has_purse: bool) -> anyhow::Result<Vec<Property>> {
    if names.is_empty() {
        return Ok(Property::ALL.into_iter().filter(|&property| has_purse || property != Property::Purse).collect());
    }
    let mut checks = names.iter().map(|name| name.parse()).collect::<Result<Vec<Property>, _>>()?;
    if checks.contains(&Property::Collusion) {
        checks.push(Property::CollusionInTotal);
    }
    Ok(checks)
}

/// Where rounds come from: files, a seed, or both.
struct Source {
    recorded: Vec<Round>,
    random: u32,
    clients: (usize, usize),
    dimensions: (usize, usize),
    seed: u32,
    /// Instead of that of the rounds.
    purse: Option<Purse>,
}

impl Source {
    fn of(args: &AuditArgs) -> anyhow::Result<Source> {
        let recorded = args.rounds.as_deref().map(recorded::read).transpose()?;
        Ok(Source {
            random: args.random.unwrap_or(if recorded.is_some() { 0 } else { RANDOM }),
            recorded: recorded.unwrap_or_default(),
            clients: args.clients,
            dimensions: args.dim,
            seed: args.seed,
            purse: args.purse,
        })
    }

    fn has_purse(&self) -> bool {
        self.purse.is_some() || self.recorded.iter().any(|round| round.purse().is_some())
    }

    fn rounds(&self) -> usize {
        self.recorded.len() + self.random as usize
    }

    fn iter(&self) -> impl ParallelIterator<Item = Round> + '_ {
        // Every seed has room for as many rounds as there can be.
        let random = move |number: u32| {
            generate::varied_within(u64::from(self.seed) << 32 | u64::from(number), self.clients, self.dimensions)
        };
        let rounds = self.recorded.par_iter().cloned().chain((0..self.random).into_par_iter().map(random));
        rounds.map(|round| match self.purse {
            Some(purse) => purse.in_round(&round),
            None => round,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_claimed_and_refuted_is_a_failure() {
        let row = |is_claimed: bool, violations: u64| {
            let (mechanism, property) = ("clock".to_owned(), Property::Truthful);
            let verdict =
                Verdict { mechanism, property, cases: 9, violations, refused: 0, worst: None, smallest: None };
            Row { verdict, is_claimed, found: None }
        };
        let failed = [(true, 1), (true, 0), (false, 1), (false, 0)]
            .map(|(claimed, violations)| row(claimed, violations).is_failed_claim());
        assert_eq!(failed, [true, false, false, false]);
    }

    #[test]
    fn collusion_is_checked_for_each_and_in_total() {
        let checks =
            |names: &[&str]| checks(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>(), true).unwrap();
        assert_eq!(checks(&["collusion"]), [Property::Collusion, Property::CollusionInTotal]);
        assert_eq!(checks(&["ir"]), [Property::IndividuallyRational]);
        assert_eq!(checks(&[]), Property::ALL);
    }
}
