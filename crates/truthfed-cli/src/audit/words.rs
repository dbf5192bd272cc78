//! An audit for humans: verdicts, the essence of each counterexample, and what it costs.

use truthfed::audit::{Economics, Property, Spread};

use super::{Audited, Row, Source, across};
use crate::report::{cells, counted, table};

pub(super) fn text(source: &Source, audited: &Audited) -> String {
    let across_rounds = audited.across_rounds.as_ref().map(across::words).unwrap_or_default();
    let (rows, economics) = (&audited.rows, &audited.economics);
    let sections = [headline(source), verdicts(rows), refutations(rows), costs(economics), across_rounds];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

fn headline(source: &Source) -> String {
    let Source { recorded, random, clients: (fewest, most), dimensions: (lowest, highest), seed, purse } = source;
    let random = (*random > 0).then(|| {
        let rounds = counted(*random as usize, "random round");
        format!("{rounds} of {fewest} to {most} clients in {lowest} to {highest} dimensions (seed {seed})")
    });
    let recorded = (!recorded.is_empty()).then(|| counted(recorded.len(), "recorded round"));
    let purse = purse.map(|purse| format!(", with a purse of {purse}")).unwrap_or_default();
    format!("{}{purse}.\n", recorded.into_iter().chain(random).collect::<Vec<_>>().join(", "))
}

fn verdicts(rows: &[Row]) -> String {
    let line = |(index, row): (usize, &Row)| {
        let is_first = index == 0 || rows[index - 1].verdict.mechanism != row.verdict.mechanism;
        let mechanism = if is_first { &row.verdict.mechanism } else { "" };
        let claimed = if row.is_claimed { "yes" } else { "" };
        cells(&[&mechanism, &row.verdict.property, &claimed, &verdict(row)])
    };
    table(&["mechanism", "property", "claimed", "verdict"], &[], rows.iter().enumerate().map(line).collect())
}

fn verdict(row: &Row) -> String {
    let verdict = &row.verdict;
    let (cases, violations, (what, amount)) = (verdict.cases, verdict.violations, terms(verdict.property));
    let mut text = match &verdict.worst {
        None if cases == 0 => "no cases".to_owned(),
        None => format!("holds in {cases} of {cases} {what}"),
        Some(worst) => {
            let amount = amount.map(|name| format!(", {name} {}", worst.gain)).unwrap_or_default();
            let mark = if row.is_claimed { "REFUTED" } else { "refuted" };
            format!("{mark} in {violations} of {cases} {what}{amount}")
        }
    };
    if verdict.refused > 0 {
        text.push_str(&format!(" ({} not tried: the search was given up)", verdict.refused));
    }
    text
}

/// What the cases of a property are, and what the amount of a violation is.
fn terms(property: Property) -> (&'static str, Option<&'static str>) {
    match property {
        Property::Monotone => ("clients", Some("asks apart by up to")),
        Property::IndividuallyRational => ("winners", Some("paid too little by up to")),
        Property::Truthful => ("clients", Some("gain up to")),
        Property::Certified => ("winners", Some("payment off by up to")),
        Property::Collusion => ("groups", Some("gain of each up to")),
        Property::CollusionInTotal => ("groups", Some("gain of all up to")),
        Property::Purse => ("rounds", Some("above the purse by up to")),
        Property::Optimum => ("rounds", Some("above the optimum by up to")),
        _ => ("rounds", None),
    }
}

fn refutations(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let (counterexample, replay) = row.found.as_ref()?;
        let clients = counted(counterexample.round.spec().offers.len(), "client");
        let (mechanism, property) = (&row.verdict.mechanism, row.verdict.property);
        Some(format!("  {mechanism}, {property} ({clients}): {replay}\n"))
    };
    let lines: String = rows.iter().filter_map(line).collect();
    if lines.is_empty() { lines } else { format!("Counterexamples, made small:\n{lines}") }
}

fn costs(economics: &[Economics]) -> String {
    let cell = |spread: &Option<Spread>| match spread {
        None => "-".to_owned(),
        Some(Spread { mean, median, p95, worst, .. }) => format!("{mean:.2} {median:.2} {p95:.2} {worst:.2}"),
    };
    let has_purse = economics.iter().any(|of| of.information.is_some());
    let line = |of: &Economics| {
        let figures = match has_purse {
            true => vec![&of.information, &of.proportional, &of.essential],
            false => vec![&of.social_cost, &of.payments, &of.frugality, &of.essential],
        };
        std::iter::once(of.mechanism.clone()).chain(figures.into_iter().map(cell)).collect()
    };
    let (header, meaning) = match has_purse {
        true => (
            vec!["mechanism", "information / most", "proportional share's / most", "essential / winners"],
            "The most is that of the best set that the purse could buy at the asks.",
        ),
        false => (
            vec!["mechanism", "social cost / optimum", "payments / optimum", "payments / vcg's", "essential / winners"],
            "The optimum is that of the round's coverage.",
        ),
    };
    let numbers: Vec<usize> = (1..header.len()).collect();
    let table = table(&header, &numbers, economics.iter().map(line).collect());
    format!("{table}Over rounds: mean, median, 95th percentile, largest. {meaning}\n")
}
