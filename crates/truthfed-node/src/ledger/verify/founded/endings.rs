//! How rounds end: what is settled, what the operator rules between rounds, and what members are told about it.

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{Ending, Judgement, Payment, RoundId, Ruling, Time};

use super::{Auctioned, Founded};
use crate::digest::Digest;
use crate::ledger::verify::place::Place;
use crate::ledger::verify::{Fault, Verdict};
use crate::ledger::vouch::{Waiting, aggregate_digest};
use crate::store::RequestKind;
use crate::wire::ReceiptKind;

impl Founded {
    pub(in crate::ledger::verify) fn settled(
        &mut self,
        place: Place<'_>,
        round: RoundId,
        found: [&[ClientId]; 3],
        judgement: &Judgement,
        (aggregate, at): (Digest, Time),
    ) -> Verdict {
        if !self.opened(place, round, "a settlement")?.is_sealed {
            return place.problem(Fault::OutOfTurn, "the award first", "a settlement");
        }
        let record = self.ending(place, at)?;
        let Some(Ending::Settled { spec, outcome, paid, waiting, defaulted, judgement: expected, .. }) =
            record.map(|record| record.ending)
        else {
            return place.problem(Fault::Ending, "no settlement", "a settlement");
        };
        let names = |payments: Vec<(ClientId, Amount)>| payments.into_iter().map(|(member, _)| member).collect();
        let (paid, waiting): (Vec<ClientId>, Vec<ClientId>) = (names(paid), names(waiting));
        let whats = ["paid", "waiting", "defaulted"];
        for ((expected, found), what) in [&paid, &waiting, &defaulted].into_iter().zip(found).zip(whats) {
            if expected != found {
                let differs =
                    expected.iter().chain(found).find(|member| expected.contains(member) != found.contains(member));
                let place = Place { member: differs, ..place };
                let names = |members: &[ClientId]| {
                    let names: Vec<&str> = members.iter().map(ClientId::as_str).collect();
                    format!("{what}: {}", if names.is_empty() { "nobody".to_owned() } else { names.join(", ") })
                };
                return place.problem(Fault::Settlement, names(expected), names(found));
            }
        }
        self.check_judgement(place, &expected, judgement)?;
        place.check(Fault::Aggregate, aggregate_digest(self.machine.settled()), aggregate)?;
        let nonce = self.opened(place, round, "a settlement")?.nonce;
        for winner in outcome.winners() {
            let is_paid = paid.contains(&winner.client);
            let kind = match is_paid {
                true => ReceiptKind::Paid,
                false if waiting.contains(&winner.client) => ReceiptKind::Waiting,
                false => ReceiptKind::Voided,
            };
            let offer = self.open.as_ref().and_then(|open| open.offers.get(&winner.client)).map(|taken| taken.digest);
            let offer = offer.expect("whoever wins has offered");
            self.tell(&winner.client, kind, offer, (None, is_paid.then_some(winner.payment)));
            if kind == ReceiptKind::Waiting {
                self.waiting.entry(winner.client.clone()).or_default().insert(round, Waiting { nonce, offer });
            }
        }
        self.tell_resolved(judgement);
        self.open = None;
        self.auctioned = Some(Auctioned { round, mechanism: self.mechanism.clone(), spec, outcome: *outcome });
        Ok(())
    }

    pub(in crate::ledger::verify) fn ruled(
        &mut self,
        place: Place<'_>,
        round: RoundId,
        (member, ruling): (&ClientId, Ruling),
        judgement: &Judgement,
        (aggregate, at): (Digest, Time),
    ) -> Verdict {
        let place = place.of(member);
        if let Some(open) = &self.open {
            let expected = format!("the end of round {}", open.round);
            return place.problem(Fault::OutOfTurn, expected, "a ruling about data");
        }
        self.pass(place, at)?;
        place.check(Fault::Round, RoundId(self.machine.closed().0 + 1), round)?;
        let expected = match self.machine.rule(at, member, ruling) {
            Ok(expected) => expected,
            Err(error) => return place.problem(Fault::Refused, "what can be decided", error),
        };
        self.drain();
        self.check_judgement(place, &expected, judgement)?;
        place.check(Fault::Aggregate, aggregate_digest(self.machine.settled()), aggregate)?;
        self.tell_resolved(judgement);
        Ok(())
    }

    fn check_judgement(&self, place: Place<'_>, expected: &Judgement, found: &Judgement) -> Verdict {
        let words = |judgement: &Judgement| serde_json::to_string(judgement).expect("a judgement is JSON");
        place.check(Fault::Judgement, words(expected), words(found))
    }

    /// That members whose payments had to wait were told how they ended.
    fn tell_resolved(&mut self, judgement: &Judgement) {
        let paid = judgement.paid.iter().map(|payment| (payment, ReceiptKind::Paid));
        let void = judgement.void.iter().map(|payment| (payment, ReceiptKind::Forfeited));
        for (Payment { member, round, amount }, kind) in paid.chain(void) {
            let rounds = self.waiting.get_mut(member).expect("the protocol decides about what waits");
            let waiting = rounds.remove(round).expect("the protocol decides about what waits");
            if rounds.is_empty() {
                self.waiting.remove(member);
            }
            let payment = Some(*amount).filter(|_| kind == ReceiptKind::Paid);
            self.tell_about((member, *round), waiting, (kind, RequestKind::Resolution), waiting.offer, (None, payment));
        }
    }

    pub(in crate::ledger::verify) fn aborted(
        &mut self,
        place: Place<'_>,
        round: RoundId,
        (reason, at): (&str, Time),
        by_operator: bool,
    ) -> Verdict {
        if self.opened(place, round, "an end")?.is_sealed {
            return place.problem(Fault::Ending, "a settlement", format!("aborted: {reason}"));
        }
        if by_operator {
            return self.aborted_by_operator(place, round, (reason, at));
        }
        match self.ending(place, at)?.map(|record| record.ending) {
            Some(Ending::NoOffers | Ending::Invalid(_) | Ending::Refused(_)) => {
                self.open = None;
                Ok(())
            }
            Some(Ending::Settled { .. } | Ending::Aborted(_)) | None => {
                place.problem(Fault::Ending, "an auction among the offers", format!("aborted: {reason}"))
            }
        }
    }

    /// The operator may end a round for as long as it takes offers, whatever was offered.
    fn aborted_by_operator(&mut self, place: Place<'_>, round: RoundId, (reason, at): (&str, Time)) -> Verdict {
        if self.due().is_some() {
            return place.problem(Fault::Ending, "an auction among the offers", format!("aborted: {reason}"));
        }
        self.pass(place, at)?;
        if let Err(error) = self.machine.abort(at, round, reason.to_owned()) {
            return place.problem(Fault::Refused, "a round that can be aborted", error);
        }
        // That it ended is what is recorded here.
        while self.machine.poll().is_some() {}
        self.open = None;
        Ok(())
    }
}
