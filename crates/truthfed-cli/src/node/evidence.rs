//! What a member holds itself, against a journal that others keep: its key, and the receipts that the coordinator signed.

use std::path::Path;

use serde::Serialize;
use truthfed_node::coordinator::operator::read_members;
use truthfed_node::federation::{Bundle, open_bundle};
use truthfed_node::ledger::{Report as Verified, Statement, receipts};
use truthfed_node::store::Store;

use super::ledger::own_receipts;
use crate::report::{Report, json};

#[derive(Serialize)]
struct Finding<'a> {
    ledger: &'a Verified,
    member: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipts: Option<receipts::Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Compares a journal that is right in itself with what a member holds in its bundle.
pub(super) fn compare(
    folder: &Path,
    store: &mut dyn Store,
    ledger: &Verified,
    prefix: &str,
    as_json: bool,
) -> anyhow::Result<Report> {
    let bundle = open_bundle(folder)?;
    let (problem, receipts) = match foreign_key(&bundle, store)? {
        Some(problem) => (Some(problem), None),
        None => match check_receipts(&bundle, folder, store)? {
            Ok(summary) => (None, Some(summary)),
            Err(error) => (Some(error.to_string()), None),
        },
    };
    let finding = Finding { ledger, member: bundle.member.as_str(), receipts, problem };
    let text = if as_json { json(&finding) } else { format!("{prefix}{ledger}\n{}", words(&finding)) };
    Ok(if finding.problem.is_none() { Report::done(text) } else { Report::refuted(text) })
}

fn words(Finding { member, receipts, problem, .. }: &Finding<'_>) -> String {
    match (problem, receipts) {
        (Some(problem), _) => format!("{member}: {problem}\n"),
        (None, Some(receipts::Summary { receipts: 0, .. })) | (None, None) => {
            format!("{member}: enrolled with its own key; it holds no receipts.\n")
        }
        (None, Some(summary)) => {
            format!("{member}: enrolled with its own key; its {} receipts agree with the journal.\n", summary.receipts)
        }
    }
}

/// Whoever is enrolled under the member's name with another key can offer in its name.
fn foreign_key(bundle: &Bundle, store: &mut dyn Store) -> anyhow::Result<Option<String>> {
    let lines = read_members(store)?;
    let Some(line) = lines.iter().find(|line| line.member == bundle.member) else {
        return Ok(Some("the journal does not enrol it".to_owned()));
    };
    let journaled = line.past_keys.iter().chain([&line.key]);
    let own = bundle.identity.certificate().key();
    let mut keys = journaled.zip(bundle.earlier_keys.iter().chain([&own]));
    if let Some((found, own)) = keys.find(|(found, own)| found != own) {
        return Ok(Some(format!("the journal enrols it with key {found}, and its own key is {own}")));
    }
    let (journaled, own) = (line.past_keys.len(), bundle.earlier_keys.len());
    Ok((journaled != own)
        .then(|| format!("the journal has {journaled} renewals of its key, and it renewed {own} times")))
}

fn check_receipts(
    bundle: &Bundle,
    folder: &Path,
    store: &mut dyn Store,
) -> anyhow::Result<Result<receipts::Summary, receipts::ReceiptError>> {
    let Some(held) = own_receipts(bundle, folder)? else { return Ok(Ok(receipts::Summary::default())) };
    let statement = Statement::read(store, &bundle.member)?;
    Ok(receipts::check(&whose(bundle), &held, Some(&statement)))
}

pub(super) fn whose(bundle: &Bundle) -> receipts::Bundle {
    receipts::Bundle {
        member: bundle.member.clone(),
        federation: bundle.federation,
        coordinator: bundle.coordinator_key,
    }
}
