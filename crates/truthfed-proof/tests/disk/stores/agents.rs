//! The life of an agent: a script, what is to be seen after each part of it, and what the agent said yes to.

use truthfed::Amount;
use truthfed::protocol::{RoundId, Snapshot};
use truthfed::statistics::Statistics;
use truthfed_node::agent::{Agent, ChooseError, DecisionId, FileError, LearnError, Speaker, Status, Step, StepError};
use truthfed_node::digest::Hex;
use truthfed_node::testing::{Federation, id, wide_terms};
use truthfed_node::wire::{Call, Envelope, OpenRound, Phase, ReceiptKind, ReceiptReply, Reply, SyncReply, View};
use truthfed_proof::disk::Disk;

const ASK: Amount = Amount::from_units(7);

/// What an agent is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Start,
    /// A decision, whose reward comes later.
    Choose,
    /// The reward of the oldest decision.
    Learn,
    Checkpoint,
    /// A round opens, and is offered to.
    Offer(u64),
    /// The coordinator took the offer.
    Taken,
    /// The round ended, and paid.
    Settle,
    Stop,
}

/// What can be seen of an agent.
#[derive(Debug, PartialEq)]
pub(crate) struct Sight {
    status: Status,
    known: Statistics,
    receipts: usize,
}

/// An agent on a disk, and what it said yes to.
pub(crate) struct Life {
    pub(crate) disk: Disk,
    federation: Federation,
    agent: Option<Agent>,
    /// That wait for their reward.
    decisions: Vec<DecisionId>,
    /// The last round that was offered to, and the offer.
    offer: Option<(RoundId, Envelope)>,
    /// The data that was offered.
    data: Option<Statistics>,
    /// Grows with every decision.
    chosen: u64,
}

impl Life {
    pub(crate) fn new(disk: Disk) -> Life {
        let federation = Federation::new(wide_terms(), &["m1"]);
        Life { disk, federation, agent: None, decisions: Vec::new(), offer: None, data: None, chosen: 0 }
    }

    pub(crate) fn open(&self) -> Result<Agent, FileError> {
        Agent::open_on(self.federation.membership(&id("m1")), &self.disk.path("agent.db"), &self.disk.vfs())
    }

    pub(crate) fn act(&mut self, action: Action) -> Result<(), FileError> {
        match action {
            Action::Start => {
                self.agent = None;
                self.agent = Some(self.open()?);
            }
            Action::Choose => self.choose()?,
            Action::Learn => self.learn()?,
            Action::Checkpoint => self.agent().checkpoint(),
            Action::Offer(round) => self.offer(round)?,
            Action::Taken => self.taken()?,
            Action::Settle => self.settle()?,
            Action::Stop => self.die(),
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
    fn offer(&mut self, round: u64) -> Result<(), FileError> {
        let (view, agent) = (open(round), self.agent.as_mut().expect("it was started"));
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
        let view = View { version: round.0, closed: round, open: None };
        let Step::Send(call @ Call::Sync(_)) = self.agent().next_step(&view).map_err(file)? else { return Ok(()) };
        let statistics = self.data.clone().expect("it offered");
        let snapshot = Some(Snapshot { closed: round, settled: Some(round), statistics });
        let reply = Reply::Sync(SyncReply { snapshot, receipts: vec![receipt] });
        self.agent().taken(&call, reply, round).map_err(file)
    }

    /// A receipt about the last offer.
    fn receipt(&self, kind: ReceiptKind, payment_micros: Option<Amount>) -> (RoundId, Envelope) {
        let (round, offer) = self.offer.as_ref().expect("it offered");
        (*round, self.federation.receipt_for(offer, kind, payment_micros))
    }

    pub(crate) fn die(&mut self) {
        self.agent = None;
    }

    /// What is to be seen, if the agent is there.
    pub(crate) fn look(&mut self) -> Option<Sight> {
        let agent = self.agent.as_mut()?;
        let status = agent.status(true).unwrap();
        Some(Sight { status, known: agent.known().clone(), receipts: agent.receipts().unwrap().len() })
    }

    /// Whether the offer that was signed is still the one it sends, as long as it is not taken.
    pub(crate) fn check_offer(&mut self) {
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
    View { version: round, closed: RoundId(round - 1), open: Some(open) }
}

fn file(error: StepError) -> FileError {
    match error {
        StepError::File(error) => error,
        error => panic!("{error}"),
    }
}
