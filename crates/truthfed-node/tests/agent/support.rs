//! A federation in one process: an engine with its store, and agents whose links can be broken.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use truthfed::auction::ClientId;
use truthfed_node::agent::{Agent, Direct, Handle, Link, LinkError, Membership, Policy, Runner};
use truthfed_node::engine::{self, Ahead, Clock, OpenStore, Setup};
use truthfed_node::store::Sqlite;
use truthfed_node::terms::{Agreement, CoverageSetting, RawTerms};
use truthfed_node::testing::{self, Numbers, id, wide_terms};
use truthfed_node::wire::{Call, Seen};

pub(crate) fn terms() -> RawTerms {
    RawTerms { coverage: CoverageSetting::Ratio(0.9), ..wide_terms() }
}

pub(crate) struct Federation {
    folder: TempDir,
    inner: testing::Federation,
    names: Vec<ClientId>,
    running: engine::Running,
}

impl Federation {
    /// Members `m1`, `m2` and so on, with an engine on a thread in real time.
    pub(crate) fn new(members: usize, terms: RawTerms) -> Federation {
        Federation::timed(members, terms, Clock::real())
    }

    /// With a clock of one's own.
    pub(crate) fn timed(members: usize, terms: RawTerms, clock: Clock) -> Federation {
        let folder = truthfed_node::testing::folder();
        let names: Vec<String> = (1..=members).map(|number| format!("m{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let inner = testing::Federation::new(terms, &names);
        Federation::start(folder, inner, names.into_iter().map(id).collect(), clock)
    }

    fn start(folder: TempDir, inner: testing::Federation, names: Vec<ClientId>, clock: Clock) -> Federation {
        let store = folder.path().join("ledger.db");
        let open: OpenStore = Arc::new(move || Ok(Box::new(Sqlite::open(&store)?)));
        let setup = Setup { clock, ..inner.setup() };
        let running = engine::start(setup, &open, &mut Ahead::default()).unwrap();
        Federation { folder, inner, names, running }
    }

    /// Stops the engine, does something to the file of its store, and starts it again. Wires lead to the old engine.
    pub(crate) async fn restarted(self, change: impl FnOnce(&Path)) -> Federation {
        let Federation { folder, inner, names, running } = self;
        running.stop().await.unwrap();
        change(&folder.path().join("ledger.db"));
        Federation::start(folder, inner, names, Clock::real())
    }

    pub(crate) fn engine(&self) -> engine::Handle {
        self.running.handle()
    }

    pub(crate) fn agreement(&self) -> &Agreement {
        &self.inner.agreement
    }

    pub(crate) fn membership(&self, number: usize) -> Membership {
        self.inner.membership(&self.names[number])
    }

    pub(crate) fn file(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("agent-{number}.db"))
    }

    pub(crate) fn agent(&self, number: usize) -> Handle {
        Handle::new(Agent::open(self.membership(number), &self.file(number)).unwrap())
    }

    pub(crate) fn wire(&self, number: usize) -> Wire {
        self.faulty_wire(number, None)
    }

    /// A wire with at most one fault.
    pub(crate) fn faulty_wire(&self, number: usize, fault: Option<Fault>) -> Wire {
        let direct = Direct::new(self.engine(), self.names[number].clone());
        Wire(Arc::new(Cable { direct, is_cut: AtomicBool::new(false), sent: AtomicUsize::new(0), fault }))
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

pub(crate) async fn play(agent: &Handle, numbers: &mut Numbers) {
    let (decision, _) = agent.choose(numbers.arms(3)).await.unwrap();
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
