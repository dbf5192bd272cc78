//! Files of the simulator: configurations, sweeps, logs of ratings and lists of arms.

use std::io::Write;

use truthfed_sim::config::{Config, RawConfig};
use truthfed_sim::simulation::Simulation;
use truthfed_sim::sweep::Sweep;
use truthfed_sim::world::{Audience, Crowd, Features, Liked, Log, Ratings, World, read_arms};

use crate::text::{same, text};

/// A configuration in TOML; a small one is run.
pub fn simulation(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Ok(config) = Config::read(text, &[]) else { return false };
    let raw = config.raw();
    let written = toml::to_string(raw).expect("a configuration is TOML");
    same(raw, &written, |text| toml::from_str::<RawConfig>(text));
    same(&config, &written, |text| Config::read(text, &[]));
    let (world, is_drawn) = (&raw.world, raw.world.ratings.is_empty());
    let is_law = ["decaying", "sphere", "cube"].contains(&world.arms.as_str());
    let is_small = world.clients <= 5 && world.steps <= 60 && world.dimension <= 3;
    if is_drawn && is_law && is_small && world.arm_count <= 50 && world.arms_per_step <= 50 {
        run(&config);
    }
    true
}

fn run(config: &Config) {
    let Ok(simulation) = Simulation::new(config, 1) else { return };
    let run = simulation.run();
    assert_eq!(run.totals().steps, config.raw().world.steps);
}

/// A sweep in TOML: every point of it is a valid configuration.
pub fn sweep(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Ok(sweep) = Sweep::read(text) else { return false };
    let axes = sweep.keys().count();
    assert!(!sweep.points().is_empty() && sweep.cells() as u64 == sweep.points().len() as u64 * sweep.seeds());
    for point in sweep.points() {
        assert_eq!(point.values.len(), axes);
        same(&point.config, &toml::to_string(point.config.raw()).expect("TOML"), |text| Config::read(text, &[]));
    }
    true
}

/// A log of ratings, and the same file as a list of arms.
pub fn ratings(bytes: &[u8]) -> bool {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("the file can be written");
    for dimension in 1..=3 {
        if let Ok(arms) = read_arms(file.path(), dimension) {
            check_arms(&arms, dimension, bytes);
        }
    }
    let logs = [Liked::Median, Liked::AtLeast(0.0)].map(|liked| Log::read(file.path(), liked));
    logs.into_iter().flatten().map(|log| check_log(&log)).count() > 0
}

/// No arm is longer than 1; where one was, the longest is as long as that.
fn check_arms(arms: &[Vec<f64>], dimension: usize, written: &[u8]) {
    assert!(arms.iter().all(|arm| arm.len() == dimension));
    let length = |arm: &Vec<f64>| arm.iter().map(|x| x * x).sum::<f64>().sqrt();
    let longest = arms.iter().map(length).fold(0.0, f64::max);
    assert!(longest <= 1.0 + 1e-12, "{arms:?}");
    let text = String::from_utf8_lossy(written);
    let is_long = |field: &str| field.trim().parse::<f64>().is_ok_and(|x| x.abs() >= 1.0);
    assert!(longest > 0.99 || !text.split([',', '\n']).any(is_long), "all arms are lost: {arms:?}");
}

fn check_log(log: &Log) {
    assert!(log.users() > 0 && log.items() > 0);
    for user in 0..log.users() {
        let likes = log.likes(user);
        assert!(likes.windows(2).all(|pair| pair[0] < pair[1]), "an item is liked twice");
        assert!(likes.iter().all(|&item| (item as usize) < log.items()), "an item that is not there");
    }
    for (features, catalogue) in [(Features::Likes, 1.0), (Features::HeldOut, 1.0), (Features::HeldOut, 0.6)] {
        let crowd = Crowd { clients: 1, per_step: 2, dimension: 1, features, catalogue };
        if let Ok(audience) = Audience::new(log.clone(), crowd) {
            check_world(Ratings::new(audience.into(), 1));
        }
    }
}

fn check_world(mut world: Ratings) {
    for _ in 0..3 {
        let shown = world.present(0).to_vec();
        assert!(shown.len() == 2 && shown[0] != shown[1], "an item is shown twice");
        let length = |arm: usize| world.arm(arm).iter().map(|x| x * x).sum::<f64>();
        assert!(shown.iter().all(|&arm| length(arm) <= 1.0 + 1e-9), "an item has no length, or too much");
        assert_eq!(shown.iter().map(|&arm| world.play(0, arm).reward).sum::<f64>(), 1.0, "one of them is liked");
    }
}
