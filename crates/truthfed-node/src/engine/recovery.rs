//! Taking up where the store ends: the last standing, then the entries after it, handed to the machine again.
//!
//! A round that was open goes on from its last committed step, with the whole time of its phase before it. What the
//! machine decides again is compared with what is recorded: if they differ, the engine does not start.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;
use truthfed::protocol::{Accepted, Coordinator, Input, OpenRound, Request, RoundId, Standing, Terms, Time};

use super::draft::Draft;
use super::published::{Counts, MemberInfo, Members};
use super::state::{Open, State, Taken};
use super::{EngineError, Setup};
use crate::journal::{Award, Entry, Head, JournalError};
use crate::ledger::{Checkpoint, Ledger};
use crate::store::{RequestKey, RequestKind, Store, StoreError};
use crate::wire::{DeliveryContent, Envelope, OfferContent};

/// Rows read at once.
const CHUNK: usize = 1024;

/// What is kept after a round ended: all that is needed to go on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StandingBody {
    pub(super) standing: Standing,
    pub(super) members: BTreeMap<ClientId, MemberInfo>,
    pub(super) postings: u64,
}

/// Reads the checkpoint beside a store, if it is there. Fails when it cannot be read.
pub fn read_checkpoint(path: &Path) -> Result<Option<Checkpoint>, EngineError> {
    let fail = |problem: String| EngineError::Checkpoint { path: path.display().to_string(), problem };
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fail(error.to_string())),
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| fail(error.to_string())),
    }
}

/// Keeps the last signed checkpoint outside of the store: an older store is found out by it.
pub trait Witness: Send + Sync {
    /// The last one that was written, if any. Fails when it cannot be read.
    fn read(&self) -> Result<Option<Checkpoint>, EngineError>;

    /// Replaces it: the whole of it, or nothing. Fails when it cannot be written.
    fn write(&self, checkpoint: &Checkpoint) -> Result<(), EngineError>;
}

impl Witness for PathBuf {
    fn read(&self) -> Result<Option<Checkpoint>, EngineError> {
        read_checkpoint(self)
    }

    fn write(&self, checkpoint: &Checkpoint) -> Result<(), EngineError> {
        let text = serde_json::to_string_pretty(checkpoint).expect("a checkpoint is JSON");
        let beside = self.with_extension("new");
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::File::create(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, self)
        };
        write()
            .map_err(|error| EngineError::Checkpoint { path: self.display().to_string(), problem: error.to_string() })
    }
}

impl State {
    /// The state that a store holds; of an empty one, the beginning of a federation as a draft.
    pub(super) fn recover(setup: Setup, store: &mut dyn Store) -> Result<State, EngineError> {
        let terms = setup.agreement.hash();
        let mut state = State {
            machine: beginning(&setup),
            terms,
            moment: Time(0),
            members: Arc::default(),
            open: None,
            draft: Draft::new(Head::START, Ledger::after(0)),
            counts: Counts::default(),
            checkpoint: None,
            settled: None,
            setup,
        };
        state.reload(store)?;
        Ok(state)
    }

    /// Takes up the state of the store; what was not committed is forgotten.
    pub(super) fn reload(&mut self, store: &mut dyn Store) -> Result<(), EngineError> {
        let end = store.head()?;
        self.check_belongs(store, end)?;
        (self.checkpoint, self.settled) = (None, None);
        self.open = None;
        let mut head = Head::START;
        let mut ledger = Ledger::after(0);
        if let Some(row) = store.standing()? {
            let damaged =
                |error: serde_json::Error| StoreError::Damaged(format!("the standing cannot be read: {error}"));
            let body: StandingBody = serde_json::from_str(&row.body).map_err(damaged)?;
            let Setup { agreement, .. } = &self.setup;
            self.machine = Coordinator::resume(Terms::clone(agreement), agreement.mechanism(), body.standing);
            self.members = Arc::new(Members::new(body.members));
            ledger = Ledger::after(body.postings);
            let last = store.rows(row.entry - 1, 1)?;
            let last = last.first().ok_or(JournalError::BrokenChain(row.entry))?;
            head = Head { number: last.number, hash: last.hash };
        } else {
            self.machine = beginning(&self.setup);
            self.members = Arc::default();
        }
        self.draft = Draft::new(head, ledger);
        loop {
            let rows = store.rows(self.draft.head().number, CHUNK)?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                let entry = self.draft.follow(&row)?;
                self.replay(row.number, entry, store)?;
            }
        }
        if self.draft.head() != end {
            return Err(JournalError::BrokenChain(end.number).into());
        }
        self.machine.grant_time(self.now());
        if end == Head::START {
            self.begin();
        }
        Ok(())
    }

    fn begin(&mut self) {
        let federation = self.setup.federation;
        let (coordinator, terms) = (self.setup.signer.public(), self.setup.agreement.raw().clone());
        self.draft.record(&Entry::Genesis { federation, coordinator, terms });
        for (member, key, certificate) in std::mem::take(&mut self.setup.members) {
            self.draft.record(&Entry::Enrolled { member: member.clone(), key, certificate });
            self.take_in(member, key, certificate);
        }
        self.vouch();
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
            if terms != *self.setup.agreement.raw() {
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
            Entry::Checkpoint { .. } => {}
            Entry::Enrolled { member, key, certificate } => self.take_in(member, key, certificate),
            Entry::Revoked { member } => self.take_out(&member, Time(0)),
            Entry::Opened { round, nonce, asked_by } => {
                self.again(number, &asked_by, Request::Ask)?;
                if self.machine.open().map(OpenRound::round) != Some(round) {
                    return Err(inconsistent("it opens another round than is next"));
                }
                self.open = Some(Open::new(nonce));
            }
            Entry::Offered { round, member, offer } => {
                let content: OfferContent = read(number, &offer)?;
                let commitment = content.commitment;
                self.again(number, &member, content.into_request(round))?;
                self.answered(number, &RequestKey { member: member.clone(), round, kind: RequestKind::Offer }, store)?;
                self.open_of(number)?.offers.insert(member, Taken { digest: offer.digest(), commitment });
            }
            Entry::Declined { round, member } => {
                self.again(number, &member, Request::Decline(round))?;
                self.answered(number, &RequestKey { member, round, kind: RequestKind::Offer }, store)?;
            }
            Entry::Sealed { .. } => self.seal_again(),
            Entry::Awarded { round, winners, .. } => self.award_again(number, round, &winners, store)?,
            Entry::Delivered { round, member, delivery } => {
                let content: DeliveryContent = read(number, &delivery)?;
                self.again(number, &member, Request::Deliver(round, content.moment))?;
                self.answered(number, &RequestKey { member, round, kind: RequestKind::Delivery }, store)?;
            }
            Entry::Genesis { .. } | Entry::Settled { .. } | Entry::Aborted { .. } => {
                return Err(inconsistent("it should be in the standing"));
            }
        }
        Ok(())
    }

    fn again(&mut self, number: u64, member: &ClientId, request: Request) -> Result<(), EngineError> {
        let problem = match self.machine.handle(Time(0), Input::Request(member.clone(), request)) {
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
    fn seal_again(&mut self) {
        if let Some(deadline) = self.machine.open().filter(|open| !open.is_awarded()).map(OpenRound::deadline) {
            self.machine.handle(deadline, Input::Tick).expect("time can always pass");
        }
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
