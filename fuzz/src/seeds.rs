//! Inputs to begin with that follow from the code: signed messages, journals, saved machines, and streams of choices that
//! lead somewhere. `cargo run --example seeds` writes them into `corpus/`, beside those that were written by hand or found.

use truthfed::Amount;
use truthfed::auction::RoundDocument;
use truthfed::bandit::{Config, RawConfig};
use truthfed::generate::{Stream, varied_within};
use truthfed::protocol::{
    Member, Notice, Quality, QualityRule, Quota, RawTerms, RoundId, SamplesSetting, Since, Trigger,
};
use truthfed_node::federation::DEFAULT_TOML;
use truthfed_node::journal::Row;
use truthfed_node::wire::{Call, SyncRequest};

use crate::federation::{FEDERATION, NAMES, delivery_content, id, offer, offer_content, recorded_offer, start};
use crate::intake::{BEFORE_DELIVERY, BEFORE_OFFER};
use crate::journal::HONEST;
use crate::protocol::Price;
use crate::text::json;
use crate::{Target, agent, auction, engine, honest, ledger, proof, protocol, receipts, statistics, verify};

/// An input of a target.
pub struct Seed {
    /// The target it is for.
    pub target: &'static str,
    /// The name of the file.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// All of them; the same every time.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let mut add = |target, name: &str, bytes: Vec<u8>| seeds.push(Seed { target, name: name.to_owned(), bytes });
    let before_offer = start(BEFORE_OFFER.clone());
    add("offer", "content.json", json(&offer_content(&before_offer, 0)).into());
    add("offer", "body.json", json(&offer(&before_offer, 0)).into());
    let mut before_delivery = start(BEFORE_DELIVERY.clone());
    let offered = recorded_offer(&before_delivery.store(), 0).expect("the member has offered").digest();
    add("delivery", "content.json", json(&delivery_content(&before_delivery, 0, offered)).into());
    add("messages", "view.json", json(&before_delivery.published().view(&id(NAMES[0]))).into());
    let reply = before_delivery.call(&id(NAMES[0]), Call::Statement).expect("a member has a statement");
    add("messages", "statement.json", reply.into());
    let mut after = start(HONEST.clone());
    let reply = after
        .call(&id(NAMES[1]), Call::Sync(SyncRequest { have: RoundId(0), waiting: None }))
        .expect("a member may sync");
    add("messages", "sync.json", reply.into());
    let round = HONEST.rows.iter().take_while(|row| !row.body.contains("\"settled\"")).count() + 2;
    add("journal", "round.jsonl", lines(&HONEST.rows[..round]).into());
    add("journal", "open.jsonl", lines(&BEFORE_OFFER.rows).into());
    let late = |row: &Row| row.body.replace("\"at_ms\":0", "\"at_ms\":18446744073709551615");
    add("journal", "late.jsonl", HONEST.rows[..round].iter().map(late).collect::<Vec<_>>().join("\n").into());
    add("recovery", "standing.json", HONEST.standing.clone().expect("rounds have ended").body.into());
    add("terms", "terms.json", FEDERATION.agreement.text().into());
    add("settings", "federation.toml", DEFAULT_TOML.into());
    let quota = Quota { samples: 5, per_ms: 1000, members: [(id(NAMES[0]), 9)].into() };
    add("terms", "quota.json", json(&RawTerms { quota, ..FEDERATION.agreement.raw().clone() }).into());
    let (least_samples, rule) = (SamplesSetting::Samples(4), QualityRule::Hold);
    let quality = Quality { rule, ..Quality::default() };
    let held = RawTerms { least_samples, quality, ..FEDERATION.agreement.raw().clone() };
    add("terms", "held.json", json(&held).into());
    add("saved", "member.json", json(&member(false)).into());
    add("saved", "in-parts.json", json(&member(true)).into());
    add("saved", "standing.json", json(&standing()).into());
    let (proved, head) = proof::honest(5, 3, 12);
    add("proof", "entry.json", proved.into());
    add("proof", "head.txt", head.into());
    for number in 1..4 {
        let document = RoundDocument::of(&varied_within(number, (1, 4), (1, 2)).spec());
        add("round", &format!("varied-{number}.json"), format!("{document:#}").into());
    }
    for (target, name, length) in STREAMS {
        for (number, bytes) in leading_somewhere(*target, *length).into_iter().enumerate() {
            add(name, &format!("choices-{number}"), bytes);
        }
    }
    seeds
}

/// Targets whose inputs are streams of choices, with the length of a seed.
const STREAMS: &[(Target, &str, usize)] = &[
    (agent, "agent", 200),
    (auction, "auction", 60),
    (engine, "engine", 160),
    (honest, "honest", 80),
    (ledger, "ledger", 200),
    (protocol, "protocol", 400),
    (receipts, "receipts", 40),
    (statistics, "statistics", 40),
    (verify, "verify", 20),
];

/// The first three random streams that are valid to the end.
fn leading_somewhere(target: Target, length: usize) -> Vec<Vec<u8>> {
    let random = |seed| {
        let mut stream = Stream::new(seed, 0);
        (0..length).map(|_| stream.between(0, 255) as u8).collect()
    };
    (0..100_000).map(random).filter(|bytes: &Vec<u8>| target(bytes)).take(3).collect()
}

fn lines(rows: &[Row]) -> String {
    let bodies: Vec<&str> = rows.iter().map(|row| row.body.as_str()).collect();
    bodies.join("\n")
}

fn member(in_parts: bool) -> Member {
    let config = Config::try_from(RawConfig { dimension: 2, ..RawConfig::default() }).expect("a valid dimension");
    let member = Member::new(id("ann"), config, Trigger::new(Since::Round, 1.0));
    let mut member = if in_parts { member.in_parts(0) } else { member };
    for arm in [[0.5, 0.0], [0.0, 0.5], [0.5, 0.5]] {
        member.learn(&arm, 1.0).expect("a valid observation");
    }
    if in_parts {
        member.handle(Notice::Opened(RoundId(1), Some(2)), &mut Price(Some(Amount::ZERO))).expect("no snapshot");
    }
    member
}

/// Between two rounds of a federation with a quota.
fn standing() -> serde_json::Value {
    let body = HONEST.standing.clone().expect("rounds have ended").body;
    let mut body: serde_json::Value = serde_json::from_str(&body).expect("it was written");
    let mut standing = body["standing"].take();
    standing["awarded"] = 5.into();
    standing
}
