//! The files of a sweep's worlds, read once and not for every cell.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::config::{Config, World};
use crate::world::{Source, WorldError};

/// Sources that are held; a log of ratings can be large.
const HELD: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Sources {
    held: Mutex<VecDeque<(World, Arc<Source>)>>,
}

impl Sources {
    /// The source of a configuration's world. Whoever asks while another reads waits: it may be for the same.
    pub(super) fn of(&self, config: &Config) -> Result<Arc<Source>, WorldError> {
        let world = &config.raw().world;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, source)) = held.iter().find(|(known, _)| known == world) {
            return Ok(Arc::clone(source));
        }
        let source = Arc::new(Source::read(config)?);
        held.truncate(HELD - 1);
        held.push_front((world.clone(), Arc::clone(&source)));
        Ok(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_once_and_an_old_one_let_go() {
        let sources = Sources::default();
        let of = |clients: usize, mechanism: &str| {
            let set = [format!("world.clients={clients}"), format!("rounds.mechanism={mechanism}")];
            sources.of(&Config::read("", &set).unwrap()).unwrap()
        };
        let first = of(1, "clock");
        assert!(Arc::ptr_eq(&first, &of(1, "greedy")));
        (2..=HELD).for_each(|clients| drop(of(clients, "clock")));
        assert!(Arc::ptr_eq(&first, &of(1, "clock")));
        of(HELD + 1, "clock");
        assert!(!Arc::ptr_eq(&first, &of(1, "clock")));
    }
}
