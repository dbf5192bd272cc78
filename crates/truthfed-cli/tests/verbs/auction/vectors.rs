//! The library's vectors through the command line: the same winners, the same payments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::support::{Outcome, auction};

/// Expected payments by mechanism and client; null where only winning is recorded.
type Expected = BTreeMap<String, BTreeMap<String, Option<f64>>>;

#[derive(Deserialize)]
struct Vector {
    round: Box<RawValue>,
    expected: Expected,
}

fn vectors() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../truthfed/tests/vectors");
    let is_round = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("round-");
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(is_round).collect()
}

fn check_vector(path: &Path) {
    let vector: Vector = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for (mechanism, expected) in vector.expected {
        let outcome = auction(vector.round.get(), &["--json", "-m", &mechanism]).object::<Outcome>();
        let names: Vec<&str> = expected.keys().map(String::as_str).collect();
        assert_eq!(outcome.names(), names, "{}, {mechanism}", path.display());
        for (winner, payment) in outcome.winners.iter().zip(expected.values()) {
            // The vectors hold real numbers; an exact payment is the micro-unit below, one less where it ties.
            let close = payment.is_none_or(|payment| (winner.payment.0 as f64 - payment * 1e6).abs() <= 1.001);
            assert!(close, "{}, {mechanism}: {winner:?}, not {payment:?}", path.display());
        }
    }
}

#[test]
fn all_vectors_give_the_expected_winners_and_payments() {
    let vectors = vectors();
    assert!(vectors.len() >= 8);
    vectors.iter().for_each(|path| check_vector(path));
}
