//! I21: what contradicts others' data is neither shared nor paid for while it does. Nothing is paid for early, unless others' data
//! has confirmed it; and what the operator rules is done. Whether data contradicts other data, the verifier decides again.
//! I23: who invents data is paid for at most one delivery of it, unless the operator believes it.

use std::collections::BTreeMap;

use truthfed::auction::ClientId;
use truthfed::protocol::{Judgement, QualityRule, RoundId, Ruling, Time};
use truthfed_node::digest::Digest;
use truthfed_node::ledger::aggregate_digest;

use super::Observer;
use super::samples::Samples;
use crate::chaos::{Sums, Verdict, breach, check};

/// What a member delivered, by what became of it.
#[derive(Default)]
pub(crate) struct Parts {
    confirmed: Option<Sums>,
    open: Option<Sums>,
    held: Option<Sums>,
    void: Option<Sums>,
}

/// A member that sells data that it invented.
pub(crate) struct Invented {
    /// Once it has delivered so many samples, all that it delivers is invented.
    pub(crate) after: u64,
    /// For how many deliveries of nothing else it was paid.
    pub(crate) payments: u64,
}

impl Parts {
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    pub(super) fn open_samples(&self) -> i64 {
        self.open.as_ref().map_or(0, |part| part.samples)
    }

    pub(super) fn settled(&self) -> impl Iterator<Item = &Sums> {
        self.confirmed.iter().chain(&self.open)
    }

    pub(super) fn own(&self) -> Option<Sums> {
        let mut own = None;
        self.held.iter().chain(&self.void).for_each(|part| put(&mut own, part));
        own
    }

    pub(super) fn taken(&self) -> i64 {
        self.settled().chain(&self.held).map(|part| part.samples).sum()
    }

    /// Too much that is void is not kept.
    pub(super) fn keep_within(&mut self, capacity: i64) {
        let taken = self.taken();
        self.void.take_if(|void| void.samples + taken > capacity);
    }
}

/// Adds one part to another.
fn put(place: &mut Option<Sums>, part: &Sums) {
    match place {
        Some(there) => there.add(part, 1),
        None => *place = Some(part.clone()),
    }
}

/// Moves a part to another place.
fn move_to(from: &mut Option<Sums>, to: &mut Option<Sums>) {
    from.take().iter().for_each(|part| put(to, part));
}

impl Observer {
    /// What was delivered in a round: settled, or held with what is held already.
    pub(super) fn take_in(
        &mut self,
        round: RoundId,
        delivered: &BTreeMap<ClientId, Sums>,
        (paid, released): (&[ClientId], &[ClientId]),
    ) -> Verdict {
        let holds = self.agreement.raw().quality.rule == QualityRule::Hold;
        self.samples.believed.push((round, delivered.keys().cloned().collect()));
        for (member, sums) in delivered {
            self.samples.took(round, member, sums);
            let is_paid = paid.contains(member);
            let parts = self.samples.parts.entry(member.clone()).or_default();
            match (&parts.held, holds) {
                (_, false) => put(&mut parts.confirmed, sums),
                (None, true) => put(&mut parts.open, sums),
                (Some(_), true) => put(&mut parts.held, sums),
            }
            check(is_paid || holds, "I21", || format!("the payment of {member} waits, and nothing is ever held"))?;
            if is_paid {
                // What is held and released in the same round is paid with it.
                let is_held = parts.held.is_some() && !released.contains(member);
                check(!is_held, "I21", || format!("{member} is paid in round {round} while its data is held"))?;
                move_to(&mut parts.open, &mut parts.confirmed);
            }
        }
        Ok(())
    }

    /// What the end of a round, or the operator, decided about what was in doubt.
    pub(super) fn judged(&mut self, entry: u64, round: RoundId, judgement: &Judgement) -> Verdict {
        let Judgement { paid, void, confirmed, held, released, voided } = judgement;
        let parts = &mut self.samples.parts;
        for (members, step) in [(held, hold as Step), (released, release), (confirmed, confirm), (voided, make_void)] {
            for member in members {
                let was_there = parts.get_mut(member).is_some_and(step);
                check(was_there, "I21", || format!("round {round} decides about data of {member} that is not there"))?;
            }
        }
        let Samples { parts, believed, .. } = &mut self.samples;
        for (_, members) in believed.iter_mut().filter(|(last, _)| *last == round) {
            members.retain(|member| parts.get(member).is_some_and(|parts| parts.held.is_none()));
        }
        for (payments, is_paid) in [(paid, true), (void, false)] {
            for payment in payments {
                self.money.resolved(entry, round, payment, is_paid)?;
                let member = &payment.member;
                let parts = self.samples.parts.get(member);
                let is_held = parts.is_some_and(|parts| parts.held.is_some());
                check(!is_held, "I21", || format!("round {round} decides {payment:?} while its data is held"))?;
                let is_open = parts.is_some_and(|parts| parts.open.is_some());
                let others =
                    self.samples.believed.iter().filter(|(since, members)| {
                        *since > payment.round && members.iter().any(|other| other != member)
                    });
                let is_due = others.count() as u64 >= self.agreement.raw().quality.rounds;
                check(!is_paid || !is_open || is_due, "I21", || format!("round {round} makes {payment:?} too soon"))?;
            }
        }
        Ok(())
    }

    /// What a round pays for, of earlier rounds too.
    pub(super) fn check_inventors(&mut self, round: RoundId, paid: &[ClientId], judgement: &Judgement) -> Verdict {
        let now = paid.iter().map(|member| (member, round));
        for (member, sold) in now.chain(judgement.paid.iter().map(|payment| (&payment.member, payment.round))) {
            let Some(invented) = self.invented.get_mut(member) else { continue };
            invented.payments += u64::from(self.samples.delivered_before(member, sold) >= invented.after);
            let is_first = invented.payments <= 1;
            check(is_first, "I23", || format!("round {round} pays {member} again for data that it invented"))?;
        }
        Ok(())
    }

    pub(super) fn ruled(
        &mut self,
        entry: u64,
        round: RoundId,
        (member, ruling, judgement): (&ClientId, Ruling, &Judgement),
        aggregate: Digest,
        at: Time,
    ) -> Verdict {
        check(self.open.is_none(), "I14", || format!("the operator rules as round {round} while another is open"))?;
        check(round.0 == self.closed.0 + 1, "I14", || format!("ruling {round} follows round {}", self.closed))?;
        self.check_noted_at(at)?;
        self.count_end(round, &[], at);
        let is_member = self.is_member(member);
        let Some(parts) = self.samples.parts.get_mut(member) else {
            return breach("I21", format!("the operator rules about {member}, which delivered nothing"));
        };
        match ruling {
            Ruling::Release => {
                move_to(&mut parts.open, &mut parts.held);
                self.invented.remove(member);
            }
            Ruling::Void => move_to(&mut parts.open, &mut parts.held),
            Ruling::Forget => {
                check(!is_member, "I21", || format!("{member} is forgotten, and a member"))?;
                self.samples.parts.remove(member);
            }
        }
        self.judged(entry, round, judgement)?;
        self.samples.closed(round);
        let expected = aggregate_digest(&self.samples.settled_now().statistics());
        check(aggregate == expected, "I7", || format!("ruling {round} leaves other sums than it should"))?;
        self.closed = round;
        Ok(())
    }
}

/// Moves the data of a member; false if there was none to move.
type Step = fn(&mut Parts) -> bool;

fn confirm(parts: &mut Parts) -> bool {
    let was_there = parts.open.is_some();
    move_to(&mut parts.open, &mut parts.confirmed);
    was_there
}

fn hold(parts: &mut Parts) -> bool {
    let was_there = parts.open.is_some();
    move_to(&mut parts.open, &mut parts.held);
    was_there
}

fn release(parts: &mut Parts) -> bool {
    let was_there = parts.held.is_some();
    move_to(&mut parts.held, &mut parts.open);
    was_there
}

fn make_void(parts: &mut Parts) -> bool {
    let was_there = parts.held.is_some();
    move_to(&mut parts.held, &mut parts.void);
    was_there
}
