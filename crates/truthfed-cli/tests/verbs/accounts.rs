//! Money by date: totals, statements, exports and payouts of a federation that has run.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

use crate::folders::{Run, truthfed};

/// A federation whose rounds have paid, after its coordinator has stopped. Tests work on copies.
static RUN: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let place = tempfile::tempdir().unwrap();
    let demo = ["demo", "--members", "3", "--seconds", "3", "--out", "fed", "--json"];
    truthfed(place.path(), &demo, "").done();
    // Payments that wait for others' data are made, whosever do.
    for name in ["m1", "m2", "m3"] {
        truthfed(place.path(), &["members", "release", "fed", name], "");
    }
    place
});

/// A copy of it, in the folder `fed`.
pub(crate) fn run_before() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    copy(&RUN.path().join("fed"), &place.path().join("fed"));
    place
}

/// With modes: a key that others can read is refused.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn micros(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

/// Somebody to whom much is owed, and how much.
fn creditor(totals: &Value) -> (String, i64) {
    let members = totals["members"].as_object().unwrap();
    let most = members.iter().max_by_key(|(_, balance)| micros(&balance["owed_micros"])).unwrap();
    (most.0.clone(), micros(&most.1["owed_micros"]))
}

#[test]
fn what_is_paid_out_is_recorded_once_and_is_in_totals_statement_and_export() {
    let place = run_before();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let totals: Value = run(&["ledger", "totals", "fed", "--json"]).object();
    let (name, owed) = creditor(&totals);
    assert!(owed > 1_500_000, "{totals}");
    let pay = |amount: &str| run(&["ledger", "payout", "record", "fed", &name, amount, "--reference", "bank, 1"]);
    let recorded = pay("1.5").done();
    assert!(recorded.contains(&format!("1.5 units paid out to {name} as bank, 1.")), "{recorded}");
    assert_eq!(pay("1.5").done(), recorded, "the same again");
    pay("1.6").refused("payout-exists");
    run(&["ledger", "payout", "record", "fed", &name, "100000", "--reference", "2"]).refused("not-owed");

    let after: Value = run(&["ledger", "totals", "fed", "--json"]).object();
    let balance = &after["members"][&name];
    assert_eq!((micros(&balance["paid_out_micros"]), micros(&balance["owed_micros"])), (1_500_000, owed - 1_500_000));
    let text = run(&["ledger", "totals", "fed"]).done();
    assert!(text.contains("owed (units)") && text.contains("1.5"), "{text}");
    let statement = run(&["ledger", "statement", "fed", &name]).done();
    assert!(statement.contains("Paid out: 1.5 units.") && statement.contains("bank, 1"), "{statement}");

    let csv = run(&["ledger", "export", "fed", "--csv"]).done();
    let header = "posting,at (UTC),entry,account,member,round,reference,amount (units)";
    assert_eq!(csv.lines().next(), Some(header));
    let payout: Vec<&str> = csv.lines().filter(|line| line.contains("\"bank, 1\"")).collect();
    assert_eq!(payout.len(), 2, "{csv}");
    assert!(payout[0].contains(&format!("member:{name}")) && payout[0].ends_with(",-1.5"), "{}", payout[0]);
    assert!(payout[1].contains(",paid-out,") && payout[1].ends_with(",1.5"), "{}", payout[1]);
    let exported: Value = run(&["ledger", "export", "fed", "--json"]).object();
    let moved = exported["movements"].as_array().unwrap();
    assert_eq!(moved.len(), csv.lines().count() - 1);
    let sum: f64 = moved.iter().map(|it| it["amount"].as_str().unwrap().parse::<f64>().unwrap()).sum();
    assert!(sum.abs() < 1e-6, "{sum}");
    assert!(run(&["ledger", "verify", "fed"]).done().ends_with(" 0 problems\n"));
}

#[test]
fn periods_cut_totals_statements_and_exports_by_date() {
    let place = run_before();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let totals: Value = run(&["ledger", "totals", "fed", "--json"]).object();
    let (name, owed) = creditor(&totals);
    let past: Value = run(&["ledger", "totals", "fed", "--to", "2000-01-01", "--json"]).object();
    assert_eq!(creditor(&past).1, 0);
    let future: Value = run(&["ledger", "totals", "fed", "--from", "9000-01-01", "--json"]).object();
    let balance = &future["members"][&name];
    assert_eq!((micros(&balance["earned_micros"]), micros(&balance["owed_micros"])), (0, owed));
    let month = run(&["ledger", "statement", "fed", &name, "--month", "9000-01"]).done();
    assert!(month.starts_with(&format!("{name}: 0 offers, 0 won.\nOwed before: ")), "{month}");
    let nothing = run(&["ledger", "export", "fed", "--csv", "--month", "2000-01"]).done();
    assert_eq!(nothing.lines().count(), 1, "{nothing}");
    run(&["ledger", "statement", &format!("fed/members/{name}"), "--month", "2000-01"])
        .refused("receipts have no dates");
}

#[test]
fn rounds_are_listed_with_their_date_and_what_was_paid() {
    let place = run_before();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let list = run(&["round", "list", "fed"]).done();
    let year = &run(&["ledger", "export", "fed", "--csv"]).done();
    let year = year.lines().nth(1).unwrap().split(',').nth(1).unwrap()[..4].to_owned();
    assert!(
        list.contains("opened (UTC)") && list.contains("paid (units)") && list.contains(&format!(" {year}-")),
        "{list}"
    );
    let rounds: Value = run(&["round", "list", "fed", "--json"]).object();
    let rounds = rounds["rounds"].as_array().unwrap();
    let sum = |field: &str| rounds.iter().map(|round| micros(&round[field])).sum::<i64>();
    let totals: Value = run(&["ledger", "totals", "fed", "--json"]).object();
    assert_eq!(sum("paid_micros") + sum("released_micros"), micros(&totals["total"]["earned_micros"]));
    let shown = run(&["round", "show", "fed", "1"]).done();
    assert!(shown.contains(" UTC") && shown.contains("Paid: ") && shown.contains(" units"), "{shown}");
}
