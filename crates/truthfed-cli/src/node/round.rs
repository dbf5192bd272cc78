//! `truthfed round`: rounds as recorded in the journal.

use std::collections::BTreeMap;

use anyhow::bail;
use truthfed::auction::RoundDocument;
use truthfed::protocol::RoundId;
use truthfed_node::calendar::minute;
use truthfed_node::coordinator::operator::{
    AbortRequest, OfferLine, Order, OrderReply, RoundReply, RoundState, RoundSummary, read_rounds,
};
use truthfed_node::federation::{Federation, open};
use truthfed_node::ledger::{Reason, Trust, decimal_units, recorded_round};

use super::args::{AbortArgs, ExportRoundArgs, FolderArgs, RoundCommand, ShowArgs};
use super::ledger::units;
use super::operator::{an_engine, ask, is_unreachable, unexpected};
use super::{block_on, existing_store, recorded};
use crate::report::{Report, cells, json, table};

pub(crate) fn run(command: &RoundCommand) -> anyhow::Result<Report> {
    match command {
        RoundCommand::List(args) => list(args),
        RoundCommand::Show(args) => show(args),
        RoundCommand::Export(args) => export(args),
        RoundCommand::Abort(args) => abort(args),
    }
}

fn rounds(of: &FolderArgs) -> anyhow::Result<Vec<RoundReply>> {
    Ok(read_rounds(recorded(&of.folder)?.as_mut())?)
}

/// The auction as the mechanism saw it, from a journal that is right so far.
fn export(ExportRoundArgs { folder, round }: &ExportRoundArgs) -> anyhow::Result<Report> {
    let auctioned = recorded_round(recorded(folder)?.as_mut(), &Trust::default(), RoundId(*round))?;
    Ok(Report::done(format!("{:#}\n", RoundDocument::of(&auctioned.spec))))
}

/// Ends the open round, as a running coordinator or else an engine of our own does.
fn abort(AbortArgs { of, reason }: &AbortArgs) -> anyhow::Result<Report> {
    let federation = open(&of.folder)?;
    let rounds = read_rounds(existing_store(&federation)?.as_mut())?;
    let is_open = |round: &RoundReply| matches!(round.summary.state, RoundState::Offers | RoundState::Deliveries);
    let Some(last) = rounds.last().filter(|round| is_open(round)).map(|round| round.summary.round) else {
        bail!("no round is open: see truthfed status {}", of.folder.display());
    };
    block_on(order_abort(&federation, last, reason.clone()))?;
    show(&ShowArgs { of: of.clone(), round: last.0 })
}

async fn order_abort(federation: &Federation, round: RoundId, reason: Reason) -> anyhow::Result<()> {
    match ask(federation, &Order::Abort(round, AbortRequest { reason: reason.clone() })).await {
        Ok(OrderReply::Abort(_)) => Ok(()),
        Err(error) if is_unreachable(&error) => {
            let running = an_engine(federation).await?;
            let aborted = running.handle().abort(round, reason).await;
            running.stop().await?;
            aborted?;
            Ok(())
        }
        reply => unexpected(reply),
    }
}

fn list(args: &FolderArgs) -> anyhow::Result<Report> {
    let rounds: Vec<RoundSummary> = rounds(args)?.into_iter().map(|round| round.summary).collect();
    Ok(Report::done(if args.json { json(&BTreeMap::from([("rounds", rounds)])) } else { in_lines(&rounds) }))
}

fn in_lines(rounds: &[RoundSummary]) -> String {
    if rounds.is_empty() {
        return "No round yet.\n".to_owned();
    }
    let row = |summary: &RoundSummary| {
        let RoundSummary { round, asked_by, offers, winners, defaulted, .. } = summary;
        let [paid, released, waiting] =
            [summary.paid_micros, summary.released_micros, summary.waiting_micros].map(|it| decimal_units(it.into()));
        let opened = minute(summary.opened_ms);
        cells(&[round, &opened, &summary.words(), asked_by, offers, winners, defaulted, &paid, &released, &waiting])
    };
    let header = [
        "round",
        "opened (UTC)",
        "state",
        "asked by",
        "offers",
        "winners",
        "not delivered",
        "paid (units)",
        "paid for earlier rounds (units)",
        "payments that wait (units)",
    ];
    table(&header, &[0, 4, 5, 6, 7, 8, 9], rounds.iter().map(row).collect())
}

fn show(ShowArgs { of, round }: &ShowArgs) -> anyhow::Result<Report> {
    let Some(found) = rounds(of)?.into_iter().find(|found| found.summary.round.0 == *round) else {
        bail!("there is no round {round}: see truthfed round list {}", of.folder.display());
    };
    Ok(Report::done(if of.json { json(&found) } else { in_words(&found) }))
}

fn in_words(round: &RoundReply) -> String {
    let summary = &round.summary;
    let row = |offer: &OfferLine| {
        let award = round.awards.iter().find(|award| award.member == offer.member);
        let outcome = round.outcome_of(&offer.member);
        let payment = award.map_or_else(String::new, |award| award.payment_micros.to_string());
        let essential = if award.is_some_and(|award| award.essential) { "essential" } else { "" };
        let ask = offer.ask_micros.map_or_else(|| "sealed later".to_owned(), |ask| ask.to_string());
        cells(&[&offer.member, &offer.samples, &ask, &outcome, &payment, &essential])
    };
    let header = ["member", "samples", "asks (units)", "", "payment (units)", ""];
    let offers = table(&header, &[1, 2, 4], round.offers.iter().map(row).collect());
    let (number, opened) = (summary.round, minute(summary.opened_ms));
    if summary.state == RoundState::Ruled {
        return format!("Round {number}, about {}, {opened} UTC: {}.\n", summary.asked_by, summary.words());
    }
    let ended = summary.ended_ms.map_or_else(String::new, |at| format!(", ended {} UTC", minute(at)));
    let paid = units(summary.paid_micros.into());
    format!(
        "Round {number}, asked for by {}, opened {opened} UTC{ended}: {}. Paid: {paid}.\n{offers}",
        summary.asked_by,
        summary.words()
    )
}
