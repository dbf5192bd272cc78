//! Who takes part, with real certificates, and under which terms.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::bandit::RawConfig;
use truthfed::protocol::{Since, Trigger};
use truthfed_node::coordinator::{Addresses, Plan, start_on};
use truthfed_node::engine::Place;
use truthfed_node::federation::Bundle;
use truthfed_node::identity::{Authority, Identity, Validity};
use truthfed_node::net::Limits;
use truthfed_node::store::{Sqlite, Store, StoreError};
use truthfed_node::terms::{Agreement, CoverageSetting, MechanismSetting, TermsDocument};

use crate::roads::Door;

/// Who takes part.
pub(crate) const MEMBERS: usize = 4;
/// Each member has arms of its own.
pub(crate) const ARMS: usize = 2;
pub(crate) const COORDINATOR: &str = "coordinator";
pub(crate) const PORT: u16 = 7443;
const ADMIN_PORT: u16 = 9443;
/// Rewards are whole numbers up to this size.
pub(crate) const REWARD: usize = 1000;

/// Everybody's keys, made once: the same seed is then the same journal as often as it is run in one process.
pub(crate) struct People {
    pub(crate) authority: Authority,
    pub(crate) server: Identity,
    pub(crate) operator: Identity,
    members: Vec<(ClientId, Identity)>,
}

pub(crate) fn people() -> &'static People {
    static PEOPLE: OnceLock<People> = OnceLock::new();
    PEOPLE.get_or_init(|| {
        let authority = Authority::create("network", Validity::authority()).unwrap();
        let issue = |number: usize| {
            let name: ClientId = name(number).parse().unwrap();
            let identity = authority.issue_member(&name, Validity::leaf()).unwrap();
            (name, identity)
        };
        People {
            server: authority.issue_server(&[COORDINATOR.to_owned()], Validity::leaf()).unwrap(),
            operator: authority.issue_operator(Validity::leaf()),
            members: (0..MEMBERS).map(issue).collect(),
            authority,
        }
    })
}

/// The name of a member, and of the host it lives on.
pub(crate) fn name(member: usize) -> String {
    format!("m{}", member + 1)
}

/// Rounds follow each other closely: nearly every sample is reason enough for one.
pub(crate) fn terms() -> TermsDocument {
    TermsDocument {
        bandit: RawConfig { dimension: MEMBERS * ARMS, ..RawConfig::default() },
        trigger: Trigger { since: Since::Round, threshold: 1e-3 },
        coverage: CoverageSetting::Ratio(0.999),
        reserve_micros: Amount::from_units(500),
        norm: 1.0,
        reward: REWARD as f64,
        samples: 1_000_000,
        offers_ms: 1000,
        deliveries_ms: 1000,
        mechanism: MechanismSetting::default(),
    }
}

/// Limits that members run into.
pub(crate) fn tight_limits() -> Limits {
    Limits { connections_per_member: 3, requests_per_second: 4, burst: 8, ..Limits::default() }
}

impl People {
    /// All that a member needs.
    pub(crate) fn bundle(&self, member: usize, agreement: &Agreement) -> Bundle {
        let (name, identity) = &self.members[member];
        Bundle {
            folder: PathBuf::new(),
            member: name.clone(),
            coordinator: format!("{COORDINATOR}:{PORT}"),
            server_name: COORDINATOR.to_owned(),
            federation: self.authority.federation(),
            coordinator_key: self.server.certificate().key(),
            agreement: agreement.clone(),
            authority: self.authority.identity().certificate().clone(),
            identity: identity.clone(),
        }
    }

    /// How the coordinator runs, whose files are in a folder.
    pub(crate) fn plan(&self, folder: &Path, agreement: &Agreement, limits: Limits) -> Plan {
        let path = ledger(folder);
        let member = |(name, identity): &(ClientId, Identity)| {
            (name.clone(), identity.certificate().key(), identity.certificate().digest())
        };
        Plan {
            server: self.server.clone(),
            authority: self.authority.identity().certificate().clone(),
            operator: self.operator.certificate().digest(),
            agreement: agreement.clone(),
            members: self.members.iter().map(member).collect(),
            checkpoint: checkpoint(folder),
            lease_ms: 60_000,
            limits,
            poll: Duration::from_secs(30),
            store: Arc::new(move || open_store(&path)),
            place: Place::Task,
        }
    }
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
    let ((members, members_at), (admin, admin_at)) = (Door::open(PORT).await?, Door::open(ADMIN_PORT).await?);
    let running = start_on(plan, members, admin, Addresses { members: members_at, admin: admin_at }).await?;
    running.run_until(std::future::pending()).await?;
    Err("the coordinator stopped by itself".into())
}
