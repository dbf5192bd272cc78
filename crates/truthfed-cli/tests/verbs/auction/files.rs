//! Rounds on their way to and from files, and output on its way to a reader that goes away.

use std::path::Path;

use super::support::{truthfed, without_seconds};

fn write(path: &Path, seed: &str) -> String {
    let path = path.to_str().unwrap();
    truthfed(&["auction", "--generate", "50,3", "--seed", seed, "--write", path]).done()
}

#[test]
fn a_seed_gives_the_same_bytes_and_the_round_that_was_written_runs_as_when_it_is_generated() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |name: &str, seed: &str| {
        let path = folder.path().join(name);
        write(&path, seed);
        std::fs::read(path).unwrap()
    };
    assert_eq!(bytes("a", "7"), bytes("b", "7"));
    assert_ne!(bytes("a", "7"), bytes("b", "8"));
    let path = folder.path().join("round.json");
    let said = write(&path, "7");
    assert_eq!(said, format!("wrote {}: 50 clients, dimension 3\n", path.display()));
    let read = truthfed(&["auction", path.to_str().unwrap(), "--json"]);
    let generated = truthfed(&["auction", "--generate", "50,3", "--seed", "7", "--json"]);
    assert_eq!(without_seconds(read), without_seconds(generated));
}

#[test]
fn coverage_and_reserve_are_written_with_a_generated_round() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("round.json");
    let path = path.to_str().unwrap();
    truthfed(&["auction", "--generate", "9,2", "--coverage", "0.25", "--reserve", "40", "--write", path]).done();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("\"coverage\": 0.25, \"reserve\": 40,"), "{text}");
}

#[test]
fn what_cannot_be_written_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let check = |path: &Path, expected: &str| {
        let path = path.to_str().unwrap();
        truthfed(&["auction", "--generate", "5,2", "--write", path]).refused(expected);
    };
    check(&folder.path().join("missing/round.json"), "missing/round.json: No such file or directory");
    check(folder.path(), "it is there already and not a file");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
#[cfg(unix)]
fn a_written_round_is_a_file_like_any_other() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [round, other, link] = ["round.json", "other", "link"].map(|name| folder.path().join(name));
    write(&round, "7");
    std::fs::write(&other, "").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&round), mode(&other));
    std::os::unix::fs::symlink(&other, &link).unwrap();
    write(&link, "7");
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&other).unwrap(), std::fs::read(&round).unwrap());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin!("truthfed"))
        .args(["auction", "--generate", "50,3", "--json"])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}
