//! `truthfed round`: rounds as recorded in the journal.

use anyhow::bail;
use serde::Serialize;
use truthfed_node::coordinator::operator::{RoundReply, RoundState, RoundSummary, read_rounds};
use truthfed_node::federation::open;

use super::args::{FolderArgs, RoundArgs, RoundCommand, ShowArgs};
use super::existing_store;
use crate::report::{Report, json, table};

pub(crate) fn run(args: &RoundArgs) -> anyhow::Result<Report> {
    match &args.command {
        RoundCommand::List(args) => list(args),
        RoundCommand::Show(args) => show(args),
    }
}

#[derive(Serialize)]
struct Rounds {
    rounds: Vec<RoundSummary>,
}

fn list(args: &FolderArgs) -> anyhow::Result<Report> {
    let mut store = existing_store(&open(&args.folder)?)?;
    let rounds = Rounds { rounds: read_rounds(store.as_mut())?.into_iter().map(|round| round.summary).collect() };
    Ok(Report::done(if args.json { json(&rounds) } else { in_lines(&rounds.rounds) }))
}

fn in_lines(rounds: &[RoundSummary]) -> String {
    if rounds.is_empty() {
        return "No round yet.\n".to_owned();
    }
    let row = |round: &RoundSummary| {
        vec![
            round.round.to_string(),
            state(round),
            round.asked_by.to_string(),
            round.offers.to_string(),
            round.winners.to_string(),
            round.paid.to_string(),
            round.defaulted.to_string(),
        ]
    };
    let header = ["round", "state", "asked by", "offers", "winners", "paid", "not delivered"];
    table(&header, &[0, 3, 4, 5, 6], rounds.iter().map(row).collect())
}

fn state(round: &RoundSummary) -> String {
    match (&round.state, &round.reason) {
        (RoundState::Offers, _) => "open for offers".to_owned(),
        (RoundState::Deliveries, _) => "waiting for deliveries".to_owned(),
        (RoundState::Settled, _) => "settled".to_owned(),
        (RoundState::Aborted, reason) => format!("aborted: {}", reason.as_deref().unwrap_or("no reason is recorded")),
    }
}

fn show(args: &ShowArgs) -> anyhow::Result<Report> {
    let mut store = existing_store(&open(&args.folder)?)?;
    let rounds = read_rounds(store.as_mut())?;
    let Some(round) = rounds.into_iter().find(|round| round.summary.round.0 == args.round) else {
        bail!("there is no round {}: see truthfed round list {}", args.round, args.folder.display());
    };
    Ok(Report::done(if args.json { json(&round) } else { in_words(&round) }))
}

fn in_words(round: &RoundReply) -> String {
    let summary = &round.summary;
    let row = |offer: &truthfed_node::coordinator::operator::OfferLine| {
        let award = round.awards.iter().find(|award| award.member == offer.member);
        let outcome = match award {
            None if round.sealed.is_some() => "lost",
            None => "",
            Some(_) if round.defaulted.contains(&offer.member) => "won, not delivered",
            Some(_) if round.paid.contains(&offer.member) => "won, paid",
            Some(_) => "won",
        };
        let payment = award.map_or_else(String::new, |award| award.payment_micros.to_string());
        let essential = if award.is_some_and(|award| award.essential) { "essential" } else { "" };
        vec![
            offer.member.to_string(),
            offer.samples.to_string(),
            offer.ask_micros.to_string(),
            outcome.to_owned(),
            payment,
            essential.to_owned(),
        ]
    };
    let header = ["member", "samples", "asks", "", "payment", ""];
    let offers = table(&header, &[1, 2, 4], round.offers.iter().map(row).collect());
    format!("Round {}, asked for by {}: {}.\n{offers}", summary.round, summary.asked_by, state(summary))
}
