//! Who takes part, with real certificates, and under which terms.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use truthfed::Amount;
use truthfed::protocol::{Since, Time, Trigger};
use truthfed_node::coordinator::{Addresses, Plan, start_on};
use truthfed_node::engine::{Clock, Place};
use truthfed_node::federation::Bundle;
use truthfed_node::net::Limits;
use truthfed_node::store::{Sqlite, Store, StoreError};
use truthfed_node::terms::{Agreement, CoverageSetting, RawTerms};
use truthfed_node::testing::{self, Identities, id};

use crate::roads::Door;

pub(crate) const MEMBERS: usize = 4;
/// Each member has arms of its own.
pub(crate) const ARMS: usize = 2;
pub(crate) const COORDINATOR: &str = "coordinator";
pub(crate) const PORT: u16 = 7443;
const ADMIN_PORT: u16 = 9443;
/// When the simulated network begins to run, after 1970.
const BEGINNING: Duration = Duration::from_secs(1_800_000_000);
/// Rewards are whole numbers up to this size.
pub(crate) const REWARD: usize = 1000;

/// Everybody's keys, made once: the same seed is then the same journal as often as it is run in one process.
pub(crate) fn people() -> &'static Identities {
    static PEOPLE: OnceLock<Identities> = OnceLock::new();
    PEOPLE.get_or_init(|| {
        let names: Vec<String> = (0..MEMBERS).map(name).collect();
        Identities::new(COORDINATOR, &names.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

/// The name of a member, and of the host it lives on.
pub(crate) fn name(member: usize) -> String {
    format!("m{}", member + 1)
}

/// Rounds follow each other closely: nearly every sample is reason enough for one.
pub(crate) fn terms() -> RawTerms {
    RawTerms {
        trigger: Trigger::new(Since::Round, 1e-3),
        coverage: CoverageSetting::Ratio(0.999),
        reserve: Amount::from_units(500),
        reward: REWARD as f64,
        samples: 1_000_000,
        offers_ms: 1000,
        deliveries_ms: 1000,
        ..testing::terms(MEMBERS * ARMS)
    }
}

/// Limits that members run into.
pub(crate) fn tight_limits() -> Limits {
    Limits { connections_per_member: 3, requests_per_second: 4, burst: 8, ..Limits::default() }
}

pub(crate) fn bundle(member: usize, agreement: &Agreement) -> Bundle {
    let (people, member) = (people(), id(&name(member)));
    Bundle {
        folder: PathBuf::new(),
        coordinator: format!("{COORDINATOR}:{PORT}"),
        server_name: COORDINATOR.to_owned(),
        federation: people.authority.federation(),
        coordinator_key: people.server.certificate().key(),
        agreement: agreement.clone(),
        authority: people.authority.identity().certificate().clone(),
        identity: people.members[&member].clone(),
        member,
        earlier_keys: Vec::new(),
    }
}

/// How the coordinator runs, whose files are in a folder.
pub(crate) fn plan(folder: &Path, agreement: &Agreement, limits: Limits) -> Plan {
    let path = ledger(folder);
    let store = Arc::new(move || open_store(&path));
    Plan { limits, store, place: Place::Task, ..people().plan(folder, agreement) }
}

pub(crate) fn ledger(folder: &Path) -> PathBuf {
    folder.join("ledger.db")
}

pub(crate) fn checkpoint(folder: &Path) -> PathBuf {
    folder.join("checkpoint.json")
}

/// The store of the only coordinator. The lease runs on a clock that is not the simulated one: what a coordinator that is no
/// more left of it is taken as run out.
fn open_store(path: &Path) -> Result<Box<dyn Store>, StoreError> {
    let store = Sqlite::open(path)?;
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute("UPDATE lease SET expires_ms = 0", []).unwrap();
    Ok(Box::new(store))
}

/// Runs the coordinator on the host that this is called on, until the host crashes.
pub(crate) async fn coordinate(plan: Plan) -> turmoil::Result {
    let since_1970 = BEGINNING + turmoil::sim_elapsed().unwrap_or_default();
    let plan = Plan { clock: Clock::beginning_at(Time(since_1970.as_millis() as u64)), ..plan };
    let ((members, members_at), (admin, admin_at)) = (Door::open(PORT).await?, Door::open(ADMIN_PORT).await?);
    let running = start_on(plan, members, admin, Addresses { members: members_at, admin: admin_at }).await?;
    running.run_until(std::future::pending()).await?;
    Err("the coordinator stopped by itself".into())
}
