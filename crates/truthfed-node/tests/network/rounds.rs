//! Many rounds under faults.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use truthfed_node::net::Limits;

use crate::federation::{terms, tight_limits};
use crate::world::{Story, World};

/// Worlds, and rounds in each of them.
const SEEDS: Range<u64> = 0..10;
const ROUNDS: u64 = 100;
/// The longest that the rounds of a world may take.
const WITHIN: Duration = Duration::from_secs(600);

fn story(seed: u64, rounds: u64) -> Story {
    // In every third world members are told to wait as well.
    let limits = if seed % 3 == 2 { tight_limits() } else { Limits::default() };
    let mut world = World::new(terms(), limits, seed);
    world.run_rounds_with_faults(rounds, WITHIN);
    world.finish()
}

/// The seeds to run: those that the environment names, or the usual ones.
fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("TRUTHFED_NETWORK_SEEDS") else { return SEEDS };
    let (first, end) = text.split_once("..").expect("TRUTHFED_NETWORK_SEEDS is like 17..18");
    first.parse().unwrap()..end.parse().unwrap()
}

#[test]
fn a_thousand_rounds_under_faults_lose_and_double_nothing_and_all_agree_in_the_end() {
    let seeds = seeds();
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let draw = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| seeds.contains(seed));
        std::iter::from_fn(draw).map(|seed| story(seed, ROUNDS)).collect::<Vec<Story>>()
    };
    let stories: Vec<Story> = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    if seeds != SEEDS {
        return;
    }
    let sum = |count: fn(&Story) -> u64| stories.iter().map(count).sum::<u64>();
    assert!(sum(|story| story.rounds) >= 1000);
    assert!(sum(|story| story.paid) * 2 > sum(|story| story.rounds), "most rounds pay somebody");
    assert!(sum(|story| story.defaulted) > 0, "some winners do not deliver in time");
}

#[test]
fn the_same_seed_is_the_same_story() {
    let first = story(3, 25);
    for event in ["coordinator crashed", "coordinator started", "Clog", "Deaf", "Mute", "Cut", "Loss"] {
        assert!(first.trace.iter().any(|line| line.contains(event)), "{event}");
    }
    for _ in 0..2 {
        let again = story(3, 25);
        for (one, other) in first.trace.iter().zip(&again.trace) {
            assert_eq!(one, other);
        }
        assert_eq!(first, again);
    }
}
