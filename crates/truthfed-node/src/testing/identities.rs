//! Real certificates for a federation, and how its coordinator runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use truthfed::auction::ClientId;

use super::id;
use crate::coordinator::Plan;
use crate::engine::{Clock, Place};
use crate::identity::{Authority, Identity, Validity};
use crate::net::Limits;
use crate::store::Location;
use crate::terms::Agreement;

pub struct Identities {
    pub authority: Authority,
    pub server: Identity,
    pub operator: Identity,
    pub members: BTreeMap<ClientId, Identity>,
}

impl Identities {
    /// Of a coordinator on a host, and of members of these names.
    pub fn new(host: &str, members: &[&str]) -> Identities {
        let authority = Authority::create("test", Validity::authority()).unwrap();
        let issue = |name: &&str| (id(name), authority.issue_member(&id(name), Validity::leaf()).unwrap());
        Identities {
            server: authority.issue_server(&[host.to_owned()], Validity::leaf()).unwrap(),
            operator: authority.issue_operator(Validity::leaf()),
            members: members.iter().map(issue).collect(),
            authority,
        }
    }

    /// The coordinator's files are in a folder: `ledger.db` and `checkpoint.json`.
    pub fn plan(&self, folder: &Path, agreement: &Agreement) -> Plan {
        let member = |(name, identity): (&ClientId, &Identity)| {
            (name.clone(), identity.certificate().key(), identity.certificate().digest())
        };
        let store = Location::file(folder.join("ledger.db"));
        Plan {
            server: self.server.clone(),
            authority: self.authority.identity().certificate().clone(),
            operator: self.operator.certificate().digest(),
            agreement: agreement.clone(),
            members: self.members.iter().map(member).collect(),
            checkpoint: folder.join("checkpoint.json"),
            lease_ms: 60_000,
            limits: Limits { poll: Duration::from_secs(30), ..Limits::default() },
            store: Arc::new(move || store.open()),
            clock: Clock::real(),
            place: Place::Thread,
            roster: folder.join("roster"),
            name: "test".to_owned(),
            certificates: Vec::new(),
        }
    }
}
