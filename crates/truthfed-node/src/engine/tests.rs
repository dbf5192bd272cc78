//! The engine on a real store: whole rounds, repeats, restarts and failing commits.

use std::path::Path;

use truthfed::Amount;
use truthfed::protocol::{RoundId, Time};
use truthfed::statistics::Gram;

use super::*;
use crate::error::{Code, Refusal};
use crate::journal::{Entry, Row};
use crate::store::{Sqlite, Store};
use crate::terms::RawTerms;
use crate::testing::{self, Data, Fate, Forwarding};
use crate::wire::{
    Call, Context, Envelope, OfferContent, ReceiptContent, ReceiptKind, Seen, SyncReply, SyncRequest, View,
};

const NAMES: [&str; 3] = ["ann", "bob", "cyd"];

fn federation() -> testing::Federation {
    testing::Federation::new(testing::terms(1), &NAMES)
}

fn signer(number: u8) -> Signer {
    testing::Federation::key(number)
}

fn member(number: usize) -> (ClientId, Signer, Digest) {
    let name = testing::id(NAMES[number]);
    (name.clone(), signer(number as u8 + 1), testing::Federation::certificate(&name))
}

fn setup(folder: &Path) -> Setup {
    Setup { checkpoint: Arc::new(folder.join("checkpoint.json")), ..federation().setup() }
}

fn file(folder: &Path) -> Sqlite {
    Sqlite::open(&folder.join("ledger.db")).unwrap()
}

fn store(folder: &Path) -> Box<dyn Store> {
    Box::new(file(folder))
}

fn opener(folder: &Path) -> OpenStore {
    let folder = folder.to_owned();
    Arc::new(move || Ok(store(&folder)))
}

fn begin(folder: &Path) -> Running {
    start(setup(folder), &opener(folder), &mut Ahead::default()).unwrap()
}

/// A new federation whose engine runs.
fn new() -> (tempfile::TempDir, Running, Handle) {
    let folder = testing::folder();
    let running = begin(folder.path());
    let handle = running.handle();
    (folder, running, handle)
}

async fn take_all(handle: &Handle, steps: &[Step]) {
    for step in steps {
        take(handle, *step).await.unwrap();
    }
}

fn content<T: serde::de::DeserializeOwned>(envelope: &Envelope) -> T {
    serde_json::from_str(envelope.content.get()).unwrap()
}

fn context(handle: &Handle, number: usize) -> Context {
    let (name, ..) = member(number);
    context_of(&handle.published(), &name)
}

/// In the round that is open or next.
fn context_of(published: &Published, name: &ClientId) -> Context {
    let View { open, next, .. } = published.view(name);
    let (round, nonce) = open.map(|it| (it.round, it.nonce)).or(next.map(|it| (it.round, it.nonce))).unwrap();
    federation().context(name, round, nonce)
}

/// Four samples whose moment is two and the member's number.
fn data(number: usize) -> Data {
    Data::of(&[([1.0], (2.0 + number as f64) / 4.0); 4])
}

/// What a member offers: its data at 3, 5 or 9 units.
fn offer(handle: &Handle, number: usize) -> Envelope {
    let ask = Amount::from_units([3, 5, 9][number]);
    federation().sign_offer(&data(number).offer(context(handle, number), ask))
}

fn delivery(handle: &Handle, number: usize) -> Envelope {
    let decision = handle.published().view(&member(number).0).open.unwrap().decision.unwrap();
    let ReceiptContent { offer, .. } = content(&decision);
    federation().sign_delivery(&data(number).delivery(context(handle, number), offer))
}

/// One step of a round by hand; each can be repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Offer(usize),
    Deliver(usize),
}

const ROUND: [Step; 5] = [Step::Offer(0), Step::Offer(1), Step::Offer(2), Step::Deliver(0), Step::Deliver(1)];

/// The second round: with what is settled, one winner is enough.
const NEXT: [Step; 4] = [Step::Offer(0), Step::Offer(1), Step::Offer(2), Step::Deliver(0)];

fn two_rounds() -> Vec<Step> {
    [ROUND.as_slice(), &NEXT].concat()
}

async fn take(handle: &Handle, step: Step) -> Answer {
    match step {
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
    RoundId(content::<serde_json::Value>(envelope)["context"]["round"].as_u64().unwrap())
}

fn journal(folder: &Path) -> Vec<Row> {
    store(folder).rows(0, 10_000).unwrap()
}

async fn undisturbed() -> Vec<Row> {
    let (folder, running, handle) = new();
    take_all(&handle, &two_rounds()).await;
    running.stop().await.unwrap();
    journal(folder.path())
}

#[tokio::test]
async fn a_round_is_settled_and_everyone_holds_receipts() {
    let (_folder, running, handle) = new();
    take_all(&handle, &ROUND).await;
    let view = handle.published().view(&member(2).0);
    assert_eq!((view.closed, view.open.is_none()), (RoundId(1), true));
    let sync = async |number: usize| {
        let reply =
            handle.call(&member(number).0, Call::Sync(SyncRequest { have: RoundId(0), waiting: None })).await.unwrap();
        serde_json::from_str::<SyncReply>(&String::from(reply)).unwrap()
    };
    let reply = sync(0).await;
    let snapshot = reply.snapshot.unwrap();
    assert_eq!((snapshot.statistics.samples(), snapshot.statistics.moment()), (8, [5.0].as_slice()));
    assert!(reply.receipts[0].is_signed_by(&signer(0).public(), crate::wire::RECEIPT_SCHEMA));
    let paid: ReceiptContent = content(&reply.receipts[0]);
    assert_eq!((paid.kind, paid.payment_micros), (ReceiptKind::Paid, Some(Amount::from_units(9))));
    // Who lost is owed nothing, and has nothing settled.
    let reply = sync(2).await;
    assert!(reply.receipts.is_empty() && reply.snapshot.unwrap().settled.is_none());
    running.stop().await.unwrap();
}

#[tokio::test]
async fn members_that_sync_share_one_copy_of_what_is_settled() {
    let (_folder, running, handle) = new();
    take_all(&handle, &ROUND).await;
    let sync = async |number: usize, have| {
        handle.call(&member(number).0, Call::Sync(SyncRequest { have: RoundId(have), waiting: None })).await.unwrap()
    };
    let replies = [sync(0, 0).await, sync(2, 0).await];
    for reply in &replies {
        let text = String::from(reply.clone());
        let read: SyncReply = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text, "as any other reply");
    }
    let [winner, loser] = replies.map(Reply::into_pieces);
    assert_eq!(winner[1].as_ptr(), loser[1].as_ptr());
    assert_ne!(winner, loser);
    assert_eq!(String::from(sync(2, 1).await), r#"{"snapshot":null,"receipts":[]}"#);
    // Another round, another copy.
    take_all(&handle, &NEXT).await;
    assert_ne!(sync(0, 1).await.into_pieces()[1], winner[1]);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn what_one_member_says_is_no_news_to_the_others() {
    let (_folder, running, handle) = new();
    let mut news = vec![handle.published().news()];
    for step in ROUND {
        take(&handle, step).await.unwrap();
        assert!(handle.published().entries() > news[news.len() - 1]);
        news.push(handle.published().news());
    }
    let is_new: Vec<bool> = news.windows(2).map(|pair| pair[0] < pair[1]).collect();
    assert_eq!(is_new, [true, false, true, false, true], "opened, awarded and settled");
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
async fn stopped_after_any_step_and_started_again_the_rounds_end_with_the_same_journal() {
    let expected = undisturbed().await;
    for stop_after in 0..two_rounds().len() {
        let folder = testing::folder();
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

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    /// Says that it is full, and writes nothing.
    Full,
    /// Writes, and says that it does not know.
    InDoubt,
    /// Writes nothing, and says that it does not know.
    Lost,
    Fine,
}

/// A store with a mood for each commit; the last is for the first one.
fn moody(folder: &Path, mut moods: Vec<Mood>) -> Forwarding<Sqlite> {
    let in_doubt = || StoreError::InDoubt("a test".to_owned());
    let hook = move |step: testing::Step<'_>| {
        let mood = match step {
            testing::Step::Renew => moods.pop_if(|mood| *mood == Mood::Full),
            testing::Step::Commit(_) => moods.pop(),
            _ => None,
        };
        match mood {
            None | Some(Mood::Fine) => Fate::Pass,
            Some(Mood::Full) => Fate::Fail(StoreError::Full),
            Some(Mood::Lost) => Fate::Fail(in_doubt()),
            Some(Mood::InDoubt) => Fate::Lose(in_doubt()),
        }
    };
    Forwarding::with(file(folder), hook)
}

#[tokio::test]
async fn a_commit_that_fails_leaves_nothing_and_the_same_request_is_taken_later() {
    let expected = undisturbed().await;
    for mood in [Mood::Full, Mood::InDoubt, Mood::Lost] {
        let folder = testing::folder();
        // Moods are taken from the end: the first commit, of the beginning, is fine.
        let moods = [mood, Mood::Fine].repeat(20);
        let store = moody(folder.path(), moods);
        let open: OpenStore = Arc::new(move || Ok(Box::new(store.clone())));
        let running = start(setup(folder.path()), &open, &mut Ahead::default()).unwrap();
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

#[tokio::test]
async fn a_standby_reads_ahead_while_another_coordinator_holds_the_lease() {
    let (folder, running, handle) = new();
    take(&handle, ROUND[0]).await.unwrap();
    let mut ahead = Ahead::default();
    let held = start(setup(folder.path()), &opener(folder.path()), &mut ahead).err().unwrap();
    assert!(matches!(held, EngineError::Store(StoreError::Held)), "{held}");
    assert_eq!(ahead.entries(), journal(folder.path()).len());
    running.stop().await.unwrap();
    let running = start(setup(folder.path()), &opener(folder.path()), &mut ahead).unwrap();
    assert_eq!(ahead.entries(), 0, "they were used");
    take_all(&running.handle(), &ROUND[1..]).await;
    running.stop().await.unwrap();
}

#[test]
fn a_store_that_is_full_when_the_lease_is_renewed_ends_nothing() {
    let folder = testing::folder();
    let clock = Clock::simulated();
    let setup = Setup { clock: clock.clone(), ..setup(folder.path()) };
    let moods = vec![Mood::Full, Mood::Fine];
    let mut core = Core::start(setup, Box::new(moody(folder.path(), moods))).unwrap();
    clock.set(Time(20_000));
    core.renew().unwrap();
    assert!(core.work(vec![offers(&core, 0, |_| {}).unwrap()], &mut |_| false).unwrap()[0].is_ok());
}

/// A core over a new store.
fn core() -> (tempfile::TempDir, Core) {
    let folder = testing::folder();
    let core = Core::start(setup(folder.path()), store(folder.path())).unwrap();
    (folder, core)
}

/// The offer of a member, after a change.
fn offers(core: &Core, number: usize, change: impl FnOnce(&mut OfferContent)) -> Result<Command, Refusal> {
    let (name, ..) = member(number);
    let mut content = data(number).offer(context_of(&core.published(), &name), Amount::from_units(3));
    change(&mut content);
    let offer = Call::Offer(content.context.round, federation().sign_offer(&content));
    Command::of(&core.published(), &name, offer)
}

#[test]
fn an_offer_whose_matrix_is_refused_does_not_reach_the_engine() {
    let (_folder, mut core) = core();
    for _ in 0..2 {
        let refused = offers(&core, 0, |content| content.samples = 1).err().unwrap();
        assert_eq!(refused.code, Code::TraceTooLarge, "{refused:?}");
        // Now with a round that another has opened.
        let opening = offers(&core, 1, |_| {}).unwrap();
        core.work(vec![opening], &mut |_| false).unwrap()[0].as_ref().unwrap();
    }
}

#[test]
fn an_offer_that_is_not_worth_a_round_does_not_reach_the_engine() {
    let (_folder, core) = core();
    let nothing = Gram::zeros(1).unwrap();
    let refused = offers(&core, 0, |content| content.gram = nothing).err().unwrap();
    assert_eq!(refused.code, Code::TriggerNotMet, "{refused:?}");
}

#[test]
fn an_offer_is_not_taken_with_the_nonce_of_another_round() {
    let (_folder, mut core) = core();
    let other = |content: &mut OfferContent| content.context.nonce = crate::digest::Hex([7; 16]);
    assert_eq!(offers(&core, 0, other).err().unwrap().code, Code::BadNonce, "it is next");
    // Looked at before its round is next: nobody knows its nonce yet.
    let early = offers(&core, 0, |content| content.context.round = RoundId(2)).unwrap();
    let opening = offers(&core, 0, |_| {}).unwrap();
    let answers = core.work(vec![opening, early], &mut |_| false).unwrap();
    assert!(answers[0].is_ok());
    assert_eq!(answers[1].as_ref().unwrap_err().code, Code::StaleRound);
    assert_eq!(offers(&core, 1, other).err().unwrap().code, Code::BadNonce, "it is open");
}

#[test]
fn the_nonce_of_the_next_round_is_known_before_it_opens_and_membership_does_not_change_it() {
    let (folder, mut core) = core();
    let next = |core: &Core| core.published().view(&member(0).0).next.unwrap();
    let before = next(&core);
    let revoked = Command::revoke(member(2).0);
    core.work(vec![revoked], &mut |_| false).unwrap()[0].as_ref().unwrap();
    assert_eq!(next(&core), before);
    core.release().unwrap();
    let mut core = Core::start(setup(folder.path()), store(folder.path())).unwrap();
    assert_eq!(next(&core), before, "nor does a restart");
    let opening = offers(&core, 0, |_| {}).unwrap();
    core.work(vec![opening], &mut |_| false).unwrap()[0].as_ref().unwrap();
    let View { open, next, .. } = core.published().view(&member(0).0);
    assert_eq!((open.map(|open| open.nonce), next), (Some(before.nonce), None));
}

#[test]
fn a_clock_behind_the_journal_waits_and_one_that_is_minutes_behind_opens_no_round() {
    let (folder, clock) = (testing::folder(), Clock::simulated());
    let begin = |at: u64| {
        clock.set(Time(at));
        let setup = Setup { clock: clock.clone(), ..setup(folder.path()) };
        Core::start(setup, store(folder.path())).unwrap()
    };
    let times = || {
        let at = |row: &Row| match row.entry().unwrap() {
            Entry::Opened { at_ms, .. } | Entry::Sealed { at_ms, .. } | Entry::Settled { at_ms, .. } => Some(at_ms.0),
            Entry::Aborted { at_ms, .. } => Some(at_ms.0),
            _ => None,
        };
        journal(folder.path()).iter().filter_map(at).collect::<Vec<u64>>()
    };
    let mut core = begin(1_000_000);
    core.work(vec![offers(&core, 0, |_| {}).unwrap()], &mut |_| false).unwrap()[0].as_ref().unwrap();
    core.release().unwrap();
    // Four minutes behind: the round goes on where its time stood.
    let mut core = begin(760_000);
    clock.set(Time(1_059_999));
    core.work(Vec::new(), &mut |_| false).unwrap();
    assert_eq!(times(), [1_000_000], "the phase has its whole time");
    clock.set(Time(1_060_000));
    core.work(Vec::new(), &mut |_| false).unwrap();
    clock.set(Time(1_120_000));
    core.work(Vec::new(), &mut |_| false).unwrap();
    assert_eq!(times(), [1_000_000, 1_060_000, 1_120_000]);
    core.release().unwrap();
    let mut core = begin(819_999);
    let refused = core.work(vec![offers(&core, 0, |_| {}).unwrap()], &mut |_| false).unwrap().remove(0).unwrap_err();
    assert_eq!(refused.code, Code::ClockBehind, "{refused:?}");
    assert!(refused.message.contains("300 s behind its journal"), "{refused:?}");
    clock.set(Time(820_000));
    core.work(vec![offers(&core, 0, |_| {}).unwrap()], &mut |_| false).unwrap()[0].as_ref().unwrap();
    assert_eq!(times().last(), Some(&1_120_000), "and its time stands still until the clock has caught up");
}

#[tokio::test]
async fn what_is_altered_or_older_than_its_checkpoint_is_not_taken_up() {
    let (folder, running, handle) = new();
    take_all(&handle, &ROUND).await;
    running.stop().await.unwrap();
    // A store from before: nothing in it yet.
    let older = testing::folder();
    std::fs::copy(folder.path().join("checkpoint.json"), older.path().join("checkpoint.json")).unwrap();
    let error = start(setup(older.path()), &opener(older.path()), &mut Ahead::default()).err().unwrap();
    assert!(matches!(error, EngineError::CheckpointAhead { head: 0, .. }), "{error}");
    // Other terms than the federation began with.
    let mut other = setup(folder.path());
    let document = RawTerms { reserve: Amount::from_units(99), ..testing::terms(1) };
    other.agreement = Agreement::try_from(document).unwrap();
    let error = start(other, &opener(folder.path()), &mut Ahead::default()).err().unwrap();
    assert!(error.to_string().contains("terms in federation.toml"), "{error}");
    // It holds nobody up: the right one starts at once.
    begin(folder.path()).stop().await.unwrap();
}

#[tokio::test]
async fn a_member_that_is_revoked_or_foreign_is_refused_and_the_round_goes_on_without_it() {
    let (folder, running, handle) = new();
    take_all(&handle, &[Step::Offer(0), Step::Offer(2)]).await;
    handle.revoke(member(2).0).await.unwrap();
    assert!(handle.published().member_of(&member(2).2).unwrap().1.is_revoked);
    assert_eq!(take(&handle, Step::Offer(2)).await.unwrap_err().code, Code::MemberRevoked);
    assert_eq!(
        handle.call(&"eve".parse().unwrap(), Call::Decline(RoundId(1))).await.unwrap_err().code,
        Code::NotAMember
    );
    let taken = handle.enrol(member(2).0, member(2).1.public(), member(2).2).await.unwrap_err();
    assert_eq!(taken.code, Code::MemberExists);
    running.stop().await.unwrap();
    let running = begin(folder.path());
    let handle = running.handle();
    assert!(handle.published().member_of(&member(2).2).unwrap().1.is_revoked);
    // Only ann and bob are left, and one of them is enough.
    take(&handle, Step::Offer(1)).await.unwrap();
    let decisions = [0, 1, 2].map(|number| handle.published().view(&member(number).0).open.unwrap().decision);
    let kinds = decisions.map(|decision| decision.map(|decision| content::<ReceiptContent>(&decision).kind));
    assert_eq!(kinds, [Some(ReceiptKind::Won), Some(ReceiptKind::Lost), None]);
    take(&handle, Step::Deliver(0)).await.unwrap();
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_backup_from_before_a_revocation_is_refused() {
    let (folder, running, _) = new();
    running.stop().await.unwrap();
    let ledger = folder.path().join("ledger.db");
    let backup = std::fs::read(&ledger).unwrap();
    let running = begin(folder.path());
    running.handle().revoke(member(2).0).await.unwrap();
    running.stop().await.unwrap();
    std::fs::write(&ledger, backup).unwrap();
    let error = start(setup(folder.path()), &opener(folder.path()), &mut Ahead::default())
        .err()
        .expect("it lacks the revocation");
    assert!(matches!(error, EngineError::CheckpointAhead { .. }), "{error}");
}

#[test]
fn a_federation_was_founded_with_one_key_for_two_members() {
    for (change, problem) in
        [(0, "ann is or was a member already"), (1, "the key is or was ann's"), (2, "the certificate is or was ann's")]
    {
        let mut setup = federation().setup();
        let (name, key, certificate) = setup.members[0].clone();
        match change {
            0 => setup.members[1].0 = name,
            1 => setup.members[1].1 = key,
            _ => setup.members[1].2 = certificate,
        }
        let Err(error) = testing::Stepwise::start(setup, testing::Memory::default()) else { panic!("{problem}") };
        assert!(error.to_string().contains(problem), "{error}");
    }
}
