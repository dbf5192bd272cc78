//! An audit for humans: verdicts, the essence of each counterexample, and what it costs.

use truthfed::audit::{Economics, Property, Spread};

use super::{Audited, Row, Source, across};
use crate::report::table;

pub(super) fn text(source: &Source, audited: &Audited) -> String {
    let across_rounds = audited.across_rounds.as_ref().map(across::words).unwrap_or_default();
    let (rows, economics) = (&audited.rows, &audited.economics);
    let sections = [headline(source), verdicts(rows), refutations(rows), costs(economics), across_rounds];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

fn headline(source: &Source) -> String {
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (clients, dimensions) = (source.clients, source.dimensions);
    let random = (source.random > 0).then(|| {
        format!(
            "{} of {} to {} clients in {} to {} dimensions (seed {})",
            plural(source.random as usize, "random round"),
            clients.0,
            clients.1,
            dimensions.0,
            dimensions.1,
            source.seed
        )
    });
    let recorded = Some(source.recorded.len()).filter(|count| *count > 0);
    let recorded = recorded.map(|count| plural(count, "recorded round"));
    format!("{}.\n", recorded.into_iter().chain(random).collect::<Vec<_>>().join(", "))
}

fn verdicts(rows: &[Row]) -> String {
    let line = |(index, row): (usize, &Row)| {
        let is_first = index == 0 || rows[index - 1].verdict.mechanism != row.verdict.mechanism;
        vec![
            if is_first { row.verdict.mechanism.clone() } else { String::new() },
            row.verdict.property.to_string(),
            if row.is_claimed { "yes" } else { "" }.to_owned(),
            verdict(row),
        ]
    };
    table(&["mechanism", "property", "claimed", "verdict"], &[], rows.iter().enumerate().map(line).collect())
}

fn verdict(row: &Row) -> String {
    let verdict = &row.verdict;
    let (cases, violations, what) = (verdict.cases, verdict.violations, what(verdict.property));
    let mut text = match &verdict.worst {
        None if cases == 0 => "no cases".to_owned(),
        None => format!("holds in {cases} of {cases} {what}"),
        Some(worst) => {
            let amount = amount(verdict.property).map(|name| format!(", {name} {}", worst.gain)).unwrap_or_default();
            let mark = if row.is_claimed { "REFUTED" } else { "refuted" };
            format!("{mark} in {violations} of {cases} {what}{amount}")
        }
    };
    if verdict.refused > 0 {
        text.push_str(&format!(" ({} not tried: the search was given up)", verdict.refused));
    }
    text
}

fn what(property: Property) -> &'static str {
    match property {
        Property::Monotone | Property::Truthful => "clients",
        Property::IndividuallyRational | Property::Certified => "winners",
        Property::Collusion | Property::CollusionInTotal => "groups",
        _ => "rounds",
    }
}

/// What the amount of a violation is.
fn amount(property: Property) -> Option<&'static str> {
    match property {
        Property::Monotone => Some("asks apart by up to"),
        Property::IndividuallyRational => Some("paid too little by up to"),
        Property::Truthful => Some("gain up to"),
        Property::Certified => Some("payment off by up to"),
        Property::Collusion => Some("gain of each up to"),
        Property::CollusionInTotal => Some("gain of all up to"),
        Property::Optimum => Some("above the optimum by up to"),
        _ => None,
    }
}

fn refutations(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let found = row.found.as_ref()?;
        let clients = found.counterexample.round.spec().offers.len();
        let clients = format!("{clients} {}", if clients == 1 { "client" } else { "clients" });
        let (mechanism, property) = (&row.verdict.mechanism, row.verdict.property);
        Some(format!("  {mechanism}, {property} ({clients}): {}\n", found.replay))
    };
    let lines: String = rows.iter().filter_map(line).collect();
    if lines.is_empty() { lines } else { format!("Counterexamples, made small:\n{lines}") }
}

fn costs(economics: &[Economics]) -> String {
    let cell = |spread: &Option<Spread>| match spread {
        None => "-".to_owned(),
        Some(Spread { mean, median, p95, worst, .. }) => format!("{mean:.2} {median:.2} {p95:.2} {worst:.2}"),
    };
    let line = |of: &Economics| {
        let figures = [&of.social_cost, &of.payments, &of.frugality, &of.essential].map(cell);
        std::iter::once(of.mechanism.clone()).chain(figures).collect()
    };
    let header =
        ["mechanism", "social cost / optimum", "payments / optimum", "payments / vcg's", "essential / winners"];
    let table = table(&header, &[1, 2, 3, 4], economics.iter().map(line).collect());
    format!(
        "{table}Over rounds: mean, median, 95th percentile, largest. The optimum is that of the round's coverage.\n"
    )
}
