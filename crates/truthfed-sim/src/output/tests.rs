//! Folders as they are written: whole files, nothing foreign, one writer.

use std::io::Error;
use std::path::Path;

use super::{OutputError, OutputFolder, SIMULATION, SWEEP};

fn names(path: &Path) -> Vec<String> {
    super::folder::list(path).unwrap()
}

#[test]
fn a_file_that_fails_half_way_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let output = OutputFolder::open(folder.path(), &SIMULATION).unwrap();
    output.write("curves.csv", |out| out.write_all(b"first")).unwrap();
    let failed = output.write("curves.csv", |out| {
        out.write_all(&[0; 100_000])?;
        Err(Error::other("full"))
    });
    assert!(failed.unwrap_err().to_string().ends_with("curves.csv: full"));
    assert_eq!(std::fs::read(folder.path().join("curves.csv")).unwrap(), b"first");
    assert_eq!(names(folder.path()), [".truthfed-lock", "curves.csv"]);
}

#[test]
fn a_folder_has_one_writer_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let first = OutputFolder::open(folder.path(), &SIMULATION).unwrap();
    assert!(matches!(OutputFolder::open(folder.path(), &SIMULATION), Err(OutputError::Busy(_))));
    drop(first);
    assert!(names(folder.path()).is_empty());
    OutputFolder::open(folder.path(), &SIMULATION).unwrap();
}

#[test]
fn a_folder_belongs_to_the_kind_that_began_it() {
    let folder = tempfile::tempdir().unwrap();
    OutputFolder::open(folder.path(), &SIMULATION).unwrap().begin().unwrap();
    assert!(matches!(OutputFolder::open(folder.path(), &SWEEP), Err(OutputError::Foreign { .. })));
    OutputFolder::open(folder.path(), &SIMULATION).unwrap();
}

#[test]
fn what_is_not_written_again_is_removed_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let write = |files: &[&str]| {
        let output = OutputFolder::open(folder.path(), &SIMULATION).unwrap();
        output.begin().unwrap();
        files.iter().for_each(|name| output.write(name, |out| out.write_all(b"x")).unwrap());
        output.finish(()).unwrap()
    };
    assert_eq!(write(&["clients.csv", "rounds/seed-1.jsonl.gz", "rounds/seed-2.jsonl.gz"]), 4);
    assert_eq!(write(&["curves.csv", "rounds/seed-1.jsonl.gz"]), 3);
    assert_eq!(names(folder.path()), ["curves.csv", "manifest.json", "rounds"]);
    assert_eq!(names(&folder.path().join("rounds")), ["seed-1.jsonl.gz"]);
}
