//! `truthfed witness`: signs heads of a federation's journal that go on from each other.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde::Serialize;
use truthfed_node::log::{SignedHead, Witness, WitnessError};

use super::args::{WitnessCommand, WitnessFolderArgs, WitnessInitArgs, WitnessSignArgs};
use super::proofs::read;
use crate::report::{Report, json};

pub(crate) fn run(command: &WitnessCommand) -> anyhow::Result<Report> {
    match command {
        WitnessCommand::Init(args) => init(args),
        WitnessCommand::Sign(args) => sign(args),
        WitnessCommand::Show(args) => show(args),
    }
}

#[derive(Serialize)]
struct Shown {
    key: String,
    log: String,
    /// Of how many entries the last head was that it signed; 0 for none.
    entries: u64,
}

impl Shown {
    fn of(witness: &Witness) -> anyhow::Result<Shown> {
        let entries = witness.last()?.as_ref().map_or(0, SignedHead::size);
        Ok(Shown { key: witness.key().to_string(), log: witness.log().to_string(), entries })
    }

    fn report(&self, as_json: bool) -> Report {
        let Shown { key, log, entries } = self;
        Report::done(match as_json {
            true => json(self),
            false => format!("{key}\nsigns heads of {log}\nThe last had {entries} entries.\n"),
        })
    }
}

fn init(WitnessInitArgs { of, name, log }: &WitnessInitArgs) -> anyhow::Result<Report> {
    Ok(Shown::of(&Witness::create(&of.folder, name, log)?)?.report(of.json))
}

fn show(of: &WitnessFolderArgs) -> anyhow::Result<Report> {
    Ok(Shown::of(&Witness::open(&of.folder)?)?.report(of.json))
}

fn sign(WitnessSignArgs { folder, proof: path }: &WitnessSignArgs) -> anyhow::Result<Report> {
    let proofs = read(path)?;
    let proof = proofs.last().context("there is no head in it")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    match Witness::open(folder)?.sign(proof, now.as_secs()) {
        Ok(head) => Ok(Report::done(head.to_string())),
        // That is the answer, not a mistake of whoever asks.
        Err(error @ (WitnessError::TwoHistories { .. } | WitnessError::Proof(_))) => {
            Ok(Report::refuted(format!("{error}\n")))
        }
        Err(error) => Err(error.into()),
    }
}
