//! The example of a mechanism of one's own, run as it stands.

#[path = "../../examples/own_experiment.rs"]
#[allow(dead_code)] // its main
mod example;

use crate::folders::{check_manifest, records, tree};

#[test]
fn an_own_mechanism_is_simulated_swept_and_drawn_in_forty_lines() {
    let folder = tempfile::tempdir().unwrap();
    example::experiment(folder.path()).unwrap();
    check_manifest(&folder.path().join("sweep"));
    let files = tree(folder.path());
    let drawn = ["payments.csv", "payments.pdf", "payments.png", "payments.svg"];
    assert!(drawn.iter().all(|name| files[*name].len() > 1000), "{:?}", files.keys());
    let points = records(&files["payments.csv"]);
    let last = points.iter().rfind(|point| point["series"] == "one-price").unwrap();
    assert!(last["mean"].parse::<f64>().unwrap() % 20.0 < 1e-6, "three totals of 60 each: {last:?}");
    let cells = records(&files["sweep/results.csv"]);
    assert_eq!(cells.len(), 2 * 2 * 3);
    for cell in cells.iter().filter(|cell| cell["rounds.mechanism"] == "one-price") {
        let [incentive, participations] = ["incentive", "participations"].map(|key| cell[key].parse::<f64>().unwrap());
        assert_eq!(incentive, 60.0 * participations, "{cell:?}");
        // Where no base is above 50, nearly everyone asks at most 60.
        assert!(participations > 100.0, "{cell:?}");
    }
    let code = include_str!("../../examples/own_experiment.rs").lines().filter(|line| !line.trim().is_empty());
    assert!(code.filter(|line| !line.starts_with("use ") && !line.trim().starts_with("//")).count() <= 40);
}
