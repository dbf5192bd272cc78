//! A member without any observation, against the real service under the terms that `init` writes: it offers data that nobody
//! observed, as much as opens a round, and delivers the opposite of what the others believe.

use std::path::Path;

use truthfed::Amount;
use truthfed::generate::Stream;
use truthfed::protocol::{RoundId, Time};
use truthfed::statistics::{Factor, Gram, Statistics};
use truthfed_node::agent::{Agent, Handle, Https, Link, Membership, Policy, Runner};
use truthfed_node::coordinator::{self, Config as ServerConfig};
use truthfed_node::digest::{Hex, Nonce};
use truthfed_node::engine::Clock;
use truthfed_node::federation::{self, Bundle, InitOptions};
use truthfed_node::ledger::{LineState, Statement, Trust, verify};
use truthfed_node::store::Sqlite;
use truthfed_node::wire::{
    Call, Context, DELIVERY_SCHEMA, DeliveryContent, Envelope, OFFER_SCHEMA, OfferContent, Phase, ReceiptContent,
    ReceiptKind, Reply, Seen, SyncRequest, View, commitment,
};

const DIMENSION: usize = 5;
const HONEST: usize = 3;
const STEPS: u64 = 400;
const SALT: Nonce = Hex([7; 16]);

/// Whoever asks nothing wins.
struct Inverter {
    membership: Membership,
    link: Https,
    offered: Option<(RoundId, Envelope, Vec<f64>)>,
    delivered: u32,
}

impl Inverter {
    async fn call(&self, call: Call) -> Option<Reply> {
        let body = self.link.call(call.clone()).await.ok()?;
        Some(call.read_reply(&body).unwrap())
    }

    /// Says whatever the round waits for, and opens one if none is open.
    async fn act(&mut self) {
        let Some(Reply::View(View { open, next, .. })) = self.call(Call::View(Seen::default())).await else { return };
        match open {
            None => self.offer(next.unwrap().round, next.unwrap().nonce).await,
            Some(open) if open.phase == Phase::Offers && !open.answered => self.offer(open.round, open.nonce).await,
            Some(open) if open.phase == Phase::Deliveries => {
                let decision = open
                    .decision
                    .map(|receipt| serde_json::from_str::<ReceiptContent>(receipt.content.get()).unwrap().kind);
                if decision == Some(ReceiptKind::Won) {
                    self.deliver(open.round, open.nonce).await;
                }
            }
            Some(_) => {}
        }
    }

    fn context(&self, round: RoundId, nonce: Nonce) -> Context {
        let Membership { federation, member, agreement, .. } = &self.membership;
        Context { federation: *federation, round, nonce, terms: agreement.hash(), member: member.clone() }
    }

    async fn offer(&mut self, round: RoundId, nonce: Nonce) {
        let sync = Call::Sync(SyncRequest { have: RoundId(0), waiting: None });
        let Some(Reply::Sync(reply)) = self.call(sync).await else { return };
        let settled = reply.snapshot.map_or(Statistics::new(DIMENSION).unwrap(), |snapshot| snapshot.statistics);
        let all = settled.gram().ridge(self.membership.agreement.bandit().lambda());
        // What makes the determinant 2.6 times as large, and at least as much as an offer must have.
        let samples = (0.3 * all.trace()).ceil().max(20.0);
        let factor = samples / all.trace();
        let gram = Gram::from_lower(DIMENSION, all.lower().iter().map(|x| factor * x).collect()).unwrap();
        let believed = Factor::new(&all).unwrap().solve(settled.moment());
        let opposite = |row: &Vec<f64>| -row.iter().zip(&believed).map(|(g, x)| 0.9 * g * x).sum::<f64>();
        let moment: Vec<f64> = gram.rows().iter().map(opposite).collect();
        let content = OfferContent {
            schema: OFFER_SCHEMA.to_owned(),
            context: self.context(round, nonce),
            gram,
            samples: samples as u64,
            ask_micros: Amount::ZERO,
            commitment: commitment(SALT, &moment),
        };
        let envelope = self.membership.signer.seal(OFFER_SCHEMA, &content);
        if self.call(Call::Offer(round, envelope.clone())).await.is_some() {
            self.offered = Some((round, envelope, moment));
        }
    }

    async fn deliver(&mut self, round: RoundId, nonce: Nonce) {
        let Some((_, offer, moment)) = self.offered.take_if(|(offered, ..)| *offered == round) else { return };
        let (schema, context) = (DELIVERY_SCHEMA.to_owned(), self.context(round, nonce));
        let content = DeliveryContent { schema, context, offer: offer.digest(), moment, salt: SALT };
        let delivery = self.membership.signer.seal(DELIVERY_SCHEMA, &content);
        self.delivered += u32::from(self.call(Call::Deliver(round, delivery)).await.is_some());
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn open(folder: &Path, member: &str, address: &str) -> Bundle {
    let bundle = federation::open_bundle(&folder.join("members").join(member)).unwrap();
    Bundle { coordinator: address.to_owned(), ..bundle }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_invents_data_is_paid_at_most_once_and_the_others_choose_as_well_as_before() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("fed");
    let members = ["ann", "bob", "cat", "eve"].map(str::to_owned).to_vec();
    // The default terms; only what members may send in a second is more.
    let changes = vec!["limits.requests_per_second=10000".to_owned(), "limits.burst=10000".to_owned()];
    federation::init(&folder, &InitOptions { members, changes, ..InitOptions::default() }).unwrap();
    let mut server = ServerConfig::of(&federation::open(&folder).unwrap(), 60_000);
    server.listen.set_port(0);
    server.admin.set_port(0);
    let clock = Clock::simulated();
    server.plan.clock = clock.clone();
    let coordinator = coordinator::start(server).await.unwrap();
    let address = coordinator.addresses().members.to_string();
    let runner = |name: &&str| {
        let bundle = open(&folder, name, &address);
        let agent = Agent::open(Membership::of(&bundle), &bundle.folder.join("agent.db")).unwrap();
        let policy = Policy::from_toml("kind = \"constant\"\nask = \"10\"").unwrap();
        Runner::new(Handle::new(agent), Https::new(&bundle).unwrap(), policy)
    };
    let runners: Vec<Runner<Https>> = ["ann", "bob", "cat"].iter().map(runner).collect();
    let bundle = open(&folder, "eve", &address);
    let (membership, link) = (Membership::of(&bundle), Https::new(&bundle).unwrap());
    let mut eve = Inverter { membership, link, offered: None, delivered: 0 };

    let mut stream = Stream::new(1, 0);
    let theta = stream.context(DIMENSION);
    let (mut best, mut worst) = (0, 0);
    for step in 0..STEPS {
        clock.set(Time(3000 * (step + 1)));
        let runner = &runners[step as usize % HONEST];
        let arms: Vec<Vec<f64>> = (0..5).map(|_| stream.context(DIMENSION)).collect();
        let means: Vec<f64> = arms.iter().map(|arm| 0.8 * dot(arm, &theta)).collect();
        let (decision, index) = runner.agent().choose(arms).await.unwrap();
        if step >= STEPS / 2 {
            best += u32::from(means.iter().all(|mean| *mean <= means[index]));
            worst += u32::from(means.iter().all(|mean| *mean >= means[index]));
        }
        let reward = (means[index] + 0.1 * stream.normal()).clamp(-1.0, 1.0);
        runner.agent().learn(decision, reward).await.unwrap();
        // Eve first: it opens every round that it can.
        for _ in 0..4 {
            eve.act().await;
            for runner in &runners {
                while runner.exchange().await.unwrap() {}
            }
        }
    }
    coordinator.stop().await.unwrap();

    let mut store = Sqlite::open_existing(&folder.join("ledger.db")).unwrap();
    let statement = Statement::read(&mut store, &"eve".parse().unwrap()).unwrap();
    let posted = statement.lines.iter().filter(|line| line.state == LineState::Posted).count();
    assert!(eve.delivered >= 3, "{} deliveries", eve.delivered);
    assert!(posted <= 1, "{posted} of {} deliveries were paid", eve.delivered);
    assert!(statement.totals.forfeited > 0);
    let honest = Statement::read(&mut store, &"ann".parse().unwrap()).unwrap();
    assert!(honest.totals.posted_micros > 0);
    // By chance it would be one in five of each.
    let half = (STEPS / 2) as u32;
    assert!(best > half * 8 / 10 && worst == 0, "{best} best and {worst} worst of {half}");
    let report = verify(&mut store, &Trust::default()).unwrap();
    assert!(report.is_right(), "{report}");
}
