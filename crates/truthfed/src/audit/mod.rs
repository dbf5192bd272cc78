//! The audit: an attempt to refute what a mechanism claims, on many rounds.
//!
//! - One client, the others fixed (`single`): is the set of winning asks an interval from 0, is the payment its upper
//!   end and never below the ask, and is no other ask better than the true cost? All asks at which something can turn
//!   are tried (`asks`), and every change between them is narrowed down to the micro-unit (`profile`).
//! - Groups (`coalition`): can they lie so that each member gains, or all in sum?
//! - The outcome itself: is the target met, and is it the cheapest set that meets it?
//! - What it costs (`economics`).
//!
//! What is found is made small (`shrink`) and becomes a [`Counterexample`], which can be written down, read again and
//! replayed. Nothing found is no proof. The same rounds give the same findings at any number of threads.
//!
//! It takes any [`Mechanism`], yours too:
//!
//! ```
//! use truthfed::audit::{Audit, Property};
//! use truthfed::auction::{Clock, IncFedUcb};
//! use truthfed::generate;
//!
//! let rounds: Vec<_> = (0..20).map(generate::varied).collect();
//! let findings = Audit::new(Property::ALL).rounds(&[&Clock, &IncFedUcb::default()], &rounds, || {});
//! assert!(findings.verdict("clock", Property::Truthful).is_some_and(|verdict| verdict.holds()));
//! assert!(findings.verdict("inc-feducb", Property::Truthful).is_some_and(|verdict| !verdict.holds()));
//! ```
//!
//! Not here: what a mechanism claims ([`crate::auction::catalog`]), files, words for humans.

mod asks;
mod bought;
mod coalition;
mod counterexample;
mod document;
mod economics;
mod effort;
mod finding;
mod gain;
mod outcome;
mod paths;
mod profile;
mod property;
mod scene;
mod shrink;
mod single;

use std::borrow::Borrow;

use rayon::prelude::*;

use self::economics::Ratios;
use self::scene::{Scene, Sheet};
use crate::auction::{Mechanism, Round};
use crate::{Stop, Stopped};

pub use self::counterexample::{Account, Counterexample, Part, Replay};
pub use self::document::{COUNTEREXAMPLE_SCHEMA, CounterexampleError};
pub use self::economics::{Economics, Spread};
pub use self::effort::Effort;
pub use self::finding::{Lie, Verdict, Violation};
pub use self::gain::Gain;
pub use self::property::{Property, UnknownProperty};

/// Tries to refute some properties of mechanisms.
#[derive(Debug, Clone)]
pub struct Audit {
    checks: Vec<Property>,
    effort: Effort,
}

/// What an audit of some rounds found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Findings {
    pub rounds: usize,
    /// Of every mechanism, in the order they were given, every property in the order of [`Property::ALL`].
    pub verdicts: Vec<Verdict>,
    /// Of every mechanism, in the same order.
    pub economics: Vec<Economics>,
}

impl Findings {
    pub fn verdict(&self, mechanism: &str, property: Property) -> Option<&Verdict> {
        self.verdicts.iter().find(|verdict| verdict.mechanism == mechanism && verdict.property == property)
    }
}

impl Audit {
    /// An audit of these properties, with [`Effort::QUICK`].
    pub fn new(checks: impl IntoIterator<Item = Property>) -> Audit {
        let mut checks: Vec<Property> = checks.into_iter().collect();
        checks.sort();
        checks.dedup();
        Audit { checks, effort: Effort::QUICK }
    }

    #[must_use]
    pub fn with_effort(self, effort: Effort) -> Audit {
        Audit { effort, ..self }
    }

    /// Audits mechanisms on rounds, in which every ask is taken for the true cost. `done` is called after each round,
    /// from any thread.
    pub fn rounds<R>(&self, mechanisms: &[&dyn Mechanism], rounds: R, done: impl Fn() + Sync) -> Findings
    where
        R: IntoParallelIterator,
        R::Item: Borrow<Round>,
    {
        self.rounds_until(&Stop::never(), mechanisms, rounds, done).expect("nobody stops it")
    }

    /// [`Audit::rounds`], unless it is stopped: then no further round is begun.
    pub fn rounds_until<R>(
        &self,
        stop: &Stop,
        mechanisms: &[&dyn Mechanism],
        rounds: R,
        done: impl Fn() + Sync,
    ) -> Result<Findings, Stopped>
    where
        R: IntoParallelIterator,
        R::Item: Borrow<Round>,
    {
        let audited = rounds.into_par_iter().map(|round| {
            stop.check()?;
            let scene = Scene::new(self, round.borrow(), true);
            let sheets = mechanisms.iter().map(|mechanism| scene.sheet(self, *mechanism)).collect::<Vec<_>>();
            done();
            Ok((1, sheets))
        });
        let empty = || (0, mechanisms.iter().map(|mechanism| self.empty_sheet(mechanism.name())).collect());
        let merge = |(count, mut sheets): (usize, Vec<Sheet>), (more, later): (usize, Vec<Sheet>)| {
            sheets.iter_mut().zip(later).for_each(|(sheet, later)| sheet.merge(later));
            Ok((count + more, sheets))
        };
        let (rounds, sheets) = audited.try_reduce(empty, merge)?;
        let named = mechanisms.iter().map(|mechanism| mechanism.name()).zip(&sheets);
        let economics = named.map(|(name, sheet)| sheet.ratios.economics(name)).collect();
        let verdicts = sheets.into_iter().flat_map(|sheet| sheet.verdicts).collect();
        Ok(Findings { rounds, verdicts, economics })
    }

    fn empty_sheet(&self, mechanism: &str) -> Sheet {
        let verdicts = self.checks.iter().map(|&property| Verdict::new(mechanism, property)).collect();
        Sheet { verdicts, ratios: Ratios::default() }
    }

    /// The worst that breaks a property in one round.
    fn worst(&self, mechanism: &dyn Mechanism, round: &Round) -> Option<Violation> {
        let sheet = Scene::new(self, round, false).sheet(self, mechanism);
        sheet.verdicts.into_iter().find_map(|verdict| verdict.worst)
    }
}
