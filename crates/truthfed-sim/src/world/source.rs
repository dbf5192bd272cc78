//! The files behind a configuration's world, read and checked once for all seeds.

use std::sync::Arc;

use super::{
    ArmLaw, Audience, Crowd, Log, Purpose, Ratings, Synthetic, World, WorldError, draw_arms, read_arms, stream,
};
use crate::config::{Arms, Config};

/// What the worlds of all seeds have in common.
#[derive(Debug)]
pub struct Source(Known);

#[derive(Debug)]
enum Known {
    Law(ArmLaw),
    Arms(Vec<Vec<f64>>),
    Audience(Arc<Audience>),
    /// The caller's own, which needs no file.
    Own,
}

impl Source {
    /// Reads the files that a configuration names. Fails when a file cannot be used, or is too small for the
    /// configuration.
    pub fn read(config: &Config) -> Result<Source, WorldError> {
        let world = &config.raw().world;
        if config.parts().has_world() {
            return Ok(Source(Known::Own));
        }
        Ok(Source(match (&config.arms, config.liked) {
            (Arms::Law(law), _) => Known::Law(*law),
            (Arms::File(path), None) => Known::Arms(read_arms(path, world.dimension)?),
            (Arms::File(path), Some(liked)) => {
                let log = Log::read(path, liked)?;
                let crowd = Crowd {
                    clients: world.clients,
                    per_step: world.arms_per_step,
                    dimension: world.dimension,
                    features: config.features,
                    catalogue: world.catalogue,
                };
                Known::Audience(Arc::new(Audience::new(log, crowd)?))
            }
        }))
    }

    /// The world of a seed, for the configuration that the source was read for.
    pub fn world(&self, config: &Config, seed: u64) -> Box<dyn World> {
        let world = &config.raw().world;
        let synthetic = |arms| Synthetic::new(arms, world, seed);
        let mut drawn = stream(seed, Purpose::Arms, 0);
        match &self.0 {
            Known::Law(law) => Box::new(synthetic(draw_arms(*law, world.arm_count, world.dimension, &mut drawn))),
            Known::Arms(arms) => Box::new(synthetic(arms.clone())),
            Known::Audience(audience) => Box::new(Ratings::new(Arc::clone(audience), seed)),
            Known::Own => config.parts().world(config, seed).expect("the source was read for this configuration"),
        }
    }
}
