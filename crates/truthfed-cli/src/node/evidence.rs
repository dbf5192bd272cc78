//! What a member holds itself, against a journal that others keep: its key, and the receipts that the coordinator signed.

use std::path::Path;

use serde::Serialize;
use truthfed_node::agent::{Agent, Heads};
use truthfed_node::coordinator::operator::read_members;
use truthfed_node::federation::{Bundle, open_bundle};
use truthfed_node::ledger::{Report as Verified, Statement, receipts};
use truthfed_node::store::Store;

use super::ledger::own;
use super::proofs::Under;
use crate::report::{Report, json};

#[derive(Serialize)]
struct Finding<'a> {
    ledger: &'a Verified,
    member: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipts: Option<receipts::Summary>,
    /// The newest head that it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<Seen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Clone, Copy, Serialize)]
struct Seen {
    entries: u64,
    journal: Under,
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
    let (problem, receipts, head) = match foreign_key(&bundle, store)? {
        Some(problem) => (Some(problem), None, None),
        None => match own(&bundle, folder)? {
            None => (None, Some(receipts::Summary::default()), None),
            Some(own) => against(&bundle, store, &own)?,
        },
    };
    let finding = Finding { ledger, member: bundle.member.as_str(), receipts, head, problem };
    let text = if as_json { json(&finding) } else { format!("{prefix}{ledger}\n{}", words(&finding)) };
    Ok(if finding.problem.is_none() { Report::done(text) } else { Report::refuted(text) })
}

fn words(Finding { member, receipts, head, problem, .. }: &Finding<'_>) -> String {
    let seen = match head {
        None => String::new(),
        Some(Seen { entries, journal: Under::Shorter }) => {
            format!("; its signed head is of {entries} entries, which this journal does not reach")
        }
        Some(Seen { entries, .. }) => format!("; its signed head of {entries} entries is of this journal"),
    };
    match (problem, receipts) {
        (Some(problem), _) => format!("{member}: {problem}\n"),
        (None, Some(receipts::Summary { receipts: 0, .. })) | (None, None) => {
            format!("{member}: enrolled with its own key; it holds no receipts{seen}.\n")
        }
        (None, Some(summary)) => {
            let count = summary.receipts;
            format!("{member}: enrolled with its own key; its {count} receipts agree with the journal{seen}.\n")
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

/// What is wrong, the receipts if they agree, and the newest head.
type Compared = (Option<String>, Option<receipts::Summary>, Option<Seen>);

/// Compares a journal with what a member's agent has kept.
fn against(bundle: &Bundle, store: &mut dyn Store, agent: &Agent) -> anyhow::Result<Compared> {
    let Heads { newest, other } = agent.heads()?;
    let mut seen = None;
    for head in other.iter().chain(&newest) {
        let (entries, journal) = (head.size(), Under::of(store, head)?);
        if journal == Under::Other {
            let problem =
                format!("it holds a signed head of {entries} entries of another journal: there are two histories");
            return Ok((Some(problem), None, None));
        }
        seen = Some(Seen { entries, journal });
    }
    let statement = Statement::read(store, &bundle.member)?;
    Ok(match receipts::check(&whose(bundle), &agent.receipts()?, Some(&statement)) {
        Ok(summary) => (None, Some(summary), seen),
        Err(error) => (Some(error.to_string()), None, None),
    })
}

pub(super) fn whose(bundle: &Bundle) -> receipts::Bundle {
    receipts::Bundle {
        member: bundle.member.clone(),
        federation: bundle.federation,
        coordinator: bundle.coordinator_key,
    }
}
