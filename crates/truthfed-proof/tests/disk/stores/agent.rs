//! What an agent's file keeps, whatever the disk does: a script, what is to be seen after each part of it, and what the agent
//! said yes to.

use Action::{Checkpoint, Choose, Learn, Offer, Settle, Start, Stop, Taken};
use truthfed::Amount;
use truthfed::protocol::{Quota, RoundId, Snapshot};
use truthfed::statistics::Statistics;
use truthfed_node::agent::{Agent, ChooseError, DecisionId, FileError, LearnError, Speaker, Status, Step, StepError};
use truthfed_node::digest::Hex;
use truthfed_node::terms::RawTerms;
use truthfed_node::testing::{Federation, id, wide_terms};
use truthfed_node::wire::{Call, Envelope, OpenRound, Phase, ReceiptKind, ReceiptReply, Reply, SyncReply, View};
use truthfed_proof::disk::Operation::{Any, Read, Sync};
use truthfed_proof::disk::{Disk, Fault, Lasts, Plan};

use super::{check_opens_with_a_log_or_not_at_all, disk, each, fall};

const ASK: Amount = Amount::from_units(7);
/// The most samples in an offer.
const MOST: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Start,
    /// A decision, whose reward comes later.
    Choose,
    /// The reward of the oldest decision.
    Learn,
    Checkpoint,
    /// The next round opens, and is offered to.
    Offer,
    Taken,
    /// The round ended, and paid.
    Settle,
    Stop,
}

#[derive(Debug, PartialEq)]
struct Sight {
    status: Status,
    known: Statistics,
    receipts: usize,
}

/// An agent on a disk, and what it said yes to.
struct Life {
    disk: Disk,
    federation: Federation,
    agent: Option<Agent>,
    /// That wait for their reward.
    decisions: Vec<DecisionId>,
    /// The last round that was offered to, and the offer.
    offer: Option<(RoundId, Envelope)>,
    data: Option<Statistics>,
    /// Grows with every decision.
    chosen: u64,
    settled: u64,
}

impl Life {
    fn new(disk: Disk) -> Life {
        // It has more than it may offer, so that all it keeps is at stake: blocks unshared and in flight.
        let quota = Quota { samples: MOST, per_ms: 1, ..Quota::default() };
        let federation = Federation::new(RawTerms { quota, ..wide_terms() }, &["m1"]);
        let decisions = Vec::new();
        Life { disk, federation, agent: None, decisions, offer: None, data: None, chosen: 0, settled: 0 }
    }

    fn open(&self) -> Result<Agent, FileError> {
        Agent::open_on(self.federation.membership(&id("m1")), &self.disk.path("agent.db"), &self.disk.vfs())
    }

    fn act(&mut self, action: Action) -> Result<(), FileError> {
        match action {
            Start => {
                self.agent = None;
                self.agent = Some(self.open()?);
            }
            Choose => self.choose()?,
            Learn => self.learn()?,
            Checkpoint => self.agent().checkpoint(),
            Offer => self.offer()?,
            Taken => self.taken()?,
            Settle => self.settle()?,
            Stop => self.die(),
        }
        Ok(())
    }

    fn agent(&mut self) -> &mut Agent {
        self.agent.as_mut().expect("it was started")
    }

    fn choose(&mut self) -> Result<(), FileError> {
        let arm = |i: u64| [1.0, ((self.chosen + i) % 5) as f64 / 5.0, -0.5];
        let arms = [arm(0), arm(1), arm(3)];
        let (decision, _) = self.agent().choose(&arms).map_err(|error| match error {
            ChooseError::File(error) => error,
            error => panic!("{error}"),
        })?;
        self.chosen += 1;
        self.decisions.push(decision);
        Ok(())
    }

    fn learn(&mut self) -> Result<(), FileError> {
        let decision = self.decisions[0];
        self.agent().learn(decision, 0.25).map_err(|error| match error {
            LearnError::File(error) => error,
            error => panic!("{error}"),
        })?;
        self.decisions.remove(0);
        Ok(())
    }

    /// Decides on a price once, and finds the same offer ever after.
    fn offer(&mut self) -> Result<(), FileError> {
        let (view, agent) = (open(self.settled + 1), self.agent.as_mut().expect("it was started"));
        if let Step::Price(round, nonce, data) = agent.next_step(&view).map_err(file)? {
            self.data = data;
            agent.opened(round, nonce, Some(ASK)).map_err(file)?;
        }
        let Step::Send(Call::Offer(round, envelope)) = agent.next_step(&view).map_err(file)? else {
            panic!("it has data")
        };
        self.offer = Some((round, envelope));
        Ok(())
    }

    fn taken(&mut self) -> Result<(), FileError> {
        let (round, receipt) = self.receipt(ReceiptKind::OfferTaken, None);
        let (_, offer) = self.offer.clone().expect("it offered");
        let reply = Reply::Offer(ReceiptReply { receipt });
        self.agent().taken(&Call::Offer(round, offer), reply, RoundId(round.0 - 1)).map_err(file)
    }

    fn settle(&mut self) -> Result<(), FileError> {
        let (round, receipt) = self.receipt(ReceiptKind::Paid, Some(Amount::from_units(9)));
        let view = View { version: round.0, closed: round, open: None, next: None, most_samples: None };
        if let Step::Send(call @ Call::Sync(_)) = self.agent().next_step(&view).map_err(file)? {
            let statistics = self.data.clone().expect("it offered");
            let snapshot = Some(Snapshot { closed: round, settled: Some(round), statistics, own: None });
            let reply = Reply::Sync(SyncReply { snapshot, receipts: vec![receipt] });
            self.agent().taken(&call, reply, round).map_err(file)?;
        }
        self.settled = round.0;
        Ok(())
    }

    fn receipt(&self, kind: ReceiptKind, payment_micros: Option<Amount>) -> (RoundId, Envelope) {
        let (round, offer) = self.offer.as_ref().expect("it offered");
        (*round, self.federation.receipt_for(offer, kind, payment_micros))
    }

    fn die(&mut self) {
        self.agent = None;
    }

    /// What is to be seen, if the agent is there.
    fn look(&mut self) -> Option<Sight> {
        let agent = self.agent.as_mut()?;
        let status = agent.status(true).unwrap();
        Some(Sight { status, known: agent.known().clone(), receipts: agent.receipts().unwrap().len() })
    }

    /// Whether the offer that was signed is still the one it sends, as long as it is not taken.
    fn check_offer(&mut self) {
        let Some((round, signed)) = self.offer.clone() else { return };
        let agent = self.agent.as_mut().expect("it was started");
        if let Step::Send(Call::Offer(_, found)) = agent.next_step(&open(round.0)).unwrap() {
            assert_eq!(serde_json::to_string(&found).unwrap(), serde_json::to_string(&signed).unwrap());
        }
    }
}

/// What the coordinator shows while a round takes offers.
fn open(round: u64) -> View {
    let (phase, nonce) = (Phase::Offers, Hex([round as u8; 16]));
    let open = OpenRound { round: RoundId(round), nonce, phase, remaining_ms: 1000, answered: false, decision: None };
    View { version: round, closed: RoundId(round - 1), open: Some(open), next: None, most_samples: Some(MOST) }
}

fn file(error: StepError) -> FileError {
    match error {
        StepError::File(error) => error,
        error => panic!("{error}"),
    }
}

const SCRIPT: &[Action] = &[
    Start, Choose, Choose, Learn, Choose, Learn, Learn, Checkpoint, Choose, Learn, Offer, Taken, Choose, Learn, Settle,
    Choose, Stop, Start, Learn, Offer, Checkpoint, Choose, Learn, Settle, Stop,
];

/// What is to be seen after each action when nothing goes wrong, and how many steps and reads it takes.
struct Reference {
    sights: Vec<Option<Sight>>,
    steps: u64,
    reads: u64,
}

fn reference(seed: u64) -> Reference {
    let mut life = Life::new(disk(seed));
    let look = |action: &Action| {
        life.act(*action).unwrap();
        life.look()
    };
    let sights = SCRIPT.iter().map(look).collect();
    // Counted without looking.
    let mut life = Life::new(disk(seed));
    follow_to_the_end(&mut life, 0);
    Reference { sights, steps: life.disk.steps(), reads: life.disk.reads() }
}

/// Does what is left of the script, up to where something goes wrong. How far it came.
fn follow(life: &mut Life, from: usize) -> (usize, Option<FileError>) {
    for (index, action) in SCRIPT.iter().enumerate().skip(from) {
        if let Err(error) = life.act(*action) {
            return (index, Some(error));
        }
    }
    (SCRIPT.len(), None)
}

fn follow_to_the_end(life: &mut Life, from: usize) {
    let (done, error) = follow(life, from);
    assert_eq!(done, SCRIPT.len(), "{error:?}");
}

/// Takes the agent up again and goes on to the end of the script, which comes out as if nothing had happened.
fn check_goes_on(life: &mut Life, reference: &Reference, failed: usize) {
    life.die();
    life.disk.mend();
    life.act(Start).unwrap();
    let last = |actions: usize| reference.sights.iter().take(actions).flatten().last();
    let seen = life.look();
    // Before the first start, an agent is as after it.
    if failed > 0 {
        let expected = [last(failed), last(failed + 1)];
        assert!(expected.contains(&seen.as_ref()), "after {failed} actions: {seen:?}, expected {expected:?}");
    }
    life.check_offer();
    follow_to_the_end(life, failed);
    life.disk.lose_power();
    life.act(Start).unwrap();
    assert_eq!(life.look().as_ref(), last(SCRIPT.len()));
    life.check_offer();
}

/// Lets something go wrong at every step of both kinds of disks, and hands over the life of the agent up to then.
fn at_every_step(fault: Fault, check: impl Fn(&mut Life, &Reference, usize, Option<FileError>)) {
    each(0..2, |seed| {
        let reference = reference(seed);
        let is_read = matches!(fault, Fault::Failure(Read, _));
        each(0..if is_read { reference.reads } else { reference.steps }, |after| {
            let mut life = Life::new(disk(2 * after + seed));
            life.disk.plan(Plan { after, fault });
            let (failed, error) = follow(&mut life, 0);
            check(&mut life, &reference, failed, error);
        });
    });
}

#[test]
fn the_power_may_be_lost_at_every_step() {
    at_every_step(Fault::PowerLoss, |life, reference, failed, _| {
        life.die();
        assert!(life.disk.is_off());
        life.disk.restart();
        check_goes_on(life, reference, failed);
    });
}

#[test]
fn the_power_may_be_lost_again_and_again() {
    let reference = reference(0);
    each(0..40, |seed| {
        // As SQLite takes it for granted: of disks that damage more than they write, one loss is survived at every step.
        let mut life = Life::new(Disk::powersafe(seed));
        let mut done = 0;
        for loss in 0..10 {
            life.disk.plan(Plan { after: (seed * 31 + loss * 17) % 59, fault: Fault::PowerLoss });
            let start = life.act(Start);
            if start.is_ok() {
                (done, _) = follow(&mut life, done);
            }
            life.die();
            life.disk.lose_power();
            life.disk.mend();
        }
        check_goes_on(&mut life, &reference, done);
    });
}

#[test]
fn a_full_disk_is_said_so_and_the_agent_goes_on_when_there_is_room() {
    for lasts in [Lasts::Once, Lasts::ForEver] {
        at_every_step(Fault::Full(lasts), |life, reference, failed, error| {
            assert!(matches!(error, None | Some(FileError::Full)), "{error:?}");
            check_unchanged(life, reference, failed);
        });
    }
}

/// The agent, if it is there, reads on and shows what it did before; once nothing goes wrong, it goes on.
fn check_unchanged(life: &mut Life, reference: &Reference, failed: usize) {
    if let Some(seen) = life.look() {
        assert_eq!(Some(&seen), reference.sights.iter().take(failed).flatten().last());
    }
    life.disk.set_capacity(None);
    life.disk.mend();
    follow_to_the_end(life, failed);
    check_goes_on(life, reference, SCRIPT.len());
}

#[test]
fn a_failure_that_passes_changes_nothing() {
    for operation in [Any, Read] {
        at_every_step(Fault::Failure(operation, Lasts::Once), |life, reference, failed, error| {
            assert!(matches!(error, None | Some(FileError::Unavailable(_) | FileError::Unusable(_))), "{error:?}");
            check_unchanged(life, reference, failed);
        });
    }
}

#[test]
fn a_failure_that_lasts_is_never_a_yes_and_a_restart_recovers() {
    for operation in [Any, Sync, Read] {
        at_every_step(Fault::Failure(operation, Lasts::ForEver), |life, reference, failed, error| {
            assert!(matches!(error, None | Some(FileError::Unavailable(_) | FileError::Unusable(_))), "{error:?}");
            fall(&life.disk);
            check_goes_on(life, reference, failed);
        });
    }
}

/// Its owner would be told to begin anew without it.
#[test]
fn a_file_that_cannot_be_read_for_a_moment_is_not_called_damaged() {
    let mut life = Life::new(disk(0));
    follow(&mut life, 0);
    life.act(Start).unwrap();
    // The checkpoint leaves pages without use, which are looked at too.
    (0..80).flat_map(|_| [Choose, Learn]).chain([Checkpoint, Stop]).for_each(|action| life.act(action).unwrap());
    let before = life.disk.reads();
    let agent = life.open().unwrap();
    let reads = life.disk.reads() - before;
    drop(agent);
    each(0..reads, |after| {
        let fault = Fault::Failure(Read, Lasts::Once);
        life.disk.plan(Plan { after, fault });
        let error = life.open().err();
        assert!(matches!(error, Some(FileError::Unavailable(_))), "{error:?}");
    });
}

/// SQLite said that the log was in use, and failed only then to write that it is.
#[test]
fn a_file_whose_change_to_a_log_failed_is_not_opened() {
    check_opens_with_a_log_or_not_at_all("agent.db", |disk| Life::new(disk.clone()).open().is_ok());
}
