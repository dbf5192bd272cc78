//! The engine on a real store: whole rounds, repeats, restarts and failing commits.

use std::path::Path;

use tempfile::TempDir;
use truthfed::Amount;
use truthfed::bandit::RawConfig;
use truthfed::protocol::{RoundId, Since, Trigger};
use truthfed::statistics::Gram;

use super::*;
use crate::digest::Nonce;
use crate::error::{Code, Refusal};
use crate::journal::Row;
use crate::ledger::Posting;
use crate::store::{Batch, Lease, RequestKey, RequestKind, Sqlite, StandingRow, Store, StoredReply};
use crate::terms::{CoverageSetting, MechanismSetting, TermsDocument};
use crate::wire::{
    AskReply, Call, Context, DELIVERY_SCHEMA, DeliveryContent, Envelope, OFFER_SCHEMA, OfferContent, ReceiptContent,
    ReceiptKind, ReceiptReply, Seen, SyncReply, SyncRequest, commitment,
};

const FEDERATION: Digest = crate::digest::Hex([7; 32]);
const SALT: Nonce = crate::digest::Hex([5; 16]);
const NAMES: [&str; 3] = ["ann", "bob", "cyd"];

fn agreement() -> Agreement {
    let bandit = RawConfig { dimension: 1, ..RawConfig::default() };
    let document = TermsDocument {
        bandit,
        trigger: Trigger { since: Since::Round, threshold: 1.0 },
        coverage: CoverageSetting::Ratio(0.5),
        reserve_micros: Amount::from_units(100),
        norm: 1.0,
        reward: 1.0,
        samples: 1000,
        offers_ms: 60_000,
        deliveries_ms: 60_000,
        mechanism: MechanismSetting::default(),
    };
    Agreement::try_from(document).unwrap()
}

/// A key that is the same in every run of a test.
fn signer(number: u8) -> Signer {
    Signer::from_seed([number; 32])
}

fn member(number: usize) -> (ClientId, Signer, Digest) {
    let certificate = Digest::of(NAMES[number].as_bytes());
    (NAMES[number].parse().unwrap(), signer(number as u8 + 1), certificate)
}

fn setup(folder: &Path) -> Setup {
    let members = (0..NAMES.len()).map(member).map(|(name, signer, certificate)| (name, signer.public(), certificate));
    Setup {
        federation: FEDERATION,
        agreement: agreement(),
        signer: signer(0),
        members: members.collect(),
        checkpoint: Arc::new(folder.join("checkpoint.json")),
        lease_ms: 30_000,
        clock: Clock::real(),
        place: Place::Thread,
    }
}

fn store(folder: &Path) -> Box<dyn Store> {
    Box::new(Sqlite::open(&folder.join("ledger.db")).unwrap())
}

fn begin(folder: &Path) -> Running {
    start(setup(folder), store(folder)).unwrap()
}

fn context(handle: &Handle, number: usize) -> Context {
    let (name, ..) = member(number);
    let open = handle.published().view(&name).open.unwrap();
    Context { federation: FEDERATION, round: open.round, nonce: open.nonce, terms: agreement().hash(), member: name }
}

/// What a member offers: four samples at 3, 5 or 9 units.
fn offer(handle: &Handle, number: usize) -> Envelope {
    let ask_micros = Amount::from_units([3, 5, 9][number]);
    let gram = Gram::from_rows(&[[4.0]]).unwrap();
    let commitment = commitment(SALT, &[2.0 + number as f64]);
    let (schema, context) = (OFFER_SCHEMA.to_owned(), context(handle, number));
    let content = OfferContent { schema, context, gram, samples: 4, ask_micros, commitment };
    member(number).1.seal(OFFER_SCHEMA, &content)
}

fn delivery(handle: &Handle, number: usize) -> Envelope {
    let offer = {
        let (name, ..) = member(number);
        let decision = handle.published().view(&name).open.unwrap().decision.unwrap();
        serde_json::from_str::<ReceiptContent>(decision.content.get()).unwrap().offer
    };
    let (schema, context) = (DELIVERY_SCHEMA.to_owned(), context(handle, number));
    let content = DeliveryContent { schema, context, offer, moment: vec![2.0 + number as f64], salt: SALT };
    member(number).1.seal(DELIVERY_SCHEMA, &content)
}

/// One step of a round by hand; each can be repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Ask,
    Offer(usize),
    Deliver(usize),
}

const ROUND: [Step; 6] =
    [Step::Ask, Step::Offer(0), Step::Offer(1), Step::Offer(2), Step::Deliver(0), Step::Deliver(1)];

/// The second round: with what is settled, one winner is enough.
const NEXT: [Step; 5] = [Step::Ask, Step::Offer(0), Step::Offer(1), Step::Offer(2), Step::Deliver(0)];

fn two_rounds() -> Vec<Step> {
    [ROUND.as_slice(), &NEXT].concat()
}

async fn take(handle: &Handle, step: Step) -> Result<String, Refusal> {
    match step {
        Step::Ask => handle.call(&member(0).0, Call::Ask).await,
        Step::Offer(number) => {
            let envelope = offer(handle, number);
            handle.call(&member(number).0, Call::Offer(envelope_round(&envelope), envelope)).await
        }
        Step::Deliver(number) => {
            let envelope = delivery(handle, number);
            handle.call(&member(number).0, Call::Deliver(envelope_round(&envelope), envelope)).await
        }
    }
}

fn envelope_round(envelope: &Envelope) -> RoundId {
    let content: serde_json::Value = serde_json::from_str(envelope.content.get()).unwrap();
    RoundId(content["context"]["round"].as_u64().unwrap())
}

fn journal(folder: &Path) -> Vec<Row> {
    store(folder).rows(0, 10_000).unwrap()
}

/// The journal of two rounds that nothing disturbed.
async fn undisturbed() -> Vec<Row> {
    let folder = TempDir::new().unwrap();
    let running = begin(folder.path());
    for step in two_rounds() {
        take(&running.handle(), step).await.unwrap();
    }
    running.stop().await.unwrap();
    journal(folder.path())
}

#[tokio::test]
async fn a_round_is_settled_and_everyone_holds_receipts() {
    let folder = TempDir::new().unwrap();
    let running = begin(folder.path());
    let handle = running.handle();
    for step in ROUND {
        take(&handle, step).await.unwrap();
    }
    let view = handle.published().view(&member(2).0);
    assert_eq!((view.closed, view.open.is_none()), (RoundId(1), true));
    let reply = handle.call(&member(0).0, Call::Sync(SyncRequest { have: RoundId(0) })).await.unwrap();
    let reply: SyncReply = serde_json::from_str(&reply).unwrap();
    let snapshot = reply.snapshot.unwrap();
    assert_eq!((snapshot.statistics.samples(), snapshot.statistics.moment()), (8, [5.0].as_slice()));
    assert!(reply.receipts[0].is_signed_by(&signer(0).public(), crate::wire::RECEIPT_SCHEMA));
    let paid: ReceiptContent = serde_json::from_str(reply.receipts[0].content.get()).unwrap();
    assert_eq!((paid.kind, paid.payment_micros), (ReceiptKind::Paid, Some(Amount::from_units(9))));
    // Who lost is owed nothing, and has nothing settled.
    let reply = handle.call(&member(2).0, Call::Sync(SyncRequest { have: RoundId(0) })).await.unwrap();
    let reply: SyncReply = serde_json::from_str(&reply).unwrap();
    assert!(reply.receipts.is_empty() && reply.snapshot.unwrap().settled.is_none());
    running.stop().await.unwrap();
}

#[tokio::test]
async fn what_one_member_says_is_no_news_to_the_others() {
    let folder = TempDir::new().unwrap();
    let running = begin(folder.path());
    let handle = running.handle();
    let mut news = vec![handle.published().news()];
    for step in ROUND {
        take(&handle, step).await.unwrap();
        assert!(handle.published().entries() > news[news.len() - 1]);
        news.push(handle.published().news());
    }
    let is_new: Vec<bool> = news.windows(2).map(|pair| pair[0] < pair[1]).collect();
    assert_eq!(is_new, [true, false, false, true, false, true], "opened, awarded and settled");
    // Any other version than ours is news, a higher one too: an older backup was restored.
    let latest = handle.published().news();
    for (after, is_latest) in [(news[0], false), (latest, true), (latest + 1, false)] {
        let seen = Seen { after: Some(after), wait_ms: if is_latest { 1 } else { u64::MAX } };
        assert_eq!(seen.is_latest(latest), is_latest);
        handle.call(&member(0).0, Call::View(seen)).await.unwrap();
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_repeated_request_gets_the_same_bytes_and_a_changed_one_is_refused() {
    let folder = TempDir::new().unwrap();
    let running = begin(folder.path());
    let handle = running.handle();
    take(&handle, Step::Ask).await.unwrap();
    let envelope = offer(&handle, 0);
    let (name, signer, _) = member(0);
    let first = handle.call(&name, Call::Offer(RoundId(1), envelope.clone())).await.unwrap();
    let receipt: ReceiptReply = serde_json::from_str(&first).unwrap();
    let receipt: ReceiptContent = serde_json::from_str(receipt.receipt.content.get()).unwrap();
    assert_eq!((receipt.kind, receipt.offer), (ReceiptKind::OfferTaken, envelope.digest()));
    assert_eq!(handle.call(&name, Call::Offer(RoundId(1), envelope.clone())).await.unwrap(), first);
    let mut changed: OfferContent = serde_json::from_str(envelope.content.get()).unwrap();
    changed.ask_micros = Amount::from_units(4);
    let changed = signer.seal(OFFER_SCHEMA, &changed);
    assert_eq!(handle.call(&name, Call::Offer(RoundId(1), changed)).await.unwrap_err().code, Code::ConflictingRetry);
    assert_eq!(handle.call(&name, Call::Decline(RoundId(1))).await.unwrap_err().code, Code::ConflictingRetry);
    for step in &ROUND[2..] {
        take(&handle, *step).await.unwrap();
    }
    // The round is over, and the reply is still the same.
    assert_eq!(handle.call(&name, Call::Offer(RoundId(1), envelope)).await.unwrap(), first);
    let asked: AskReply = serde_json::from_str(&take(&handle, Step::Ask).await.unwrap()).unwrap();
    assert_eq!(asked.round, RoundId(2));
    running.stop().await.unwrap();
}

#[tokio::test]
async fn stopped_after_any_step_and_started_again_the_rounds_end_with_the_same_journal() {
    let expected = undisturbed().await;
    for stop_after in 0..two_rounds().len() {
        let folder = TempDir::new().unwrap();
        let mut running = begin(folder.path());
        for (number, step) in two_rounds().into_iter().enumerate() {
            let reply = take(&running.handle(), step).await.unwrap();
            if number == stop_after {
                let news = running.handle().published().news();
                running.stop().await.unwrap();
                running = begin(folder.path());
                assert_eq!(running.handle().published().news(), news, "stopped after step {stop_after}");
                // The reply may have been lost: it is the same again, where the step can be told again.
                let is_last = running.handle().published().view(&member(0).0).open.is_none();
                if !is_last {
                    assert_eq!(take(&running.handle(), step).await.unwrap(), reply);
                }
            }
        }
        running.stop().await.unwrap();
        assert_eq!(journal(folder.path()), expected, "stopped after step {stop_after}");
    }
}

/// A store that does not take every commit.
struct Moody {
    inner: Box<dyn Store>,
    moods: Vec<Mood>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    /// Says that it is full, and writes nothing.
    Full,
    /// Writes, and says that it does not know.
    InDoubt,
    /// Writes nothing, and says that it does not know.
    Lost,
    /// As it should be.
    Fine,
}

impl Store for Moody {
    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError> {
        self.inner.acquire(lease_ms)
    }
    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError> {
        match self.moods.pop_if(|mood| *mood == Mood::Full) {
            Some(_) => Err(StoreError::Full),
            None => self.inner.renew(lease, lease_ms),
        }
    }
    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.inner.release(lease)
    }
    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        let end = batch.rows.last().map(|row| row.hash);
        match self.moods.pop().unwrap_or(Mood::Fine) {
            // It was in doubt, and is found to be written.
            Mood::Fine if end == Some(self.inner.head()?.hash) => Ok(()),
            Mood::Full => Err(StoreError::Full),
            Mood::Lost => Err(StoreError::InDoubt("a test".to_owned())),
            Mood::InDoubt => {
                self.inner.commit(lease, batch)?;
                Err(StoreError::InDoubt("a test".to_owned()))
            }
            Mood::Fine => self.inner.commit(lease, batch),
        }
    }
    fn head(&mut self) -> Result<crate::journal::Head, StoreError> {
        self.inner.head()
    }
    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        self.inner.standing()
    }
    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        self.inner.rows(after, most)
    }
    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        self.inner.reply(key)
    }
    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        self.inner.replies(member, kind, after)
    }
    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        self.inner.postings(after, most)
    }
}

#[tokio::test]
async fn a_commit_that_fails_leaves_nothing_and_the_same_request_is_taken_later() {
    let expected = undisturbed().await;
    for mood in [Mood::Full, Mood::InDoubt, Mood::Lost] {
        let folder = TempDir::new().unwrap();
        // Moods are taken from the end: the first commit, of the beginning, is fine.
        let moods = [mood, Mood::Fine].repeat(20);
        let running = start(setup(folder.path()), Box::new(Moody { inner: store(folder.path()), moods })).unwrap();
        for step in two_rounds() {
            let mut reply = take(&running.handle(), step).await;
            if reply.as_ref().is_err_and(|refusal| refusal.code == Code::StorageFull) {
                reply = take(&running.handle(), step).await;
            }
            reply.unwrap();
        }
        running.stop().await.unwrap();
        assert_eq!(journal(folder.path()), expected, "{mood:?}");
    }
}

#[test]
fn a_store_that_is_full_when_the_lease_is_renewed_ends_nothing() {
    let folder = TempDir::new().unwrap();
    let clock = Clock::simulated();
    let setup = Setup { clock: clock.clone(), ..setup(folder.path()) };
    let moods = vec![Mood::Full, Mood::Fine];
    let mut core = Core::start(setup, Box::new(Moody { inner: store(folder.path()), moods })).unwrap();
    clock.set(truthfed::protocol::Time(20_000));
    core.renew().unwrap();
    let ask = Command::of(&core.published(), &member(0).0, Call::Ask).unwrap();
    assert!(core.work(vec![ask], &mut |_| false).unwrap()[0].is_ok());
}

#[tokio::test]
async fn what_is_altered_or_older_than_its_checkpoint_is_not_taken_up() {
    let folder = TempDir::new().unwrap();
    let running = begin(folder.path());
    for step in ROUND {
        take(&running.handle(), step).await.unwrap();
    }
    running.stop().await.unwrap();
    // A store from before: nothing in it yet.
    let older = TempDir::new().unwrap();
    std::fs::copy(folder.path().join("checkpoint.json"), older.path().join("checkpoint.json")).unwrap();
    let error = start(setup(older.path()), store(older.path())).err().unwrap();
    assert!(matches!(error, EngineError::CheckpointAhead { head: 0, .. }), "{error}");
    // Other terms than the federation began with.
    let mut other = setup(folder.path());
    let document = TermsDocument { reserve_micros: Amount::from_units(99), ..agreement().document().clone() };
    other.agreement = Agreement::try_from(document).unwrap();
    let error = start(other, store(folder.path())).err().unwrap();
    assert!(error.to_string().contains("terms in federation.toml"), "{error}");
    // It holds nobody up: the right one starts at once.
    begin(folder.path()).stop().await.unwrap();
}

#[tokio::test]
async fn a_member_that_is_revoked_or_foreign_is_refused_and_the_round_goes_on_without_it() {
    let folder = TempDir::new().unwrap();
    let mut running = begin(folder.path());
    let handle = running.handle();
    take(&handle, Step::Ask).await.unwrap();
    take(&handle, Step::Offer(0)).await.unwrap();
    take(&handle, Step::Offer(2)).await.unwrap();
    handle.revoke(member(2).0).await.unwrap();
    assert!(handle.published().is_revoked(&member(2).2));
    assert_eq!(take(&handle, Step::Offer(2)).await.unwrap_err().code, Code::MemberRevoked);
    assert_eq!(handle.call(&"eve".parse().unwrap(), Call::Ask).await.unwrap_err().code, Code::NotAMember);
    let taken = handle.enrol(member(2).0, member(2).1.public(), member(2).2).await.unwrap_err();
    assert_eq!(taken.code, Code::MemberExists);
    running.stop().await.unwrap();
    running = begin(folder.path());
    let handle = running.handle();
    assert!(handle.published().is_revoked(&member(2).2));
    // Only ann and bob are left, and one of them is enough.
    take(&handle, Step::Offer(1)).await.unwrap();
    let decisions = [0, 1, 2].map(|number| handle.published().view(&member(number).0).open.unwrap().decision);
    let kinds = decisions.map(|decision| {
        decision.map(|decision| serde_json::from_str::<ReceiptContent>(decision.content.get()).unwrap().kind)
    });
    assert_eq!(kinds, [Some(ReceiptKind::Won), Some(ReceiptKind::Lost), None]);
    take(&handle, Step::Deliver(0)).await.unwrap();
    running.stop().await.unwrap();
}

#[tokio::test]
async fn an_enrolment_or_a_revocation_whose_reply_was_lost_is_answered_again_and_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let running = begin(folder.path());
    let handle = running.handle();
    let dan: ClientId = "dan".parse().unwrap();
    let (key, certificate) = (signer(9).public(), Digest::of(b"dan"));
    let first = handle.enrol(dan.clone(), key, certificate).await.unwrap();
    let version = handle.published().entries();
    assert_eq!(handle.enrol(dan.clone(), key, certificate).await.unwrap(), first);
    assert_eq!(handle.enrol(dan.clone(), key, Digest::of(b"other")).await.unwrap_err().code, Code::MemberExists);
    assert_eq!(handle.published().entries(), version);
    let first = handle.revoke(dan.clone()).await.unwrap();
    let version = handle.published().entries();
    assert_eq!(handle.revoke(dan.clone()).await.unwrap(), first);
    assert_eq!(handle.enrol(dan, key, certificate).await.unwrap_err().code, Code::MemberExists);
    assert_eq!(handle.published().entries(), version);
    running.stop().await.unwrap();
}
