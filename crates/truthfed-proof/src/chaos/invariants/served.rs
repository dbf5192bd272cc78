//! I18: what is served is what the journal says: views, snapshots and replies, and the times at which rounds open and end.

use serde::de::DeserializeOwned;
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Time};
use truthfed_node::digest::Nonce;
use truthfed_node::wire::{Call, Phase, ReceiptContent, ReceiptKind, ReceiptReply, SyncReply, View};

use super::rounds::Open;
use super::{Observer, unreadable};
use crate::chaos::{Request, Sums, Verdict, check};

/// When things happened, by the journal.
#[derive(Default)]
pub(crate) struct Times {
    latest: Time,
    /// When the phase of the open round began.
    began: Time,
    /// What the clock of whoever writes shows, if that is known.
    pub(crate) clock: Option<Time>,
    /// The nonce of the round that was next when somebody looked.
    next: Option<(RoundId, Nonce)>,
}

impl Observer {
    /// A time in the journal: never before an earlier one, and what the clock shows unless that is behind.
    fn check_time(&mut self, at: Time) -> Verdict {
        let Times { latest, clock, .. } = self.times;
        check(at >= latest, "I18", || format!("{} ms come after {} ms", at.0, latest.0))?;
        let is_shown = clock.is_none_or(|clock| at == clock.max(latest));
        check(is_shown, "I18", || format!("{} ms are recorded when the clock shows {clock:?}", at.0))?;
        self.times.latest = at;
        Ok(())
    }

    /// A round opens, with the nonce that members were told.
    pub(super) fn check_beginning(&mut self, round: RoundId, nonce: Nonce, at: Time) -> Verdict {
        self.check_time(at)?;
        self.times.began = at;
        let is_told = self.times.next.is_none_or(|(next, told)| next != round || told == nonce);
        check(is_told, "I18", || format!("round {round} opens with another nonce than it was announced with"))
    }

    /// Something is recorded between the steps of a round.
    pub(super) fn check_noted_at(&mut self, at: Time) -> Verdict {
        self.check_time(at)
    }

    /// A phase ends: all were heard, or its time is over. The next begins.
    pub(super) fn check_phase(&mut self, round: RoundId, at: Time, all_heard: bool, lasts_ms: u64) -> Verdict {
        self.check_time(at)?;
        let ends = self.times.began.0 + lasts_ms;
        self.times.began = at;
        check(all_heard || at.0 >= ends, "I18", || {
            format!("a phase of round {round} ends {} ms early, and not all were heard", ends - at.0)
        })
    }

    /// What a member is told; `is_current` if by a coordinator that knows the whole journal.
    pub(crate) fn check_served(
        &mut self,
        member: &ClientId,
        request: &Request,
        body: &str,
        is_current: bool,
    ) -> Verdict {
        match &request.to {
            Call::View(_) => self.check_view(member, &read(body)?, is_current),
            Call::Sync(_) => self.check_snapshot(member, request, &read(body)?, is_current),
            Call::Offer(round, _) if is_current => {
                let reply: ReceiptReply = read(body)?;
                let receipt: ReceiptContent = read(reply.receipt.content.get())?;
                self.check_taken(*round, member, &receipt, ReceiptKind::OfferTaken)
            }
            Call::Deliver(round, _) if is_current => {
                let reply: ReceiptReply = read(body)?;
                let receipt: ReceiptContent = read(reply.receipt.content.get())?;
                self.check_taken(*round, member, &receipt, ReceiptKind::DeliveryTaken)
            }
            _ => Ok(()),
        }
    }

    fn check_view(&mut self, member: &ClientId, view: &View, is_current: bool) -> Verdict {
        if let Some(next) = view.next {
            let known = self.times.next.filter(|(round, _)| *round == next.round);
            let is_stable = known.is_none_or(|(_, nonce)| nonce == next.nonce);
            check(is_stable, "I18", || format!("round {} is announced with two nonces", next.round))?;
            if self.times.next.is_none_or(|(round, _)| round < next.round) {
                self.times.next = Some((next.round, next.nonce));
            }
        }
        if !is_current {
            return Ok(());
        }
        let wrong = |what: &str| format!("{member} is shown {what} that the journal does not have: {view:?}");
        check(view.closed == self.closed, "I18", || wrong("a last round"))?;
        let next = self.open.is_none().then_some(self.closed.0 + 1);
        check(view.next.map(|next| next.round.0) == next, "I18", || wrong("a next round"))?;
        let shown = view.open.as_ref().map(|open| (open.round, open.nonce, open.phase, open.answered));
        let known = self.open.as_ref().map(|open| {
            let phase = if open.is_awarded { Phase::Deliveries } else { Phase::Offers };
            (open.round, open.nonce, phase, open.has_answered(member))
        });
        check(shown == known, "I18", || wrong("an open round"))?;
        let decision = view.open.as_ref().and_then(|open| open.decision.as_ref());
        let decision = decision.map(|receipt| read::<ReceiptContent>(receipt.content.get())).transpose()?;
        let decided = self.open.as_ref().filter(|open| open.is_awarded && open.offers.contains_key(member));
        let decided = decided.map(|open| match open.awards.iter().any(|award| award.member == *member) {
            true => ReceiptKind::Won,
            false => ReceiptKind::Lost,
        });
        check(decision.map(|receipt| receipt.kind) == decided, "I18", || wrong("a decision"))
    }

    fn check_snapshot(&self, member: &ClientId, request: &Request, reply: &SyncReply, is_current: bool) -> Verdict {
        let Some(snapshot) = &reply.snapshot else { return Ok(()) };
        let closed = snapshot.closed;
        let statistics = &snapshot.statistics;
        let sums = Sums::of_parts(statistics.gram(), statistics.moment(), statistics.samples());
        let is_settled = closed <= self.closed && sums.is_some() && sums.as_ref() == self.samples.settled_after(closed);
        check(is_settled, "I18", || format!("{member} is told that {sums:?} are settled after round {closed}"))?;
        let own = snapshot.own.as_ref().map(|own| Sums::of_parts(own.gram(), own.moment(), own.samples()));
        let is_own = own.as_ref().map(Option::as_ref) == self.samples.own_after(member, closed).map(Some);
        check(is_own, "I18", || format!("{member} is told that {own:?} are its own after round {closed}"))?;
        let last = self.samples.last_delivery(member, closed);
        check(snapshot.settled == last, "I18", || {
            format!("{member} is told that its last delivery was in {:?}, it was in {last:?}", snapshot.settled)
        })?;
        let Call::Sync(asked) = &request.to else { return Ok(()) };
        if !is_current {
            return Ok(());
        }
        let mut told = Vec::new();
        for receipt in &reply.receipts {
            let content: ReceiptContent = read(receipt.content.get())?;
            told.push((content.context.round, content.kind, content.payment_micros.map(Amount::micros)));
        }
        told.retain(|(round, ..)| *round <= closed);
        let since = asked.waiting.map_or(asked.have, |first| asked.have.min(RoundId(first.0 - 1)));
        let mut known = self.money.told_between(member, asked.have, closed);
        known.extend(self.money.resolved_after(member, since, closed));
        check(told == known, "I18", || format!("{member} has receipts {told:?} for what was {known:?}"))
    }

    /// What was just acknowledged is in the journal, if its round is still open and its member was not revoked since.
    fn check_taken(&self, round: RoundId, member: &ClientId, receipt: &ReceiptContent, kind: ReceiptKind) -> Verdict {
        let is_open = |open: &&Open| open.round == round && self.is_member(member);
        let Some(open) = self.open.as_ref().filter(is_open) else { return Ok(()) };
        let is_taken = open.offers.get(member).is_some_and(|taken| taken.digest == receipt.offer)
            && (kind == ReceiptKind::OfferTaken || open.delivered.contains_key(member));
        check(is_taken && receipt.kind == kind, "I18", || {
            format!("{member} is told {:?} in round {round}, and the journal says otherwise", receipt.kind)
        })
    }
}

fn read<T: DeserializeOwned>(body: &str) -> Verdict<T> {
    serde_json::from_str(body).map_err(unreadable)
}
