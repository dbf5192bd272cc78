//! I6: what was acknowledged is there after any crash. I8: a repeated request gets the same reply.

use std::collections::BTreeMap;
use std::sync::Arc;

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::store::{RequestKey, RequestKind, Store};
use truthfed_node::wire::Call;

use super::unreadable;
use crate::chaos::{Request, Verdict, check};

/// Replies of so many rounds are looked at after a restart.
const ROUNDS: u64 = 2;

#[derive(Default)]
pub(crate) struct Acknowledged {
    replies: BTreeMap<(RoundId, ClientId, RequestKind), (Arc<Request>, String)>,
}

impl Acknowledged {
    pub(crate) fn note(&mut self, member: &ClientId, request: &Arc<Request>, reply: &str) -> Verdict {
        let (round, kind) = match request.to {
            Call::Offer(round, _) | Call::Decline(round) => (round, RequestKind::Offer),
            Call::Deliver(round, _) => (round, RequestKind::Delivery),
            _ => return Ok(()),
        };
        let known = self.replies.entry((round, member.clone(), kind));
        let (_, first) = known.or_insert_with(|| (request.clone(), reply.to_owned()));
        check(first == reply, "I8", || format!("{member} got two replies to its {request}"))
    }

    /// Everything that was acknowledged lately is in the store.
    pub(crate) fn check_kept(&self, store: &mut dyn Store) -> Verdict {
        for ((round, member, kind), (request, reply)) in self.lately() {
            let key = RequestKey { member: member.clone(), round: *round, kind: *kind };
            let kept = store.reply(&key).map_err(unreadable)?;
            let is_kept = kept.is_some_and(|kept| kept.body == *reply);
            check(is_kept, "I6", || format!("{member}'s {request} was acknowledged, and is not kept"))?;
        }
        Ok(())
    }

    /// What was acknowledged in the last rounds, with the replies.
    pub(crate) fn lately(&self) -> impl Iterator<Item = (&(RoundId, ClientId, RequestKind), &(Arc<Request>, String))> {
        let last = self.replies.last_key_value().map_or(RoundId(0), |((round, ..), _)| *round);
        self.replies.iter().rev().take_while(move |((round, ..), _)| round.0 + ROUNDS > last.0)
    }
}
