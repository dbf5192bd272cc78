//! The reproduction of the paper: every figure, every checkable claim with a verdict, and what lies beyond.
//!
//! Each module measures one group of questions and returns a part: a section of the report and its claims.
//! Verdicts follow from what was measured, by rules that stand beside the measurement; nothing is written in
//! by hand. Wall-clock time appears nowhere, so the same seeds give the same bytes.

mod across_rounds;
mod audit;
mod beyond;
mod groups;
mod growth;
mod lab;
mod macro_level;
mod methods;
mod micro_level;
mod optimum;
mod output;
mod single_rounds;

pub use lab::{Options, STAGES, Watch};
pub use output::{WriteError, write};

use self::lab::Lab;
use crate::report::page::{Page, Section, Verdict};
use crate::simulation::Run;
use crate::world::WorldError;

/// What a module found out.
struct Part {
    section: Section,
    claims: Vec<Verdict>,
}

/// The whole reproduction, ready to be written.
pub struct Reproduction {
    page: Page,
    claims: Vec<Verdict>,
    summary: Vec<MethodSummary>,
    runs: Vec<(String, Vec<Run>)>,
    options: Options,
}

/// One line of the closing table.
#[derive(Debug, Clone)]
pub struct MethodSummary {
    /// Name of the mechanism.
    pub mechanism: String,
    /// Mean regret, scalars, social cost and incentive over the seeds.
    pub regret: f64,
    /// Scalars sent.
    pub scalars: f64,
    /// True costs of those that took part.
    pub social_cost: f64,
    /// Payments.
    pub incentive: f64,
}

impl Reproduction {
    /// Runs everything.
    ///
    /// # Errors
    /// When a world cannot be made; the built-in ones can.
    pub fn run(options: Options, watch: &dyn Watch) -> Result<Reproduction, WorldError> {
        let lab = Lab::new(options, watch);
        let methods = methods::run(&lab)?;
        let mut claims = methods.part.claims;
        let mut sections = vec![methods.part.section];
        let parts = [
            micro_level::run(&lab)?,
            macro_level::run(&lab)?,
            single_rounds::run(&lab),
            optimum::run(&lab),
            growth::run(&lab)?,
            audit::run(&lab),
            across_rounds::run(&lab)?,
            beyond::run(&lab, &methods.runs)?,
        ];
        for part in parts {
            claims.extend(part.claims);
            sections.push(part.section);
        }
        let page = output::page(options, sections, &claims);
        Ok(Reproduction { page, claims, summary: methods.summary, runs: methods.runs, options })
    }

    /// The claims and their verdicts.
    pub fn claims(&self) -> &[Verdict] {
        &self.claims
    }

    /// The claims as a JSON object.
    pub fn claims_json(&self) -> String {
        output::claims_json(&self.claims)
    }

    /// The closing table.
    pub fn summary(&self) -> &[MethodSummary] {
        &self.summary
    }
}
