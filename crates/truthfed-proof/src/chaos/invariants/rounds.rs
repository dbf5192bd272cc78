//! I8: each member answers a round once, delivers once, and nothing counts but what was signed for this very round. I5:
//! those are paid who delivered. I14: rounds follow one another. I24: none opens while the operator has paused them.

use std::collections::{BTreeMap, BTreeSet};

use truthfed::auction::ClientId;
use truthfed::generate::Stream;
use truthfed::protocol::{Judgement, RoundId, Time};
use truthfed_node::digest::{Digest, Nonce, PublicKey, Signature};
use truthfed_node::identity::Renewal;
use truthfed_node::journal::Award;
use truthfed_node::ledger::aggregate_digest;
use truthfed_node::wire::{
    Call, Context, DELIVERY_SCHEMA, DeliveryContent, Envelope, OFFER_SCHEMA, OfferContent, commitment,
};

use super::{Observer, unreadable};
use crate::chaos::{Sums, Verdict, breach, check};

pub(super) struct Open {
    pub(super) round: RoundId,
    pub(super) nonce: Nonce,
    pub(super) offers: BTreeMap<ClientId, Taken>,
    declined: BTreeSet<ClientId>,
    is_sealed: bool,
    pub(super) awards: Vec<Award>,
    pub(super) is_awarded: bool,
    pub(super) delivered: BTreeMap<ClientId, Sums>,
    /// Winners that may not deliver any more.
    revoked: BTreeSet<ClientId>,
}

pub(super) struct Taken {
    pub(super) digest: Digest,
    pub(super) content: OfferContent,
}

impl Open {
    pub(super) fn has_answered(&self, member: &ClientId) -> bool {
        self.offers.contains_key(member) || self.declined.contains(member)
    }

    fn waits_for_delivery(&self, member: &ClientId) -> bool {
        let is_winner = self.awards.iter().any(|award| award.member == *member);
        is_winner && !self.delivered.contains_key(member) && !self.revoked.contains(member)
    }
}

impl Observer {
    /// Whether a request can change nothing, since it is late, early, or was taken before.
    pub(crate) fn is_harmless(&self, member: &ClientId, call: &Call) -> bool {
        let open = |round| self.open.as_ref().filter(|open| open.round == round);
        match call {
            // It may open a round.
            Call::Offer(round, _) if self.open.is_none() => round.0 != self.closed.0 + 1,
            Call::Offer(round, _) | Call::Decline(round) => {
                open(*round).is_none_or(|open| open.is_sealed || open.has_answered(member))
            }
            Call::Deliver(round, _) => open(*round).is_none_or(|open| !open.waits_for_delivery(member)),
            _ => true,
        }
    }

    fn open_of(&mut self, round: RoundId) -> Verdict<&mut Open> {
        match &mut self.open {
            Some(open) if open.round == round => Ok(open),
            _ => breach("I8", format!("an entry for round {round}, which is not open")),
        }
    }

    /// Only the key before says which key follows.
    pub(super) fn renewed(&mut self, member: &ClientId, key: PublicKey, signature: &Signature) -> Verdict {
        let renewal = Renewal { federation: self.federation, member: member.clone(), key };
        let is_own = renewal.is_signed_by(&self.key_of(member)?, signature);
        check(is_own, "I8", || format!("{member} did not renew its key itself"))?;
        self.members.get_mut(member).expect("it was looked up").key = key;
        Ok(())
    }

    pub(super) fn revoked(&mut self, member: &ClientId) -> Verdict {
        self.key_of(member)?;
        self.members.get_mut(member).expect("it was looked up").is_revoked = true;
        if let Some(open) = &mut self.open {
            if open.is_awarded && open.waits_for_delivery(member) {
                open.revoked.insert(member.clone());
            } else if !open.is_sealed {
                open.offers.remove(member);
                open.declined.remove(member);
            }
        }
        Ok(())
    }

    /// Whether everybody has answered who may take part in the open round.
    fn all_answered(&self) -> bool {
        let awaited =
            self.members.iter().filter(|(name, known)| !known.is_revoked && !self.shares.barred.contains(*name));
        let has_answered = |name| self.open.as_ref().is_some_and(|open| open.has_answered(name));
        awaited.map(|(name, _)| name).all(has_answered)
    }

    /// A pause begins or ends: each once.
    pub(super) fn paused(&mut self, is_paused: bool, at: Time) -> Verdict {
        let before = std::mem::replace(&mut self.is_paused, is_paused);
        check(before != is_paused, "I24", || format!("rounds are paused twice, or resumed twice: {is_paused}"))?;
        self.check_noted_at(at)
    }

    pub(super) fn opened(&mut self, round: RoundId, nonce: Nonce, asked_by: &ClientId, at: Time) -> Verdict {
        self.key_of(asked_by)?;
        check(!self.is_paused, "I24", || format!("round {round} opens while rounds are paused"))?;
        check(self.open.is_none(), "I14", || format!("round {round} opens while another is open"))?;
        check(round.0 == self.closed.0 + 1, "I14", || format!("round {round} follows round {}", self.closed))?;
        self.open = Some(Open {
            round,
            nonce,
            offers: BTreeMap::new(),
            declined: BTreeSet::new(),
            is_sealed: false,
            awards: Vec::new(),
            is_awarded: false,
            delivered: BTreeMap::new(),
            revoked: BTreeSet::new(),
        });
        self.note_opening(at);
        self.check_beginning(round, nonce, at)?;
        self.check_affordable(round, at)?;
        self.check_opened(round, asked_by, at)
    }

    pub(super) fn offered(&mut self, round: RoundId, member: &ClientId, offer: &Envelope) -> Verdict {
        let content: OfferContent = serde_json::from_str(offer.content.get()).map_err(unreadable)?;
        self.check_signed(round, member, &content.context, offer, OFFER_SCHEMA)?;
        self.check_opener(round, Some((member, &content)))?;
        self.check_quota(round, member, content.samples)?;
        let open = self.open_of(round)?;
        check(!open.is_sealed, "I8", || format!("{member} offers after round {round} was sealed"))?;
        check(!open.has_answered(member), "I8", || format!("{member} answers round {round} twice"))?;
        open.offers.insert(member.clone(), Taken { digest: offer.digest(), content });
        Ok(())
    }

    pub(super) fn declined(&mut self, round: RoundId, member: &ClientId) -> Verdict {
        self.key_of(member)?;
        self.check_opener(round, None)?;
        let open = self.open_of(round)?;
        check(!open.is_sealed, "I8", || format!("{member} declines after round {round} was sealed"))?;
        check(!open.has_answered(member), "I8", || format!("{member} answers round {round} twice"))?;
        open.declined.insert(member.clone());
        Ok(())
    }

    /// A content counts where it was signed for, and nowhere else.
    fn check_signed(
        &self,
        round: RoundId,
        member: &ClientId,
        context: &Context,
        envelope: &Envelope,
        schema: &str,
    ) -> Verdict {
        let key = self.key_of(member)?;
        let nonce = self.open.as_ref().map(|open| open.nonce);
        let is_here = (context.federation, context.round, context.terms)
            == (self.federation, round, self.agreement.hash())
            && context.member == *member
            && Some(context.nonce) == nonce;
        check(is_here, "I8", || format!("what {member} signed for {context:?} counts in round {round}"))?;
        check(envelope.is_signed_by(&key, schema), "I8", || format!("{member} did not sign what counts as its own"))
    }

    pub(super) fn sealed(&mut self, round: RoundId, at: Time) -> Verdict {
        self.check_opener(round, None)?;
        self.check_phase(round, at, self.all_answered(), self.agreement.raw().offers_ms)?;
        let open = self.open_of(round)?;
        check(!open.is_sealed, "I8", || format!("round {round} is sealed twice"))?;
        open.is_sealed = true;
        Ok(())
    }

    pub(super) fn awarded(&mut self, number: u64, round: RoundId, awards: Vec<Award>, dice: &mut Stream) -> Verdict {
        let open = self.open_of(round)?;
        check(open.is_sealed && !open.is_awarded, "I8", || format!("round {round} is awarded out of turn"))?;
        self.check_award(round, &awards, dice)?;
        self.count_award(round, &awards)?;
        self.money.awarded(number, round, &awards)?;
        let open = self.open_of(round)?;
        (open.awards, open.is_awarded) = (awards, true);
        Ok(())
    }

    pub(super) fn delivered(&mut self, round: RoundId, member: &ClientId, delivery: &Envelope) -> Verdict {
        let content: DeliveryContent = serde_json::from_str(delivery.content.get()).map_err(unreadable)?;
        self.check_signed(round, member, &content.context, delivery, DELIVERY_SCHEMA)?;
        let open = self.open_of(round)?;
        check(open.waits_for_delivery(member), "I8", || format!("{member} delivers out of turn in round {round}"))?;
        let taken = &open.offers[member];
        let is_offered =
            content.offer == taken.digest && commitment(content.salt, &content.moment) == taken.content.commitment;
        check(is_offered, "I7", || format!("{member} delivers in round {round} what it did not offer"))?;
        let Some(sums) = Sums::of_parts(&taken.content.gram, &content.moment, taken.content.samples) else {
            return breach("I7", format!("no samples give what {member} delivers in round {round}"));
        };
        open.delivered.insert(member.clone(), sums);
        Ok(())
    }

    pub(super) fn settled(
        &mut self,
        number: u64,
        round: RoundId,
        ([paid, waiting, defaulted], judgement): ([&[ClientId]; 3], &Judgement),
        aggregate: Digest,
        at: Time,
    ) -> Verdict {
        let open = self.open_of(round)?;
        let all_heard = !open.awards.iter().any(|award| open.waits_for_delivery(&award.member));
        self.check_phase(round, at, all_heard, self.agreement.raw().deliveries_ms)?;
        self.count_end(round, defaulted, at);
        let open = self.open.take().expect("it is open");
        check(open.is_awarded, "I5", || format!("round {round} is settled before it is awarded"))?;
        let (delivered, missing): (Vec<_>, Vec<_>) =
            open.awards.iter().map(|award| &award.member).partition(|member| open.delivered.contains_key(*member));
        let owed: BTreeSet<&ClientId> = paid.iter().chain(waiting).collect();
        let is_right =
            owed.len() == paid.len() + waiting.len() && owed.into_iter().eq(delivered) && defaulted.iter().eq(missing);
        check(is_right, "I5", || format!("round {round} pays {paid:?}, lets {waiting:?} wait, not {defaulted:?}"))?;
        self.note_award();
        self.money.settled(number, round, open.delivered.keys(), waiting)?;
        self.take_in(round, &open.delivered, (paid, &judgement.released))?;
        self.judged(number, round, judgement)?;
        self.check_inventors(round, paid, judgement)?;
        self.samples.closed(round);
        let expected = aggregate_digest(&self.samples.settled_now().statistics());
        check(aggregate == expected, "I7", || format!("round {round} settles other sums than were delivered"))?;
        self.closed = round;
        self.settled += 1;
        self.check_possible(round)
    }

    /// The operator may end a round as long as it takes offers; otherwise no auction was possible when the offers ended.
    pub(super) fn aborted(&mut self, round: RoundId, at: Time, by_operator: bool) -> Verdict {
        self.check_opener(round, None)?;
        self.check_phase(round, at, by_operator || self.all_answered(), self.agreement.raw().offers_ms)?;
        self.count_end(round, &[], at);
        let open = self.open_of(round)?;
        check(!open.is_sealed, "I5", || format!("round {round} is aborted after it was sealed"))?;
        if !by_operator {
            self.check_aborted(round)?;
        }
        self.open = None;
        self.samples.closed(round);
        self.closed = round;
        self.aborted += 1;
        Ok(())
    }
}
