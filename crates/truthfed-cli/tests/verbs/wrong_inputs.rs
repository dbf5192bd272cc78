//! The table of wrong inputs: each gets an answer that names what is wrong and what to do, and changes nothing.
//!
//! `wrong_inputs.txt` has the rows: what is spoiled first (`!`), the command (`$`), and a part of its answer. Each starts from the same
//! folders:
//!
//! ```text
//! fed          m1, m2 (revoked) and zoe, who made its own key; its ledger is founded, and no coordinator runs
//! zoe, yan     the folder of zoe, and of yan, who has not been added
//! new          a federation without a ledger
//! other        another federation
//! audit, copy  a bundle and a backup of fed
//! expired      certificates that have expired, with keys: server, operator, member (m1)
//! ```

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, UNIX_EPOCH};

use truthfed_node::identity::{Authority, Identity, Validity};

const TABLE: &str = include_str!("wrong_inputs.txt");
const LEAST_ROWS: usize = 120;
/// A service that starts all the same would run for ever.
const PATIENCE: &str = "60";
const SETUP: &str = "
    at='--set listen=127.0.0.1:1 --set address=127.0.0.1:1 --set admin=127.0.0.1:2'
    truthfed init fed --members 2 $at
    truthfed init new --members 1 $at
    truthfed init other --members 1 $at
    truthfed member init zoe
    cp zoe/request.json zoe.json
    truthfed members add fed --request zoe.json
    truthfed member join zoe fed/members/zoe
    truthfed member init yan
    truthfed members revoke fed m2
    truthfed members add other eve
    truthfed ledger bundle fed --out audit
    truthfed backup fed --out copy
    mkdir -m 700 expired
";

#[derive(Debug, Default)]
struct Row {
    /// Where it stands in the table.
    line: usize,
    spoil: String,
    command: String,
    /// A part of the answer.
    answer: String,
}

fn rows() -> Vec<Row> {
    let (mut rows, mut spoil) = (Vec::<Row>::new(), String::new());
    for (line, text) in (1..).zip(TABLE.lines()) {
        match text.split_at_checked(2) {
            Some(("! ", rest)) => spoil = rest.to_owned(),
            Some(("$ ", rest)) => {
                let spoil = std::mem::take(&mut spoil);
                rows.push(Row { line, spoil, command: rest.to_owned(), answer: String::new() });
            }
            Some(("  ", rest)) => rest.clone_into(&mut rows.last_mut().unwrap().answer),
            _ => assert!(text.is_empty() || text.starts_with("=="), "line {line}: {text}"),
        }
    }
    rows
}

/// Runs some lines of shell in a folder, with the built program.
pub(crate) fn shell(folder: &Path, script: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_truthfed")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("timeout");
    shell.args([PATIENCE, "sh", "-ec", script]).current_dir(folder).env("PATH", path);
    shell.output().unwrap()
}

/// Writes a certificate that expired on the second day of 1970, and its key.
fn expire(folder: &Path) {
    let read = |name: &str| std::fs::read_to_string(folder.join("fed").join(name)).unwrap();
    let authority = Authority::from_pem(&read("authority/authority.pem"), &read("authority/authority.key")).unwrap();
    let past = Validity { from: UNIX_EPOCH, until: UNIX_EPOCH + Duration::from_secs(86_400) };
    let server = authority.issue_server(&["127.0.0.1".to_owned()], past).unwrap();
    let member = authority.issue_member(&"m1".parse().unwrap(), past).unwrap();
    let write = |name: &str, identity: &Identity| {
        let place = |extension: &str| folder.join("expired").join(format!("{name}.{extension}"));
        std::fs::write(place("pem"), identity.certificate().pem()).unwrap();
        truthfed_node::identity::write_private(&place("key"), &identity.signer().to_pem()).unwrap();
    };
    write("server", &server);
    write("operator", &authority.issue_operator(past));
    write("member", &member);
}

/// What is wrong with the answer to a row, if anything.
fn check(template: &Path, row: &Row) -> Option<String> {
    let place = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-a").arg(template.join(".")).arg(place.path()).status().unwrap();
    assert!(copied.success());
    let spoiled = shell(place.path(), &row.spoil);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(spoiled.status.success(), "line {}: {}: {}", row.line, row.spoil, text(&spoiled.stderr));
    let Output { status, stdout, stderr } = shell(place.path(), &row.command);
    let (out, err) = (text(&stdout), text(&stderr));
    // A verdict is printed; a mistake is told on standard error alone.
    let answer = match status.code() {
        Some(1) if err.is_empty() => &out,
        Some(2) if out.is_empty() => &err,
        code => return Some(format!("code {code:?}, out: {out}, err: {err}")),
    };
    let is_clear = !["panicked", "secret", "Os {", "unwrap", "RUST_BACKTRACE"].iter().any(|word| answer.contains(word));
    let is_right = !row.answer.is_empty() && answer.contains(&row.answer);
    (!is_clear || !is_right).then(|| answer.clone())
}

#[test]
fn every_wrong_input_gets_an_answer_that_says_what_to_do() {
    let template = tempfile::tempdir().unwrap();
    let made = shell(template.path(), SETUP);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    expire(template.path());
    let rows = rows();
    assert!(rows.len() >= LEAST_ROWS, "{} rows", rows.len());
    let wrong = |row: &Row| {
        let answer = check(template.path(), row)?;
        Some(format!("line {}: $ {}\n  expected: {}\n  answered: {answer}", row.line, row.command, row.answer))
    };
    let wrong: Vec<String> = rows.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
