//! A federation in one process: an engine with its store, and agents whose links can be broken.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::bandit::RawConfig;
use truthfed::protocol::{Since, Trigger};
use truthfed_node::agent::{Agent, Direct, Handle, Link, LinkError, Membership, Policy, Runner};
use truthfed_node::digest::Digest;
use truthfed_node::engine::{self, Clock, Place, Setup};
use truthfed_node::signature::Signer;
use truthfed_node::store::Sqlite;
use truthfed_node::terms::{Agreement, CoverageSetting, MechanismSetting, TermsDocument};
use truthfed_node::wire::{Call, Seen};

pub(crate) const DIMENSION: usize = 3;

pub(crate) fn terms() -> TermsDocument {
    TermsDocument {
        bandit: RawConfig { dimension: DIMENSION, ..RawConfig::default() },
        trigger: Trigger { since: Since::Round, threshold: 20.0 },
        coverage: CoverageSetting::Ratio(0.9),
        reserve_micros: Amount::from_units(500),
        norm: 2.0,
        reward: 10.0,
        samples: 1_000_000,
        offers_ms: 60_000,
        deliveries_ms: 60_000,
        mechanism: MechanismSetting::default(),
    }
}

pub(crate) struct Federation {
    folder: TempDir,
    agreement: Agreement,
    signer: Signer,
    members: Vec<(ClientId, Signer)>,
    running: engine::Running,
}

impl Federation {
    pub(crate) fn new(members: usize, terms: TermsDocument) -> Federation {
        let folder = tempfile::tempdir().unwrap();
        let member = |number: usize| (format!("m{number}").parse().unwrap(), Signer::random());
        let members: Vec<(ClientId, Signer)> = (1..=members).map(member).collect();
        let (agreement, signer) = (Agreement::try_from(terms).unwrap(), Signer::random());
        let enrolled =
            |(name, key): &(ClientId, Signer)| (name.clone(), key.public(), Digest::of(name.as_str().as_bytes()));
        let setup = Setup {
            federation: Digest::of(b"federation"),
            agreement: agreement.clone(),
            signer: signer.clone(),
            members: members.iter().map(enrolled).collect(),
            checkpoint: Arc::new(folder.path().join("checkpoint.json")),
            lease_ms: 60_000,
            clock: Clock::real(),
            place: Place::Thread,
        };
        let store = Sqlite::open(&folder.path().join("ledger.db")).unwrap();
        let running = engine::start(setup, Box::new(store)).unwrap();
        Federation { folder, agreement, signer, members, running }
    }

    pub(crate) fn engine(&self) -> engine::Handle {
        self.running.handle()
    }

    pub(crate) fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    pub(crate) fn membership(&self, number: usize) -> Membership {
        let (member, signer) = &self.members[number];
        Membership {
            federation: Digest::of(b"federation"),
            member: member.clone(),
            coordinator: self.signer.public(),
            agreement: self.agreement.clone(),
            signer: signer.clone(),
        }
    }

    pub(crate) fn file(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("agent-{number}.db"))
    }

    pub(crate) fn agent(&self, number: usize) -> Handle {
        Handle::new(Agent::open(self.membership(number), &self.file(number)).unwrap())
    }

    pub(crate) fn wire(&self, number: usize) -> Wire {
        let direct = Direct::new(self.engine(), self.members[number].0.clone());
        Wire(Arc::new(Cable { direct, is_cut: AtomicBool::new(false), sent: AtomicUsize::new(0), fault: None }))
    }

    /// A wire with one fault.
    pub(crate) fn faulty_wire(&self, number: usize, fault: Fault) -> Wire {
        let direct = Direct::new(self.engine(), self.members[number].0.clone());
        let sent = AtomicUsize::new(0);
        Wire(Arc::new(Cable { direct, is_cut: AtomicBool::new(false), sent, fault: Some(fault) }))
    }

    pub(crate) fn runner(&self, number: usize, wire: &Wire) -> Runner<Wire> {
        Runner::new(self.agent(number), wire.clone(), policy())
    }
}

pub(crate) fn policy() -> Policy {
    Policy::from_toml("kind = 'per-sample'\nprice = 0.5").unwrap()
}

/// What happens to one message, counted from 0. Views are not counted: they change nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    /// The reply is lost, not the request.
    pub(crate) is_heard: bool,
}

/// A link that can be cut.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Cable>);

struct Cable {
    direct: Direct,
    is_cut: AtomicBool,
    sent: AtomicUsize,
    fault: Option<Fault>,
}

impl Wire {
    pub(crate) fn cut(&self, is_cut: bool) {
        self.0.is_cut.store(is_cut, Ordering::SeqCst);
    }

    /// How many messages were sent.
    pub(crate) fn sent(&self) -> usize {
        self.0.sent.load(Ordering::SeqCst)
    }

    fn away() -> LinkError {
        LinkError::Away("the wire is cut".to_owned())
    }
}

impl Link for Wire {
    async fn call(&self, call: Call) -> Result<Vec<u8>, LinkError> {
        let Cable { direct, is_cut, sent, fault } = &*self.0;
        if let Call::View(seen) = call {
            // Notices soon that it is cut, as a broken connection would.
            let view = direct.call(Call::View(Seen { wait_ms: seen.wait_ms.min(50), ..seen })).await;
            return if is_cut.load(Ordering::SeqCst) { Err(Wire::away()) } else { view };
        }
        let number = sent.fetch_add(1, Ordering::SeqCst);
        if is_cut.load(Ordering::SeqCst) {
            return Err(Wire::away());
        }
        match fault.filter(|fault| fault.at == number) {
            None => direct.call(call).await,
            Some(Fault { is_heard: false, .. }) => Err(Wire::away()),
            Some(Fault { is_heard: true, .. }) => {
                let _ = direct.call(call).await;
                Err(Wire::away())
            }
        }
    }
}

/// A sequence of numbers that look random, the same for the same seed.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn arms(&mut self) -> Vec<Vec<f64>> {
        (0..4).map(|_| (0..DIMENSION).map(|_| 2.0 * self.unit() - 1.0).collect()).collect()
    }
}

/// Chooses and learns once.
pub(crate) async fn play(agent: &Handle, numbers: &mut Numbers) {
    let (decision, _) = agent.choose(numbers.arms()).await.unwrap();
    agent.learn(decision, numbers.unit()).await.unwrap();
}

/// Lets all talk until nobody has anything to say.
pub(crate) async fn settle<L: Link>(runners: &[Runner<L>]) {
    loop {
        let mut happened = false;
        for runner in runners {
            happened |= runner.exchange().await.unwrap();
        }
        if !happened {
            return;
        }
    }
}

/// Waits until something holds that two tasks bring about between them.
pub(crate) async fn eventually<F: Future<Output = bool>>(holds: impl Fn() -> F) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it comes about within a minute");
}
