//! What came of a life, to compare: the store with all its replies, and what every agent holds.

use serde_json::Value;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::agent::{Agent, Membership};
use truthfed_node::federation::open_bundle;
use truthfed_node::kill::step;
use truthfed_node::store::{RequestKind, Store, StoredReply};

use super::site::{FIRST, MEMBERS, Site};

/// More than there is.
const ALL: usize = 10_000;
/// Kinds of receipts that no agent goes without. What it missed of the others is moot once a round has ended.
const DECISIVE: [&str; 2] = ["paid", "voided"];

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trace {
    /// The steps that the entries of the journal are, in order.
    steps: Vec<&'static str>,
    /// The coordinator's: journal, ledger, standing, every reply and receipt it gave; without times and what is signed over them.
    store: Vec<String>,
    /// What agents know, and were paid.
    statuses: Vec<String>,
    /// The decisive receipts of the first members, as they were signed.
    receipts: Vec<String>,
}

impl Trace {
    /// Panics when an agent holds a receipt that the coordinator did not give, or would give otherwise now.
    pub(crate) fn read(site: &Site, statuses: &[Value]) -> Trace {
        let members = &MEMBERS[..statuses.len()];
        let mut store = site.store().open_existing().unwrap();
        let rows = store.rows(0, ALL).unwrap();
        let replies: Vec<StoredReply> = members.iter().flat_map(|member| replies(store.as_mut(), member)).collect();
        let mut decisive = Vec::new();
        for (number, member) in members.iter().enumerate() {
            for text in receipts(site, member) {
                let receipt: Value = serde_json::from_str(&text).unwrap();
                assert!(replies.iter().any(|reply| reply.body.contains(&text)), "{member} was not given {text}");
                if number < FIRST && DECISIVE.iter().any(|kind| receipt["content"]["kind"] == *kind) {
                    decisive.push(text);
                }
            }
        }
        let lines = rows.iter().map(|row| format!("{} {}", row.number, timeless(&row.body)));
        let lines = lines.chain(store.postings(0, ALL).unwrap().into_iter().map(|posting| format!("{posting:?}")));
        let lines = lines.chain(replies.iter().map(|reply| format!("{reply:?}")));
        let standing = store.standing().unwrap();
        Trace {
            steps: rows.iter().map(|row| step(&row.entry().unwrap())).collect(),
            store: lines.chain(standing.map(|row| format!("{} {}", row.entry, timeless(&row.body)))).collect(),
            statuses: statuses.iter().map(status).collect(),
            receipts: decisive,
        }
    }

    /// How often a step is in the journal.
    pub(crate) fn times(&self, step: &str) -> usize {
        self.steps.iter().filter(|of| **of == step).count()
    }

    /// Panics unless this is what the other is; says where they part.
    pub(crate) fn check_same(&self, undisturbed: &Trace) {
        let lines = self.store.iter().zip(&undisturbed.store);
        lines.for_each(|(got, expected)| assert_eq!(got, expected));
        assert_eq!(self.statuses, undisturbed.statuses);
        assert_eq!(self.receipts, undisturbed.receipts);
        assert_eq!(self, undisturbed);
    }
}

/// An entry or a standing without what no two lives have in common: when rounds opened and ended, and the hashes and signatures of
/// the coordinator over that.
fn timeless(body: &str) -> Value {
    let mut body: Value = serde_json::from_str(body).unwrap();
    for (part, field) in [
        ("/opened", "at_ms"),
        ("/sealed", "at_ms"),
        ("/sealed", "signature"),
        ("/settled", "at_ms"),
        ("/aborted", "at_ms"),
        ("/ruled", "at_ms"),
        ("/paid-out", "at_ms"),
        ("/paused", "at_ms"),
        ("/resumed", "at_ms"),
        ("/checkpoint", "head"),
        ("/checkpoint", "standing"),
        ("/checkpoint", "signature"),
        ("", "ended"),
        ("/standing", "awarded"),
    ] {
        if let Some(Value::Object(fields)) = body.pointer_mut(part) {
            fields.remove(field);
        }
    }
    body
}

/// Without whether the coordinator was reachable when it was asked.
fn status(status: &Value) -> String {
    let mut status = status.clone();
    status.as_object_mut().unwrap().remove("coordinator_reachable");
    status.to_string()
}

fn replies(store: &mut dyn Store, member: &str) -> Vec<StoredReply> {
    let member: ClientId = member.parse().unwrap();
    RequestKind::ALL.into_iter().flat_map(|kind| store.replies(&member, kind, RoundId(0)).unwrap()).collect()
}

fn receipts(site: &Site, member: &str) -> Vec<String> {
    let bundle = open_bundle(&site.path(&format!("fed/members/{member}"))).unwrap();
    let agent = Agent::open(Membership::of(&bundle), &bundle.folder.join("agent.db")).unwrap();
    agent.receipts().unwrap().iter().map(|receipt| serde_json::to_string(receipt).unwrap()).collect()
}
