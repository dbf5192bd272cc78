//! Taking up where the store ends: the last standing, then the entries after it, handed to the machine again.
//!
//! A round that was open goes on from its last committed step, with the whole time of its phase before it. What the
//! machine decides again is compared with what is recorded: if they differ, the engine does not start.
//!
//! The standing must have the hash that the checkpoint at its entry was signed with, and no member may have come or gone
//! since the last checkpoint: whoever can write to the database can change neither without the coordinator's key. The
//! entries before the standing are not read: for those there is [`crate::ledger::verify`].

use std::collections::BTreeMap;
use std::sync::Arc;

use truthfed::auction::ClientId;
use truthfed::protocol::{Accepted, Coordinator, Input, OpenRound, Request, RoundId, Share, Terms, Time};

use super::ahead::{Ahead, Read, Step};
use super::draft::Draft;
use super::published::{Counts, Members};
use super::state::{Open, State};
use super::{EngineError, Setup};
use crate::digest::{Digest, Nonce};
use crate::error::Refusal;
use crate::journal::{Award, Entry, Head, JournalError};
use crate::ledger::{Checkpoint, Ledger, Pause, StandingBody};
use crate::store::{RequestKey, RequestKind, StandingRow, Store, StoreError};
use crate::wire::{DeliveryContent, Envelope};

impl State {
    /// The state that a store holds; of an empty one, the beginning of a federation as a draft.
    pub(super) fn recover(setup: Setup, store: &mut dyn Store, ahead: &mut Ahead) -> Result<State, EngineError> {
        let terms = setup.agreement.hash();
        let mut state = State {
            machine: beginning(&setup),
            terms,
            moment: Time(0),
            members: Arc::default(),
            open: None,
            draft: Draft::new(Head::START, Ledger::default()),
            counts: Counts::default(),
            checkpoint: None,
            settled: None,
            ground: Arc::new(beginning(&setup).settled().gram().clone()),
            bounds: None,
            next: Nonce::random(),
            latest: Time(0),
            noted: Time(0),
            waiting: BTreeMap::new(),
            paused: None,
            records: None,
            setup,
        };
        state.reload(store, ahead)?;
        Ok(state)
    }

    /// Takes up the state of the store; what was not committed is forgotten.
    pub(super) fn reload(&mut self, store: &mut dyn Store, ahead: &mut Ahead) -> Result<(), EngineError> {
        let end = store.head()?;
        self.check_belongs(store, end)?;
        (self.checkpoint, self.settled) = (None, None);
        (self.open, self.noted) = (None, Time(0));
        let mut head = Head::START;
        let mut ledger = Ledger::default();
        if let Some(row) = store.standing()? {
            head = self.check_standing(&row, store)?;
            let damaged =
                |error: serde_json::Error| StoreError::Damaged(format!("the standing cannot be read: {error}"));
            let body: StandingBody = serde_json::from_str(&row.body).map_err(damaged)?;
            let Setup { agreement, .. } = &self.setup;
            if !body.standing.has_dimension(agreement.dimension()) {
                let problem = "the standing has another dimension than the terms".to_owned();
                return Err(StoreError::Damaged(problem).into());
            }
            ledger = Ledger::after(body.postings, body.standing.shares.values().flat_map(Share::owed));
            self.machine = Coordinator::resume(Terms::clone(agreement), agreement.mechanism(), body.standing);
            self.members = Arc::new(Members::new(body.members));
            self.machine.begin_phase(body.ended);
            (self.latest, self.waiting, self.paused) = (body.ended, body.waiting, body.paused);
        } else {
            self.machine = beginning(&self.setup);
            self.members = Arc::default();
            (self.latest, self.waiting, self.paused) = (Time(0), BTreeMap::new(), None);
        }
        self.look_ahead();
        self.draft = Draft::new(head, ledger);
        let steps = ahead.between((head, end), &self.setup.agreement, store)?;
        self.replay_all(steps, store)?;
        if self.draft.head() != end {
            return Err(JournalError::BrokenChain(end.number).into());
        }
        if self.open.is_some() != self.machine.open().is_some() {
            let problem = "a round is opened without the offer that opens it".to_owned();
            return Err(EngineError::Inconsistent { entry: end.number, problem });
        }
        // What was not committed did not end; what is read again was told before.
        self.records.iter_mut().for_each(Vec::clear);
        let now = self.now();
        if self.open.is_some() {
            self.machine.begin_phase(now.max(self.recorded()));
        }
        if now < self.recorded() {
            let behind_ms = self.recorded().0 - now.0;
            tracing::warn!(behind_ms, "the clock is behind the journal: the time of rounds waits for it");
        }
        if end == Head::START {
            self.begin()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), EngineError> {
        let federation = self.setup.federation;
        let (coordinator, terms) = (self.setup.signer.public(), Box::new(self.setup.agreement.raw().clone()));
        self.draft.record(&Entry::Genesis { federation, coordinator, terms });
        for (member, key, certificate) in std::mem::take(&mut self.setup.members) {
            if let Err(Refusal { message: problem, .. }) = self.check_new(&member, &key, &certificate) {
                return Err(EngineError::Founding { member, problem });
            }
            self.draft.record(&Entry::Enrolled { member: member.clone(), key, certificate });
            self.take_in(member, key, certificate);
        }
        self.vouch(None);
        Ok(())
    }

    /// The end of the journal at which the standing was taken: a signed checkpoint there has its hash.
    fn check_standing(&self, row: &StandingRow, store: &mut dyn Store) -> Result<Head, EngineError> {
        let rows = store.rows(row.entry.saturating_sub(2), 2)?;
        let [before, last] = rows.as_slice() else { return Err(EngineError::Standing(row.entry)) };
        let before = Head { number: before.number, hash: before.hash };
        let mut head = before;
        let entry = head.follow(last)?;
        let hash = Some(Digest::of(row.body.as_bytes()));
        match entry {
            Entry::Checkpoint(it) if it.standing == hash && self.is_own(&it, before) && head.number == row.entry => {
                Ok(head)
            }
            _ => Err(EngineError::Standing(row.entry)),
        }
    }

    /// Whether this coordinator signed that the journal went as far as this.
    fn is_own(&self, checkpoint: &Checkpoint, end: Head) -> bool {
        let Setup { signer, federation, .. } = &self.setup;
        checkpoint.covered() == end && checkpoint.is_signed_by(&signer.public(), *federation)
    }

    /// The committed steps after the standing, again.
    fn replay_all(&mut self, steps: Vec<(Head, Step)>, store: &mut dyn Store) -> Result<(), EngineError> {
        // The last checkpoint covers those before it: only its signature is checked.
        let (mut unsigned, mut vouched) = (None, None);
        for (head, step) in steps {
            let before = self.draft.head();
            self.draft.follow(head, step.entry())?;
            match step.entry() {
                Some(Entry::Checkpoint(checkpoint)) => (unsigned, vouched) = (None, Some((*checkpoint, before))),
                Some(entry) if entry.is_vouched_for() => unsigned = Some(head.number),
                _ => {}
            }
            match step {
                Step::Offered(round, member, read) => self.offer_again(head.number, (round, member), read, store)?,
                Step::Other(entry) => self.replay(head.number, entry, store)?,
            }
        }
        let forged = vouched.filter(|(checkpoint, before)| !self.is_own(checkpoint, *before));
        match forged.map(|(_, before)| before.number + 1).or(unsigned) {
            Some(entry) => {
                let problem = "no signature of this coordinator covers it".to_owned();
                Err(EngineError::Inconsistent { entry, problem })
            }
            None => Ok(()),
        }
    }

    /// The store is of this federation and its terms, and not older than its checkpoint.
    fn check_belongs(&self, store: &mut dyn Store, end: Head) -> Result<(), EngineError> {
        let foreign = |problem: &str| Err(EngineError::Foreign(problem.to_owned()));
        if let Some(first) = store.rows(0, 1)?.first() {
            let Entry::Genesis { federation, coordinator, terms } = first.entry()? else {
                return foreign("its journal does not begin with a genesis");
            };
            if federation != self.setup.federation {
                return foreign("it has another authority");
            }
            if coordinator != self.setup.signer.public() {
                return foreign("its receipts are signed by another key than the server's");
            }
            if *terms != *self.setup.agreement.raw() {
                return foreign("the terms in federation.toml are not those the federation began with");
            }
        }
        let Some(Checkpoint { entry, head, .. }) = self.setup.checkpoint.read()? else { return Ok(()) };
        if entry > end.number {
            return Err(EngineError::CheckpointAhead { head: end.number, checkpoint: entry });
        }
        match store.rows(entry.saturating_sub(1), 1)?.first() {
            Some(row) if row.hash == head => Ok(()),
            _ => foreign("its journal is not the one that the checkpoint vouches for"),
        }
    }

    /// One committed step again.
    fn replay(&mut self, number: u64, entry: Entry, store: &mut dyn Store) -> Result<(), EngineError> {
        let inconsistent = |problem: &str| EngineError::Inconsistent { entry: number, problem: problem.to_owned() };
        match entry {
            Entry::Genesis { .. } if number == 1 => {}
            Entry::Checkpoint(_) => {}
            Entry::Enrolled { member, key, certificate } => self.take_in(member, key, certificate),
            Entry::Revoked { member } => self.take_out(&member, self.latest),
            Entry::Renewed { member, key, certificate, .. } => self.take_over(&member, key, certificate),
            Entry::Opened { round, nonce, at_ms, .. } => {
                if self.open.is_some() || round.0 != self.machine.closed().0 + 1 {
                    return Err(inconsistent("it opens another round than is next"));
                }
                if nonce != self.next {
                    return Err(inconsistent("its nonce is not the one that follows from the last round"));
                }
                self.latest = at_ms;
                self.open = Some(Open::new(nonce));
            }
            Entry::Offered { .. } => unreachable!("an offer is a step of its own"),
            Entry::Declined { round, member } => {
                self.again(number, Input::Request(member.clone(), Request::Decline(round)))?;
                self.answered(number, &RequestKey { member, round, kind: RequestKind::Offer }, store)?;
            }
            Entry::Sealed { at_ms, .. } => self.seal_again(at_ms),
            Entry::Awarded { round, winners, .. } => self.award_again(number, round, &winners, store)?,
            Entry::Delivered { round, member, delivery } => {
                let content: DeliveryContent = read(number, &delivery)?;
                self.again(number, Input::Request(member.clone(), Request::Deliver(round, content.moment)))?;
                self.answered(number, &RequestKey { member, round, kind: RequestKind::Delivery }, store)?;
            }
            Entry::PaidOut { at_ms, .. } => self.noted = at_ms,
            Entry::Paused { reason, at_ms } => {
                (self.noted, self.paused) = (at_ms, Some(Pause { reason, since_ms: at_ms }));
            }
            Entry::Resumed { at_ms } => (self.noted, self.paused) = (at_ms, None),
            Entry::Genesis { .. } | Entry::Settled { .. } | Entry::Aborted { .. } | Entry::Ruled { .. } => {
                return Err(inconsistent("it should be in the standing"));
            }
        }
        Ok(())
    }

    fn offer_again(
        &mut self,
        number: u64,
        (round, member): (RoundId, ClientId),
        read: Option<Read>,
        store: &mut dyn Store,
    ) -> Result<(), EngineError> {
        let unread = || {
            let problem = "its offer cannot be read, or no data gives it".to_owned();
            EngineError::Inconsistent { entry: number, problem }
        };
        let Read { offer, taken } = read.ok_or_else(unread)?;
        self.again(number, Input::Offer(round, offer))?;
        self.answered(number, &RequestKey { member: member.clone(), round, kind: RequestKind::Offer }, store)?;
        self.open_of(number)?.offers.insert(member, taken);
        Ok(())
    }

    fn again(&mut self, number: u64, input: Input) -> Result<(), EngineError> {
        let problem = match self.machine.handle(self.latest, input) {
            Ok(Accepted::New) => return Ok(()),
            Ok(Accepted::Repeated) => "it was taken before".to_owned(),
            Err(rejection) => rejection.to_string(),
        };
        Err(EngineError::Inconsistent { entry: number, problem })
    }

    /// The reply that was given is given again when it is asked for.
    fn answered(&mut self, number: u64, key: &RequestKey, store: &mut dyn Store) -> Result<&str, EngineError> {
        let reply = store.reply(key)?.ok_or_else(|| {
            let RequestKey { member, round, kind } = key;
            StoreError::Damaged(format!("the reply to {member}'s {} in round {round} is missing", kind.name()))
        })?;
        let replies = &mut self.open_of(number)?.replies;
        replies.insert(key.clone(), reply);
        Ok(&replies[key].body)
    }

    /// If not all had answered, time had run out.
    fn seal_again(&mut self, at: Time) {
        if let Some(deadline) = self.machine.open().filter(|open| !open.is_awarded()).map(OpenRound::deadline) {
            self.machine.handle(deadline, Input::Tick).expect("time can always pass");
        }
        self.latest = at;
        self.machine.begin_phase(at);
    }

    fn award_again(
        &mut self,
        number: u64,
        round: RoundId,
        winners: &[Award],
        store: &mut dyn Store,
    ) -> Result<(), EngineError> {
        let open = self.machine.open().filter(|open| open.round() == round);
        if open.and_then(OpenRound::outcome).is_none_or(|outcome| Award::all(outcome) != winners) {
            let problem = "the mechanism decides otherwise on the recorded offers".to_owned();
            return Err(EngineError::Inconsistent { entry: number, problem });
        }
        // It is recorded already.
        while self.machine.poll().is_some() {}
        let mut decisions = BTreeMap::new();
        let offered: Vec<ClientId> = self.open_of(number)?.offers.keys().cloned().collect();
        for member in offered {
            let key = RequestKey { member: member.clone(), round, kind: RequestKind::Decision };
            let body = self.answered(number, &key, store)?;
            let damaged = |error: serde_json::Error| StoreError::Damaged(format!("a receipt cannot be read: {error}"));
            decisions.insert(member, serde_json::from_str::<Envelope>(body).map_err(damaged)?);
        }
        self.open_of(number)?.decisions = Arc::new(decisions);
        Ok(())
    }

    fn open_of(&mut self, number: u64) -> Result<&mut Open, EngineError> {
        let problem = || EngineError::Inconsistent { entry: number, problem: "no round is open".to_owned() };
        self.open.as_mut().ok_or_else(problem)
    }
}

/// With no members, and nothing settled.
fn beginning(Setup { agreement, .. }: &Setup) -> Coordinator {
    Coordinator::new(Terms::clone(agreement), agreement.mechanism(), [])
}

fn read<T: serde::de::DeserializeOwned>(number: u64, envelope: &Envelope) -> Result<T, EngineError> {
    let problem = |error: serde_json::Error| EngineError::Inconsistent { entry: number, problem: error.to_string() };
    serde_json::from_str(envelope.content.get()).map_err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Federation, Memory, Played, Stepwise, id};

    /// Why a store is not taken up that somebody changed after a round, with access to all of it but not to the key.
    fn refused(change: impl FnOnce(&Federation, &mut Memory)) -> EngineError {
        let mut played = Played::new(&["a", "b", "c"]);
        played.full_round();
        let mut store = played.history.last().unwrap().clone();
        change(&played.federation, &mut store);
        Stepwise::start(played.federation.setup(), store).err().expect("it is not taken up")
    }

    fn append(store: &mut Memory, entry: &Entry) {
        let row = store.head().unwrap().append(entry);
        store.rows.push(row);
    }

    /// A checkpoint at the end that somebody else than the coordinator signed.
    fn forge(federation: &Federation, store: &mut Memory, standing: Option<Digest>) {
        let end = store.head().unwrap();
        append(store, &Entry::Checkpoint(Checkpoint::sign(&Federation::key(200), federation.id, end, standing)));
    }

    #[test]
    fn a_member_written_into_the_database_is_not_taken_in_without_the_coordinators_signature() {
        let (member, certificate) = (id("eve"), Federation::certificate(&id("eve")));
        let enrolled = Entry::Enrolled { member, key: Federation::key(200).public(), certificate };
        let unsigned = refused(|_, store| append(store, &enrolled));
        let forged = refused(|federation, store| {
            append(store, &enrolled);
            forge(federation, store, None);
        });
        for error in [unsigned, forged] {
            assert!(error.to_string().contains("no signature of this coordinator covers it"), "{error}");
        }
    }

    #[test]
    fn a_standing_that_another_key_vouches_for_is_not_taken_up() {
        let error = refused(|federation, store| {
            let standing = store.standing.as_mut().unwrap();
            standing.body = standing.body.replacen("\"samples\":", "\"samples\":1", 1);
            let hash = Digest::of(standing.body.as_bytes());
            store.rows.pop();
            forge(federation, store, Some(hash));
        });
        assert!(matches!(error, EngineError::Standing(_)), "{error}");
    }
}
