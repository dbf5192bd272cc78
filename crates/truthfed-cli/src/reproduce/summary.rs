//! What was found, in ten lines.

use truthfed_report::page::VerdictKind;

use super::Reproduction;
use super::claim::{Claim, and, by_number, counts};
use super::readings::{READINGS, Reading};

/// The statements that matter most, with a word for each.
const TOLD: [(&str, &str); 7] = [
    ("truthful", "Truthful"),
    ("social-cost-1", "Near-optimal social cost"),
    ("cheaper-incentive", "Cheaper than greedy"),
    ("greedy-over-reporting", "Over-reporting pays under greedy"),
    ("division", "A divided society costs most"),
    ("monopoly-free", "No monopolies"),
    ("rounds", "Few rounds"),
];

pub(super) fn lines(found: &Reproduction) -> Vec<String> {
    let all = found.claims.len();
    let count = |name: &str| {
        let [held, failed, refuted, undecided] = counts(&found.claims, name);
        let undecided = if undecided > 0 { format!(", {undecided} undecided") } else { String::new() };
        format!("{name} {held} hold, {failed} not reproduced, {refuted} refuted{undecided}")
    };
    let by_reading: Vec<String> = READINGS.iter().map(|reading| count(reading.name)).collect();
    let is_same = |claim: &&Claim| READINGS.iter().all(|reading| claim.verdict(reading.name) == claim.verdict("A"));
    let robust = found.claims.iter().filter(is_same).count();
    let mut lines = vec![
        format!("{all} statements of the paper under four readings: {}.", by_reading.join("; ")),
        numbered(&found.claims),
        format!(
            "The verdict on {robust} statements is the same under all readings; on {} it turns with the reading. Runs have 25 clients, \
             dimension 5, {} steps, coverage 0.5 and {} seeds, unless a row says otherwise.",
            all - robust,
            found.steps,
            found.seeds
        ),
    ];
    let told = TOLD.iter().filter_map(|(id, word)| {
        let claim = found.claims.iter().find(|claim| claim.id == *id)?;
        Some(format!("{word} ({}). {}", claim.source, claim.synthesis))
    });
    lines.extend(told);
    let held = found.ours.iter().filter(|claim| claim.evidence.verdict == VerdictKind::Reproduced).count();
    lines.push(format!("Beyond the paper, {held} of our own {} claims hold.", found.ours.len()));
    lines
}

/// How many of the propositions, lemmas and theorems are refuted: a theorem of several rows counts once.
fn numbered(claims: &[Claim]) -> String {
    let numbered = by_number(claims);
    let is_refuted = |parts: &[&Claim], reading: &Reading| {
        parts.iter().any(|claim| claim.verdict(reading.name) == VerdictKind::Refuted)
    };
    let names = |is_one: &dyn Fn(&[&Claim]) -> bool| -> Vec<&str> {
        numbered.iter().filter(|(_, parts)| is_one(parts)).map(|(name, _)| name.as_str()).collect()
    };
    let always = names(&|parts| READINGS.iter().all(|reading| is_refuted(parts, reading)));
    let never = names(&|parts| !READINGS.iter().any(|reading| is_refuted(parts, reading)));
    let sometimes: Vec<&str> = numbered
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !always.contains(name) && !never.contains(name))
        .collect();
    let listed = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { and(names) };
    format!(
        "Of the {} propositions, lemmas and theorems among them, {} are refuted at least in part under every reading: {}. Refuted \
         under some: {}.",
        numbered.len(),
        always.len(),
        listed(&always),
        listed(&sometimes)
    )
}
