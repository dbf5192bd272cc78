//! The corpus, without libFuzzer: what was once found stays mended, and every target has an input that gets through.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_target_has_a_program_and_a_corpus() {
    let targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    let programs: Vec<String> = names(&folder("fuzz_targets")).iter().map(|name| name.replace(".rs", "")).collect();
    assert_eq!(programs, targets);
    assert_eq!(names(&folder("corpus")), targets);
    for (name, _) in TARGETS {
        let program = fs::read_to_string(folder("fuzz_targets").join(format!("{name}.rs"))).unwrap();
        assert!(program.contains(&format!("truthfed_fuzz::{name}(bytes)")), "{name}");
    }
}

#[test]
fn every_input_of_the_corpus_passes_and_one_of_each_target_gets_through() {
    for (name, target) in TARGETS {
        let inputs = names(&folder("corpus").join(name));
        let valid = inputs.iter().filter(|input| {
            // The last line says which one it was, if it panics.
            println!("{name}/{input}");
            target(&fs::read(folder("corpus").join(name).join(input)).unwrap())
        });
        assert!(valid.count() > 0, "no input of {name} is valid any more: run `cargo run --example seeds`");
        target(&[]);
    }
}

#[test]
fn the_corpus_has_the_seeds_that_follow_from_the_code() {
    let stale = seeds().into_iter().filter(|seed| {
        let path = folder("corpus").join(seed.target).join(&seed.name);
        !fs::read(path).is_ok_and(|bytes| bytes == seed.bytes)
    });
    let stale: Vec<String> = stale.map(|seed| format!("{}/{}", seed.target, seed.name)).collect();
    assert!(stale.is_empty(), "{stale:?}: run `cargo run --example seeds`");
}

#[test]
fn the_corpus_is_small() {
    let sizes = TARGETS.iter().flat_map(|(name, _)| {
        let folder = folder("corpus").join(name);
        names(&folder).into_iter().map(move |input| fs::metadata(folder.join(input)).unwrap().len())
    });
    let size: u64 = sizes.sum();
    assert!(size < 100_000, "{size} bytes");
}
