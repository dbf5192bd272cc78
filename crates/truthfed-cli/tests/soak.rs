//! `truthfed soak` from outside.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too
#![allow(dead_code)] // of what the tests share

mod folders;

use std::path::Path;

use folders::{Run, truthfed};

fn soak(args: &[&str]) -> Run {
    truthfed(Path::new("."), &[&["soak"], args].concat(), "")
}

#[test]
fn a_seed_gives_the_same_bytes_every_time() {
    let object = soak(&["--seed", "7", "--json"]).object();
    assert_eq!(soak(&["--seed", "7", "--json"]).object(), object);
    assert_eq!(object["schema"], "truthfed.soak/1");
    assert_eq!((&object["first_seed"], &object["seeds"], &object["violation"]), (&7.into(), &1.into(), &().into()));
    let (settled, aborted) = (object["settled"].as_u64().unwrap(), object["aborted"].as_u64().unwrap());
    assert_eq!(object["rounds"].as_u64().unwrap(), settled + aborted);
    let text = soak(&["--seed", "7", "--trace"]).done();
    assert!(text.contains("the faults stop"), "{text}");
    assert!(text.contains(&format!("trace {}", object["trace"].as_str().unwrap())), "{text}");
}

#[test]
fn fresh_seeds_are_named_and_run_until_there_were_rounds_enough() {
    let run = soak(&["--rounds", "30"]);
    assert!(run.err.contains("seeds from "), "{}", run.err);
    let text = run.done();
    assert!(text.contains("0 violations"), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    soak(&["--seed", "7", "--seconds", "3"]).refused("cannot be used with");
    soak(&["--trace"]).refused("--seed");
    soak(&["--seconds", "0"]).refused("0 is not in");
}
