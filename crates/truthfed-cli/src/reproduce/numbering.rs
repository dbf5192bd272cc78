//! Every number of the paper: the rows that judge it, or why it has none.

use truthfed_report::page::Table;

use super::claim::{Claim, mark};
use super::readings::READINGS;

/// What the paper numbers, by kind. Definitions, propositions, lemmas and theorems share one count.
const NUMBERED: [(&str, &[&str]); 9] = [
    ("Definition", &["1", "2", "3", "4"]),
    ("Proposition", &["5"]),
    ("Lemma", &["6", "7"]),
    ("Theorem", &["8", "9", "10"]),
    ("Definition", &["11"]),
    ("Lemma", &["12", "13", "14", "15", "16", "17", "18", "19"]),
    ("Equation", &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"]),
    ("Figure", &["1a", "1b", "1c", "1d", "2a", "2b", "2c", "2d"]),
    ("Table", &["1"]),
];

/// What states nothing that could be judged by itself.
const WITHOUT_ROWS: [(&str, &str); 7] = [
    ("Definition 1", "says what truthful means"),
    ("Definition 2", "says what social cost means"),
    ("Definition 3", "says what monotone means"),
    ("Equation 3", "Equation 1 in logarithms, which keep the order"),
    ("Equation 8", "says which of several ratios is largest, up to ties"),
    ("Equation 10", "says which of several ratios is largest, up to ties"),
    ("Equation 12", "says how clients choose arms"),
];

/// Where a reader with the paper beside it finds each number.
pub(super) fn table(claims: &[Claim]) -> Table {
    let rows = names().map(|name| {
        let judged = rows(claims, &name);
        let said = if judged.is_empty() { without(&name).to_owned() } else { judged };
        vec![name, said]
    });
    let algorithms = vec!["Algorithms 1 to 7".to_owned(), "pseudo-code: what is said of them has rows".to_owned()];
    let readings = READINGS.map(|reading| reading.name).concat();
    let caption =
        format!("Every number of the paper, with the rows above that judge it and their marks under {readings}.");
    Table::new(caption, ["in the paper", "rows"], rows.chain([algorithms]))
}

fn names() -> impl Iterator<Item = String> {
    NUMBERED.iter().flat_map(|(kind, numbers)| numbers.iter().map(move |number| format!("{kind} {number}")))
}

fn rows(claims: &[Claim], name: &str) -> String {
    let marks = |claim: &Claim| READINGS.map(|reading| mark(claim.verdict(reading.name))).concat();
    let about = claims.iter().filter(|claim| claim.is_about(name));
    about.map(|claim| format!("`{}` {}", claim.id, marks(claim))).collect::<Vec<_>>().join(", ")
}

fn without(name: &str) -> &'static str {
    let (_, why) = WITHOUT_ROWS.iter().find(|(known, _)| *known == name).expect("every other number has a row");
    why
}
