//! A federation made for a measurement.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use truthfed_node::coordinator::CHECKPOINT;
use truthfed_node::engine::read_checkpoint;
use truthfed_node::federation::{Bundle, Enrolment, Federation, InitOptions, init, open, open_bundle};
use truthfed_node::ledger::{Report, Trust, verify};
use truthfed_node::store::Store;

use crate::load::agent::Agent;

pub const DIMENSION: usize = 8;
/// Longer than any round takes: rounds end because all have answered.
const PHASE_MS: u64 = 120_000;
/// Connections beside those that are counted.
const SPARE: usize = 64;

/// A federation in a folder, with the bundles of its members.
pub struct World {
    pub folder: PathBuf,
    pub bundles: Vec<Bundle>,
}

impl World {
    /// Makes a federation of so many members, whose coordinator takes so many connections. All other limits are the defaults.
    ///
    /// What is settled grows from round to round, and what is new weighs less and less beside it: where there are many rounds,
    /// they buy nothing any more unless the coverage is close to 1.
    pub fn make(folder: &Path, members: usize, connections: usize, coverage: f64) -> anyhow::Result<World> {
        let mut options = InitOptions::with_members(members);
        options.name = Some("load".to_owned());
        options.changes = vec![
            "listen=127.0.0.1:0".to_owned(),
            "address=127.0.0.1:0".to_owned(),
            "admin=127.0.0.1:0".to_owned(),
            format!("terms.bandit.dimension={DIMENSION}"),
            format!("terms.coverage={coverage}"),
            format!("terms.offers_ms={PHASE_MS}"),
            format!("terms.deliveries_ms={PHASE_MS}"),
            "terms.gap_ms=0".to_owned(),
            format!("limits.connections={}", connections + SPARE),
        ];
        let created = init(folder, &options)?;
        let bundle = |member: &Enrolment| open_bundle(&folder.join("members").join(member.member.as_str()));
        let bundles: Result<Vec<Bundle>, _> = created.members.par_iter().map(bundle).collect();
        Ok(World { folder: folder.to_owned(), bundles: bundles? })
    }

    pub fn federation(&self) -> anyhow::Result<Federation> {
        Ok(open(&self.folder)?)
    }

    /// Members that call a coordinator, each from an address of its own.
    pub fn agents(&self, coordinator: SocketAddr) -> anyhow::Result<Vec<Arc<Agent>>> {
        let agent = |(number, bundle): (usize, &Bundle)| {
            Agent::new(bundle, coordinator, honest_address(number), number as u64).map(Arc::new)
        };
        self.bundles.iter().enumerate().map(agent).collect()
    }

    pub fn store(&self) -> anyhow::Result<Box<dyn Store>> {
        Ok(self.federation()?.store().open_existing()?)
    }

    /// Verifies the ledger as `truthfed ledger verify` does.
    pub fn verify(&self) -> anyhow::Result<Report> {
        let federation = self.federation()?;
        let trust = Trust {
            federation: Some(federation.id()),
            coordinator: Some(federation.server.signer().public()),
            checkpoint: read_checkpoint(&self.folder.join(CHECKPOINT))?,
        };
        verify(self.store()?.as_mut(), &trust).context("the ledger")
    }
}

pub fn honest_address(number: usize) -> Ipv4Addr {
    address(1, number)
}

pub fn hostile_address(number: usize) -> Ipv4Addr {
    address(2, number)
}

/// The addresses 127.NETWORK.x.y, one after the other.
fn address(network: u8, number: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, network, (number / 250 % 250) as u8, (number % 250 + 1) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_has_an_address_of_this_machine_and_of_its_own() {
        let all: std::collections::BTreeSet<Ipv4Addr> =
            (0..10_000).flat_map(|number| [honest_address(number), hostile_address(number)]).collect();
        assert_eq!(all.len(), 20_000);
        assert!(all.iter().all(Ipv4Addr::is_loopback));
    }
}
