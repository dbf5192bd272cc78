//! Where a life takes place: a copy of one prepared federation, so that all have the same keys.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::Value;
use tempfile::TempDir;
use truthfed_node::store::Location;
use truthfed_node::testing::{Database, Place};
use truthfed_proof::load::world::copy;

use super::process::{done, http};

/// Everyone who is ever a member; the last one joins later.
pub(crate) const MEMBERS: [&str; 4] = ["m1", "m2", "m3", "zoe"];
pub(crate) const FIRST: usize = 3;
/// Who renews its key.
pub(crate) const RENEWING: usize = 2;
const ASKS: [u32; 4] = [10, 20, 30, 5];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// A federation that has not begun, and the bundle of one who joins later.
pub(crate) struct Template(TempDir);

impl Template {
    /// With so much time for offers, and then for deliveries.
    pub(crate) fn new(phase_ms: u32) -> Template {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("fed");
        let text = folder.to_str().unwrap();
        let sets = [
            "terms.bandit.dimension=2".to_owned(),
            // One observation is too little to ask for a round.
            "terms.trigger.threshold=2.5".to_owned(),
            "terms.coverage=0.5".to_owned(),
            format!("terms.offers_ms={phase_ms}"),
            format!("terms.deliveries_ms={phase_ms}"),
            "terms.gap_ms=0".to_owned(),
            "terms.least_samples=0".to_owned(),
            // A quota that never binds, so that data is kept in parts.
            "terms.quota.samples=1000000".to_owned(),
            "terms.quota.per_ms=1".to_owned(),
        ];
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        done(&["init", text, "--members", "3"].into_iter().chain(sets).collect::<Vec<_>>());
        // Enrolled in a ledger that is thrown away, the late one has its bundle.
        done(&["members", "add", text, MEMBERS[FIRST]]);
        let late = place.path().join("late");
        std::fs::create_dir(&late).unwrap();
        std::fs::rename(folder.join("members/zoe"), late.join("zoe")).unwrap();
        std::fs::rename(folder.join("roster/zoe.pem"), late.join("zoe.pem")).unwrap();
        certify(&folder, MEMBERS[RENEWING]);
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with("ledger.db") || name == "checkpoint.json" {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        Template(place)
    }
}

/// Certifies the next key of a member in a ledger that is thrown away: in every life the same certificate is issued and not
/// journaled yet.
fn certify(folder: &Path, member: &str) {
    let on_roster = folder.join(format!("roster/{member}.pem"));
    let (present, bundle) = (std::fs::read(&on_roster).unwrap(), folder.join("members").join(member));
    done(&["member", "renew", bundle.to_str().unwrap()]);
    let request = bundle.join("renewal.json");
    done(&["members", "renew", folder.to_str().unwrap(), "--request", request.to_str().unwrap()]);
    let asked: Value = serde_json::from_slice(&std::fs::read(request).unwrap()).unwrap();
    let issued = format!("renewals/{member}-{}.pem", asked["key"].as_str().unwrap());
    std::fs::rename(&on_roster, folder.join(issued)).unwrap();
    std::fs::write(on_roster, present).unwrap();
}

/// One copy, with addresses of its own. Gone when dropped.
pub(crate) struct Site {
    place: TempDir,
    late: PathBuf,
    pub(crate) listen: u16,
    /// Where it says how it is.
    pub(crate) admin: u16,
    reach: u16,
    /// How long who comes after a dead coordinator waits.
    pub(crate) lease_ms: u64,
    /// Of the agents' local interfaces.
    pub(crate) agents: [u16; 4],
    database: Option<Database>,
}

impl Site {
    pub(crate) fn new(template: &Template, kind: Kind) -> Site {
        let place = tempfile::tempdir().unwrap();
        copy(&template.0.path().join("fed"), &place.path().join("fed")).unwrap();
        let database = (kind == Kind::Postgres).then(Database::create);
        let late = template.0.path().join("late");
        let (listen, admin, agents) = (port(), port(), [(); 4].map(|()| port()));
        let mut site = Site { place, late, listen, admin, reach: listen, lease_ms: 500, agents, database };
        let settings = site.path("fed/federation.toml");
        set(&settings, "listen", &format!("127.0.0.1:{}", site.listen));
        set(&settings, "admin", &format!("127.0.0.1:{}", site.admin));
        set(&settings, "store", &site.address());
        for (member, ask) in MEMBERS.iter().zip(ASKS) {
            let policy = format!("kind = \"constant\"\nask = \"{ask}\"");
            std::fs::write(site.path(&format!("{member}.toml")), policy).unwrap();
        }
        site.reach(site.listen);
        site
    }

    /// Members and the operator reach the coordinator at this port.
    pub(crate) fn reach(&mut self, port: u16) {
        self.reach = port;
        set(&self.path("fed/federation.toml"), "address", &format!("127.0.0.1:{port}"));
        MEMBERS[..FIRST].iter().for_each(|member| self.address_bundle(member));
    }

    fn address_bundle(&self, member: &str) {
        let file = self.path(&format!("fed/members/{member}/member.toml"));
        set(&file, "coordinator", &format!("127.0.0.1:{}", self.reach));
    }

    /// Puts the bundle of the one who joins later in its place, as if it was issued just now.
    pub(crate) fn issue(&self) {
        copy(&self.late.join("zoe"), &self.path("fed/members/zoe")).unwrap();
        std::fs::copy(self.late.join("zoe.pem"), self.path("fed/roster/zoe.pem")).unwrap();
        self.address_bundle("zoe");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn folder(&self) -> String {
        self.path("fed").to_str().unwrap().to_owned()
    }

    pub(crate) fn store(&self) -> Location {
        self.address().parse().unwrap()
    }

    fn address(&self) -> String {
        match &self.database {
            Some(database) => database.address().to_owned(),
            None => self.path("fed/ledger.db").to_str().unwrap().to_owned(),
        }
    }

    pub(crate) fn entries(&self) -> Option<u64> {
        let metrics = http(self.admin, "GET", "/metrics", "")?;
        let line = metrics.lines().find_map(|line| line.strip_prefix("truthfed_journal_entries "))?;
        line.parse().ok()
    }

    /// How an agent stands, if it answers.
    pub(crate) fn status(&self, member: usize) -> Option<Value> {
        serde_json::from_str(&http(self.agents[member], "GET", "/status", "")?).ok()
    }
}

pub(crate) fn set(file: &Path, key: &str, value: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    let start = format!("{key} = ");
    let line = |line: &str| match line.starts_with(&start) {
        true => format!("{start}\"{value}\"\n"),
        false => format!("{line}\n"),
    };
    std::fs::write(file, text.lines().map(line).collect::<String>()).unwrap();
}

/// A port that nobody else takes: below those that the system gives to outgoing connections.
pub(crate) fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() % 199 * 101;
    loop {
        let port = 10_240 + (first as u16 + NEXT.fetch_add(1, Ordering::Relaxed)) % 22_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
