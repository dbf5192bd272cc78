//! Whoever makes up rewards is paid for them only if they are nearly right: wrong by less than the quarter that others' data must be able
//! to show before it confirms anything.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

use truthfed_sim::config::{Behaviour, Config};
use truthfed_sim::simulation::{Simulation, behaviours};
use truthfed_sim::world::{Purpose, stream};

const SEEDS: u64 = 300;

/// The share of true rewards that the liar's are, where arms lie along the true parameter: the cosine of the two.
fn closeness(seed: u64, liar: usize, dimension: usize) -> f64 {
    let truth = stream(seed, Purpose::Theta, 0).normals(dimension);
    let made_up = stream(seed, Purpose::Forgery, liar).context(dimension);
    let length = truth.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    truth.iter().zip(made_up).map(|(truth, made_up)| truth * made_up / length).sum()
}

#[test]
fn whoever_makes_up_rewards_that_are_wrong_by_a_quarter_is_never_paid() {
    let settings = ["behaviour.kind=random", "behaviour.share=0.04", "rounds.hold=10"].map(str::to_owned);
    let config = Config::read("", &settings).unwrap();
    let mut paid = Vec::new();
    for seed in 1..=SEEDS {
        let liar = behaviours(&config, seed).iter().position(|behaviour| *behaviour == Behaviour::Random).unwrap();
        let run = Simulation::new(&config, seed).unwrap().run();
        if run.clients[liar].incentive > 0.0 {
            let closeness = closeness(seed, liar, config.raw().world.dimension);
            assert!(closeness > 0.75, "seed {seed}: {} paid for {closeness} of the truth", run.clients[liar].incentive);
            paid.push(seed);
        }
    }
    // Nearly the truth can be sold: these two have 0.92 and 0.91 of it.
    assert_eq!(paid, [249, 280]);
}
