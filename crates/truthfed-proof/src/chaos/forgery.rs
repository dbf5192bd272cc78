//! What liars sign and send beside what their agents do.

use serde_json::{Value, json};
use truthfed_node::wire::{Call, DELIVERY_SCHEMA, Envelope, OFFER_SCHEMA};

use crate::chaos::network::{self, Request};
use crate::chaos::{Role, World};

impl World<'_> {
    /// A liar may send something else first.
    pub(crate) fn maybe_lie(&mut self, member: usize, honest: &Request) {
        if self.members[member].role != Role::Liar || !self.dice.chance(self.weather().lie) {
            return;
        }
        self.count("member-lied");
        let lie = match self.dice.between(0, 3) {
            0 => self.garbage(member, honest),
            1 => self.stolen(member).unwrap_or_else(|| self.garbage(member, honest)),
            _ => self.forged(member, honest).unwrap_or_else(|| self.garbage(member, honest)),
        };
        self.request(lie);
    }

    /// No message at all, or half of one.
    fn garbage(&mut self, member: usize, honest: &Request) -> Request {
        let cut = self.dice.between(0, honest.body.len());
        Request { id: 0, member, to: honest.to.clone(), body: honest.body[..cut].to_owned() }
    }

    /// Somebody else's message as its own.
    fn stolen(&mut self, member: usize) -> Option<Request> {
        let others: Vec<Request> = self.net.heard().filter(|request| request.to.round().is_some()).cloned().collect();
        let other = others.get(self.dice.between(0, others.len().max(1) - 1))?.clone();
        Some(Request { id: 0, member, ..other })
    }

    /// The same message with something changed, signed again.
    fn forged(&mut self, member: usize, honest: &Request) -> Option<Request> {
        let envelope: Envelope = serde_json::from_str(&honest.body).ok()?;
        let mut content: Value = serde_json::from_str(envelope.content.get()).ok()?;
        let schema = if matches!(honest.to, Call::Offer(..)) { OFFER_SCHEMA } else { DELIVERY_SCHEMA };
        let round = content["context"]["round"].as_u64()?;
        match self.dice.between(0, 5) {
            0 => content["context"]["round"] = json!(round + 1),
            1 => content["context"]["round"] = json!(round.saturating_sub(1)),
            2 => content["context"]["member"] = json!("m0"),
            3 => content["context"]["nonce"] = json!("00".repeat(16)),
            _ if schema == OFFER_SCHEMA => content["ask_micros"] = json!(self.dice.between(0, 90_000_000)),
            _ => content["moment"][0] = json!(self.dice.between(0, 64) as f64 / 64.0),
        }
        let envelope = self.members[member].membership.signer.seal(schema, &content);
        Some(Request { id: 0, member, to: honest.to.clone(), body: network::json(&envelope) })
    }
}
