//! A federation made for a measurement.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use truthfed_node::coordinator::CHECKPOINT;
use truthfed_node::engine::read_checkpoint;
use truthfed_node::federation::{Bundle, Enrolment, Federation, InitOptions, init, open, open_bundle};
use truthfed_node::ledger::{Report, Trust, verify};
use truthfed_node::store::Store;

use crate::load::agent::Agent;

/// That of most measurements.
const DIMENSION: usize = 8;
/// Longer than any round takes: rounds end because all have answered.
const PHASE_MS: u64 = 120_000;
/// Connections beside those that are counted.
const SPARE: usize = 64;

/// What a federation is made of. All else is as `truthfed init` has it, or as suits a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    pub members: usize,
    /// Connections that its coordinator takes.
    pub connections: usize,
    /// What is settled grows from round to round, and what is new weighs less and less beside it: where there are many
    /// rounds, they buy nothing any more unless this is close to 1.
    pub coverage: f64,
    pub dimension: usize,
    pub mechanism: &'static str,
    /// The address of a database, if its store is not a file.
    pub database: Option<String>,
    /// Where its coordinator listens, for members and for its operator.
    pub addresses: [SocketAddr; 2],
}

impl Shape {
    /// Of 8 dimensions, with `clock` and its store in a file.
    pub fn new(members: usize, connections: usize, coverage: f64) -> Shape {
        let addresses = [SocketAddr::from(([127, 0, 0, 1], 0)); 2];
        Shape { members, connections, coverage, dimension: DIMENSION, mechanism: "clock", database: None, addresses }
    }

    /// At ports that are free now, so that commands find its coordinator by its folder.
    pub fn at_free_ports(self) -> io::Result<Shape> {
        let listeners = [TcpListener::bind(self.addresses[0])?, TcpListener::bind(self.addresses[1])?];
        Ok(Shape { addresses: [listeners[0].local_addr()?, listeners[1].local_addr()?], ..self })
    }

    #[must_use]
    pub fn with_database(self, address: &str) -> Shape {
        Shape { database: Some(address.to_owned()), ..self }
    }
}

/// A federation in a folder, with the bundles of its members.
pub struct World {
    pub folder: PathBuf,
    pub bundles: Vec<Bundle>,
}

impl World {
    pub fn make(folder: &Path, shape: &Shape) -> anyhow::Result<World> {
        let Shape { members, connections, coverage, dimension, mechanism, database, addresses: [listen, admin] } =
            shape;
        let mut options = InitOptions::with_members(*members);
        options.name = Some("load".to_owned());
        options.changes = vec![
            format!("listen={listen}"),
            format!("address={listen}"),
            format!("admin={admin}"),
            format!("terms.bandit.dimension={dimension}"),
            format!("terms.coverage={coverage}"),
            format!("terms.mechanism.name={mechanism}"),
            // Rounds go on as long as they are measured, and not every mechanism keeps to a purse.
            "terms.purse=none".to_owned(),
            "terms.daily_purse=none".to_owned(),
            // An offer has as many observations in every dimension, so that its size is what differs.
            "terms.least_samples=0".to_owned(),
            format!("terms.offers_ms={PHASE_MS}"),
            format!("terms.deliveries_ms={PHASE_MS}"),
            "terms.gap_ms=0".to_owned(),
            // A long auction is what the takeover is about.
            "terms.work=1000000000000000".to_owned(),
            "terms.trigger.threshold=0".to_owned(),
            format!("limits.connections={}", connections + SPARE),
        ];
        options.changes.extend(database.iter().map(|address| format!("store={address}")));
        let created = init(folder, &options)?;
        let bundle = |member: &Enrolment| open_bundle(&folder.join("members").join(member.member.as_str()));
        let bundles: Result<Vec<Bundle>, _> = created.members.par_iter().map(bundle).collect();
        Ok(World { folder: folder.to_owned(), bundles: bundles? })
    }

    /// A copy of its folder, for a second coordinator on the same database.
    pub fn second(&self) -> anyhow::Result<PathBuf> {
        let second = self.folder.with_extension("second");
        copy(&self.folder, &second)?;
        Ok(second)
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
    fn verify(&self) -> anyhow::Result<Report> {
        let federation = self.federation()?;
        let trust = Trust {
            federation: Some(federation.id()),
            coordinator: Some(federation.server.signer().public()),
            checkpoint: read_checkpoint(&self.folder.join(CHECKPOINT))?,
        };
        verify(self.store()?.as_mut(), &trust).context("the ledger")
    }

    /// Fails if the ledger is not right. A database is not for use inside an asynchronous runtime.
    pub fn check_ledger(&self) -> anyhow::Result<Report> {
        let report = self.verify()?;
        ensure!(report.is_right(), "{report}");
        Ok(report)
    }
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &to)?,
            false => drop(fs::copy(entry.path(), to)?),
        }
    }
    Ok(())
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
