//! `truthfed ledger`: statements, totals, verification and bundles for auditors.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use truthfed_node::agent::{Agent, Membership};
use truthfed_node::calendar::{Period, minute};
use truthfed_node::coordinator::CHECKPOINT;
use truthfed_node::digest::Digest;
use truthfed_node::engine::read_checkpoint;
use truthfed_node::federation::{Bundle, Enrolment, Federation, PublicBundle, journaled, open, open_bundle, publish};
use truthfed_node::ledger::{
    Accounts, Balance, Line, LineState, Payout, Report as Verified, Statement, Trust, decimal_units, receipts, verify,
    verify_journal,
};
use truthfed_node::store::{Store, StoreError};

use super::agent::DATA;
use super::args::{BundleArgs, LedgerCommand, StatementArgs, TotalsArgs, VerifyArgs};
use super::evidence::whose;
use super::{evidence, existing_store, export, payout, proofs, recorded};
use crate::report::{Report, cells, json, table};

pub(crate) fn run(command: &LedgerCommand) -> anyhow::Result<Report> {
    match command {
        LedgerCommand::Statement(args) => statement(args),
        LedgerCommand::Verify(args) => verified(args),
        LedgerCommand::Bundle(args) => bundle(args),
        LedgerCommand::Totals(args) => totals(args),
        LedgerCommand::Export(args) => export::run(args),
        LedgerCommand::Payout(command) => payout::run(command),
        LedgerCommand::Prove(args) => proofs::prove(args),
        LedgerCommand::Check(args) => proofs::check(args),
    }
}

fn statement(args: &StatementArgs) -> anyhow::Result<Report> {
    let is_bundle = args.folder.join("member.toml").is_file();
    let Some(member) = &args.member else {
        return match is_bundle {
            true if args.period.period()? != Period::ALWAYS => bail!("receipts have no dates: leave the period out"),
            true => from_receipts(&args.folder, args.json),
            false => bail!("name a member: truthfed ledger statement {} NAME", args.folder.display()),
        };
    };
    let whole = Statement::read(recorded(&args.folder)?.as_mut(), &member.parse()?)?;
    let statement = whole.within(args.period.period()?);
    Ok(Report::done(if args.json { json(&statement) } else { words(&statement) }))
}

pub(super) fn words(statement: &Statement) -> String {
    let row = |line: &Line| {
        let payment = line.payment_micros.map_or_else(String::new, |payment| payment.to_string());
        let (opened, since) = (minute(line.opened_ms), minute(line.since_ms));
        cells(&[&line.round, &opened, &line.ask_micros, &state(line.state), &since, &payment])
    };
    let rows = statement.lines.iter().map(row).collect();
    let (member, totals) = (&statement.member, &statement.totals);
    let [earned, paid_out, owed, before] =
        [totals.posted_micros, totals.paid_out_micros, totals.owed_micros, statement.before_micros].map(units);
    let mut text = format!("{member}: {} offers, {} won.\n", totals.offers, totals.won);
    if statement.before_micros != 0 {
        text.push_str(&format!("Owed before: {before}.\n"));
    }
    text.push_str(&format!("Earned: {earned}. Paid out: {paid_out}. Owed: {owed}.\n"));
    if totals.voided > 0 {
        text.push_str(&format!("Void because nothing was delivered in time: {}.\n", totals.voided));
    }
    if totals.waiting > 0 {
        text.push_str(&format!("Waiting until others' data confirms what was delivered: {}.\n", totals.waiting));
    }
    if totals.forfeited > 0 {
        text.push_str(&format!(
            "Void because others' data contradicts it, or the operator ruled so: {}.\n",
            totals.forfeited
        ));
    }
    if let Some(last) = statement.excluded {
        text.push_str(&format!("Excluded up to round {last}: it won and did not deliver too often.\n"));
    }
    if !statement.lines.is_empty() {
        let header = ["round", "opened (UTC)", "asked (units)", "", "since (UTC)", "payment (units)"];
        text.push_str(&table(&header, &[0, 2, 5], rows));
    }
    if !statement.payouts.is_empty() {
        let row = |payout: &Payout| cells(&[&minute(payout.at_ms), &payout.amount_micros, &payout.reference]);
        let rows = statement.payouts.iter().map(row).collect();
        text.push_str(&table(&["paid out (UTC)", "amount (units)", "reference"], &[1], rows));
    }
    text
}

fn totals(args: &TotalsArgs) -> anyhow::Result<Report> {
    let accounts = Accounts::read(recorded(&args.of.folder)?.as_mut(), args.period.period()?)?;
    if args.of.json {
        return Ok(Report::done(json(&accounts)));
    }
    let row = |name: &dyn ToString, balance: &Balance| {
        let Balance { earned_micros, paid_out_micros, owed_micros, promised_micros } = *balance;
        let sums = [earned_micros, paid_out_micros, owed_micros, promised_micros].map(decimal_units);
        std::iter::once(name.to_string()).chain(sums).collect::<Vec<String>>()
    };
    let mut rows: Vec<Vec<String>> = accounts.members.iter().map(|(name, balance)| row(name, balance)).collect();
    rows.push(row(&"all", &accounts.total));
    let header = ["member", "earned (units)", "paid out (units)", "owed (units)", "promised, not owed (units)"];
    Ok(Report::done(table(&header, &[1, 2, 3, 4], rows)))
}

fn state(state: LineState) -> &'static str {
    match state {
        LineState::Open => "not decided yet",
        LineState::Withdrawn => "withdrawn with the member",
        LineState::Aborted => "round ended without an auction",
        LineState::Lost => "lost",
        LineState::Pending => "won, to be delivered",
        LineState::Waiting => "won, delivered, payment waits",
        LineState::Posted => "won, paid",
        LineState::Voided => "won, not delivered",
        LineState::Forfeited => "won, contradicted, not paid",
    }
}

/// With the word.
pub(super) fn units(micros: i128) -> String {
    format!("{} units", decimal_units(micros))
}

/// A member's agent, which must not run; none if it has not run here.
pub(super) fn own(bundle: &Bundle, folder: &Path) -> anyhow::Result<Option<Agent>> {
    let data = folder.join(DATA);
    if !data.is_file() {
        return Ok(None);
    }
    Agent::open(Membership::of(bundle), &data).map(Some).with_context(|| data.display().to_string())
}

/// Checks and sums up a member's own receipts.
fn from_receipts(folder: &Path, as_json: bool) -> anyhow::Result<Report> {
    let bundle = open_bundle(folder)?;
    let missing = || format!("{} is missing: the agent of this bundle has not run here", folder.join(DATA).display());
    let held = own(&bundle, folder)?.with_context(missing)?.receipts()?;
    let summary = receipts::check(&whose(&bundle), &held, None)?;
    let receipts::Summary { receipts: count, rounds, payments, waiting, posted_micros } = summary;
    let (member, paid) = (bundle.member, units(posted_micros));
    Ok(Report::done(match as_json {
        true => json(&summary),
        false => format!(
            "{member}: {count} receipts of {rounds} rounds, all signed by the coordinator; {payments} payments, {paid} in all, and {waiting} that wait.\n"
        ),
    }))
}

fn verified(args: &VerifyArgs) -> anyhow::Result<Report> {
    let of = &args.of;
    if PublicBundle::is_there(&of.folder) {
        return verified_bundle(args);
    }
    let federation = open(&of.folder)?;
    let trust = trust(&federation, &of.folder)?;
    let trust = Trust { federation: expected(args)?.or(trust.federation), ..trust };
    let mut store = existing_store(&federation)?;
    let report = verify(store.as_mut(), &trust)?;
    if report.is_right()
        && let Some(problem) = uncertified(store.as_mut(), || Ok(federation.certified()?))?
    {
        return Ok(refuted(
            args,
            &format!("{problem}, or it is in another copy of this folder: copy roster and renewals"),
        ));
    }
    verdict(args, &report, store.as_mut(), "")
}

/// The federation that whoever asks expects: as it says, or as its own bundle says.
fn expected(args: &VerifyArgs) -> anyhow::Result<Option<Digest>> {
    let own = args.member.as_deref().map(open_bundle).transpose()?;
    Ok(args.federation.or(own.map(|bundle| bundle.federation)))
}

/// What was altered in a bundle is a finding, not a mistake of whoever asks.
fn verified_bundle(args: &VerifyArgs) -> anyhow::Result<Report> {
    let mut bundle = match PublicBundle::open(&args.of.folder) {
        Ok(bundle) => bundle,
        Err(error) => return Ok(refuted(args, &error)),
    };
    let certified = bundle.certified.clone();
    let trust = Trust { federation: expected(args)?.or(bundle.trust.federation), ..bundle.trust };
    let report = match verify_journal(&mut bundle, &trust) {
        Err(StoreError::Damaged(problem)) => return Ok(refuted(args, &problem)),
        report => report?,
    };
    if report.is_right()
        && let Some(problem) = uncertified(&mut bundle, || Ok(certified))?
    {
        return Ok(refuted(args, &problem));
    }
    let federation = trust.federation.map_or_else(String::new, |id| format!("federation {id}: "));
    verdict(args, &report, &mut bundle, &federation)
}

/// The first key of a member, present or past, that the authority did not certify. The certificates are read after the journal:
/// what it has was certified before.
fn uncertified(
    store: &mut dyn Store,
    certified: impl FnOnce() -> anyhow::Result<Vec<Enrolment>>,
) -> anyhow::Result<Option<String>> {
    let (journaled, certified) = (journaled(store)?, certified()?);
    let wrong = journaled.into_iter().find(|one| !certified.contains(one));
    Ok(wrong.map(|Enrolment { member, key, certificate }| {
        format!(
            "the journal has {member} with key {key} and certificate {certificate}, and no such certificate is here: \
             the authority never issued it"
        )
    }))
}

fn refuted(args: &VerifyArgs, problem: &dyn ToString) -> Report {
    let problem = problem.to_string();
    Report::refuted(if args.of.json { json(&BTreeMap::from([("problem", problem)])) } else { format!("{problem}\n") })
}

fn verdict(args: &VerifyArgs, report: &Verified, store: &mut dyn Store, prefix: &str) -> anyhow::Result<Report> {
    if let Some(member) = args.member.as_deref().filter(|_| report.is_right()) {
        return evidence::compare(member, store, report, prefix, args.of.json);
    }
    let text = if args.of.json { json(report) } else { format!("{prefix}{report}\n") };
    Ok(if report.is_right() { Report::done(text) } else { Report::refuted(text) })
}

fn bundle(BundleArgs { of, out }: &BundleArgs) -> anyhow::Result<Report> {
    let federation = open(&of.folder)?;
    let checkpoint = trust(&federation, &of.folder)?.checkpoint;
    let entries = publish(&federation, existing_store(&federation)?.as_mut(), checkpoint, out)?;
    Ok(Report::done(match of.json {
        true => json(&BTreeMap::from([("entries", entries)])),
        false => format!("{entries} entries are in {}, with certificates and no key.\n", out.display()),
    }))
}

/// What the folder says of the journal.
pub(super) fn trust(federation: &Federation, folder: &Path) -> anyhow::Result<Trust> {
    Ok(Trust {
        federation: Some(federation.id()),
        coordinator: Some(federation.server.signer().public()),
        checkpoint: read_checkpoint(&folder.join(CHECKPOINT))?,
    })
}
