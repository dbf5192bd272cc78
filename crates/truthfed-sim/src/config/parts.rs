//! Mechanisms, a cost and a world of your own, beside those that a configuration can name.
//!
//! A [`Config`] that was read with [`Parts`] carries them: whatever runs it (a simulation, many seeds, a sweep, a plan of
//! manipulations) uses them. A mechanism is chosen by its name, as `rounds.mechanism`. A cost and a world replace those of every
//! configuration that is read with them; the cost is then not that of `[costs]`, and of `[world]` only clients, dimension, steps
//! and arrivals count.

use std::fmt;
use std::sync::Arc;

use truthfed::auction::Mechanism;

use super::Config;
use crate::world::{Cost, World};

type Costs = dyn Fn(&Config, u64) -> Box<dyn Cost> + Send + Sync;
type Worlds = dyn Fn(&Config, u64) -> Box<dyn World> + Send + Sync;

#[derive(Clone, Default)]
pub struct Parts {
    mechanisms: Vec<Arc<dyn Mechanism>>,
    costs: Option<Arc<Costs>>,
    worlds: Option<Arc<Worlds>>,
}

impl Parts {
    /// With a mechanism that `rounds.mechanism` can name. It sees every round as it is: if the configuration has a purse, it
    /// must keep to it or refuse.
    #[must_use]
    pub fn with_mechanism(mut self, mechanism: impl Mechanism + 'static) -> Parts {
        self.mechanisms.push(Arc::new(mechanism));
        self
    }

    /// With a cost, made for each run from its configuration and seed.
    #[must_use]
    pub fn with_cost<C: Cost + 'static>(self, make: impl Fn(&Config, u64) -> C + Send + Sync + 'static) -> Parts {
        let costs: Arc<Costs> = Arc::new(move |config, seed| Box::new(make(config, seed)));
        Parts { costs: Some(costs), ..self }
    }

    /// With a world, made for each run from its configuration and seed. Its arms have the dimension of the configuration and
    /// a length of at most 1.
    #[must_use]
    pub fn with_world<W: World + 'static>(self, make: impl Fn(&Config, u64) -> W + Send + Sync + 'static) -> Parts {
        let worlds: Arc<Worlds> = Arc::new(move |config, seed| Box::new(make(config, seed)));
        Parts { worlds: Some(worlds), ..self }
    }

    /// The names of the mechanisms, in the order in which they were given.
    pub fn mechanisms(&self) -> impl Iterator<Item = &str> {
        self.mechanisms.iter().map(Mechanism::name)
    }

    pub(crate) fn mechanism(&self, name: &str) -> Option<Arc<dyn Mechanism>> {
        self.mechanisms.iter().find(|mechanism| mechanism.name() == name).map(Arc::clone)
    }

    pub(crate) fn cost(&self, config: &Config, seed: u64) -> Option<Box<dyn Cost>> {
        self.costs.as_ref().map(|make| make(config, seed))
    }

    pub(crate) fn world(&self, config: &Config, seed: u64) -> Option<Box<dyn World>> {
        self.worlds.as_ref().map(|make| make(config, seed))
    }

    pub(crate) fn has_world(&self) -> bool {
        self.worlds.is_some()
    }

    pub(crate) fn has_cost(&self) -> bool {
        self.costs.is_some()
    }
}

/// The same parts, not equal ones.
impl PartialEq for Parts {
    fn eq(&self, other: &Parts) -> bool {
        let same_costs = match (&self.costs, &other.costs) {
            (Some(own), Some(others)) => Arc::ptr_eq(own, others),
            (own, others) => own.is_none() && others.is_none(),
        };
        let same_worlds = match (&self.worlds, &other.worlds) {
            (Some(own), Some(others)) => Arc::ptr_eq(own, others),
            (own, others) => own.is_none() && others.is_none(),
        };
        let mut pairs = self.mechanisms.iter().zip(&other.mechanisms);
        let same_mechanisms = pairs.all(|(own, others)| Arc::ptr_eq(own, others));
        same_costs && same_worlds && same_mechanisms && self.mechanisms.len() == other.mechanisms.len()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mechanisms: Vec<&str> = self.mechanisms().collect();
        let (cost, world) = (self.has_cost(), self.has_world());
        f.debug_struct("Parts").field("mechanisms", &mechanisms).field("cost", &cost).field("world", &world).finish()
    }
}
