//! A member's side of a round.
//!
//! What a member learned lies in one of three places: in the snapshot (delivered, and settled or the member's own because it is
//! held or void), in flight (offered in a round that has not ended for this member), or unshared. Its bandit knows the sum. When a snapshot
//! says how the round ended, what was in flight is dropped (it is in the snapshot now) or goes back to the
//! unshared: never both, never neither.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::{Notice, Request, RoundId, Since, Snapshot, Terms, Trigger};
use crate::Amount;
use crate::auction::{ClientId, Offer};
use crate::bandit::{ChooseError, Config, LinUcb, RefreshError, log_det_ratio};
use crate::statistics::{Statistics, StatisticsError};

/// Decides what a member asks for its data.
pub trait Asking {
    /// The price of these statistics; `None` to stay out of the round.
    fn ask(&mut self, unshared: &Statistics) -> Option<Amount>;
}

/// One member: its bandit, its unshared data, and its part in the current round.
///
/// Saved and read again (it is `Serialize` and `Deserialize`), it goes on with the same bits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct Member {
    id: ClientId,
    config: Config,
    trigger: Trigger,
    bandit: LinUcb,
    snapshot: Snapshot,
    /// log(det V / det(lambda I)) of the snapshot alone, if the trigger needs it.
    snapshot_ratio: f64,
    unshared: Statistics,
    in_flight: Option<InFlight>,
    announced: RoundId,
    since_round: Progress,
    wants_round: bool,
    outbox: VecDeque<Request>,
    /// What the unshared data consists of, where it may have to be offered in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocks: Option<Box<Blocks>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    id: ClientId,
    config: Config,
    trigger: Trigger,
    bandit: LinUcb,
    snapshot: Snapshot,
    snapshot_ratio: f64,
    unshared: Statistics,
    in_flight: Option<InFlight>,
    announced: RoundId,
    since_round: Progress,
    wants_round: bool,
    outbox: VecDeque<Request>,
    #[serde(default)]
    blocks: Option<Box<Blocks>>,
}

impl TryFrom<Saved> for Member {
    type Error = String;

    fn try_from(saved: Saved) -> Result<Member, String> {
        if !saved.is_whole() {
            let id = saved.id;
            return Err(format!(
                "saved member {id} has parts that do not belong together: their sizes or counts differ"
            ));
        }
        Ok(Member {
            id: saved.id,
            config: saved.config,
            trigger: saved.trigger,
            bandit: saved.bandit,
            snapshot: saved.snapshot,
            snapshot_ratio: saved.snapshot_ratio,
            unshared: saved.unshared,
            in_flight: saved.in_flight,
            announced: saved.announced,
            since_round: saved.since_round,
            wants_round: saved.wants_round,
            outbox: saved.outbox,
            blocks: saved.blocks,
        })
    }
}

impl Saved {
    fn is_whole(&self) -> bool {
        let fits = |part: &Statistics| part.dimension() == self.config.dimension();
        let belongs =
            |in_flight: &InFlight| fits(&in_flight.statistics) && in_flight.progress.steps <= self.since_round.steps;
        [self.bandit.known(), &self.snapshot.statistics, &self.unshared].into_iter().chain(&self.snapshot.own).all(fits)
            && self.in_flight.as_ref().is_none_or(belongs)
            && self.blocks.as_ref().is_none_or(|blocks| {
                let in_flight = self.in_flight.as_ref().map_or(0, |in_flight| in_flight.statistics.samples());
                blocks.is_whole(self.config.dimension(), self.unshared.samples(), in_flight)
            })
    }
}

/// What was offered, in a round whose end this member has not seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InFlight {
    round: RoundId,
    statistics: Statistics,
    ask: Amount,
    /// Progress up to the offer.
    progress: Progress,
}

impl InFlight {
    pub fn round(&self) -> RoundId {
        self.round
    }

    /// The offered data; its moment is what a winner delivers.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub fn ask(&self) -> Amount {
        self.ask
    }
}

/// Steps, and nats of information, since some moment.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Progress {
    steps: u64,
    nats: f64,
}

impl Member {
    pub fn new(id: ClientId, config: Config, trigger: Trigger) -> Member {
        let nothing = Statistics::new(config.dimension()).expect("a checked configuration has a valid dimension");
        Member {
            id,
            config,
            trigger,
            bandit: LinUcb::new(config),
            snapshot: Snapshot { closed: RoundId(0), settled: None, statistics: nothing.clone(), own: None },
            snapshot_ratio: 0.0,
            unshared: nothing,
            in_flight: None,
            announced: RoundId(0),
            since_round: Progress::default(),
            wants_round: false,
            outbox: VecDeque::new(),
            blocks: None,
        }
    }

    /// A member of a federation with these terms.
    pub fn under(terms: &Terms, id: ClientId) -> Member {
        let member = Member::new(id, terms.bandit(), terms.trigger());
        if terms.quota().is_some() || terms.least_samples() > 1 {
            member.in_parts(terms.least_samples())
        } else {
            member
        }
    }

    /// That it can offer a part of its data, of at least so many samples.
    #[must_use]
    pub fn in_parts(mut self, least: u64) -> Member {
        self.blocks = Some(Box::new(Blocks::new(self.config.dimension(), least)));
        self
    }

    pub fn id(&self) -> &ClientId {
        &self.id
    }

    pub fn known(&self) -> &Statistics {
        self.bandit.known()
    }

    pub fn bandit(&self) -> &LinUcb {
        &self.bandit
    }

    /// The last round in its snapshot.
    pub fn closed(&self) -> RoundId {
        self.snapshot.closed
    }

    /// What it delivered and nobody else uses, because it is held or void.
    pub fn own(&self) -> Option<&Statistics> {
        self.snapshot.own.as_ref()
    }

    /// What it offered, in a round whose end it has not seen.
    pub fn in_flight(&self) -> Option<&InFlight> {
        self.in_flight.as_ref()
    }

    /// What it learned and has neither delivered nor in flight.
    pub fn unshared(&self) -> &Statistics {
        &self.unshared
    }

    /// What it would offer, if at most so many samples; everything unshared if neither that is bounded nor how few it may offer.
    pub fn to_offer(&self, most: Option<u64>) -> Statistics {
        let most = most.unwrap_or(u64::MAX);
        match &self.blocks {
            Some(blocks) if self.unshared.samples() > most || !blocks.are_ready() => blocks.to_offer(most),
            _ => self.unshared.clone(),
        }
    }

    /// What it would open the next round with; none if it wants none, or may not offer enough of its data.
    pub fn to_open(&self, most: Option<u64>) -> Option<Statistics> {
        let data = self.wants_round.then(|| self.to_offer(most))?;
        let is_enough = data.samples() == self.unshared.samples() || self.is_worth(&data);
        (data.samples() > 0 && is_enough).then_some(data)
    }

    /// What it learned and has not delivered, in flight or not.
    pub fn undelivered(&self) -> Statistics {
        let mut undelivered = self.unshared.clone();
        for part in self.in_flight.iter().map(|in_flight| &in_flight.statistics) {
            undelivered.merge(part).expect("all have one dimension");
        }
        undelivered
    }

    pub fn choose<A: AsRef<[f64]>>(&self, arms: &[A]) -> Result<usize, ChooseError> {
        self.bandit.choose(arms)
    }

    /// [`Member::choose`] from arms wherever they are.
    pub fn choose_among<'a>(&self, arms: impl Iterator<Item = &'a [f64]>) -> Result<usize, ChooseError> {
        self.bandit.choose_among(arms)
    }

    /// Takes in a reward, and wants a round when enough is new. What is refused changes nothing.
    pub fn learn(&mut self, arm: &[f64], reward: f64) -> Result<(), StatisticsError> {
        let before = self.bandit.log_det_ratio();
        self.bandit.learn(arm, reward)?;
        self.unshared.observe(arm, reward)?;
        if let Some(blocks) = &mut self.blocks {
            blocks.observe(arm, reward)?;
        }
        self.since_round.steps += 1;
        self.since_round.nats += self.bandit.log_det_ratio() - before;
        if !self.wants_round && self.has_enough() {
            match &self.in_flight {
                None => self.wants_round = self.is_worth_a_round(),
                // The offer that was to open a round may be lost: the same again.
                Some(InFlight { round, .. }) if *round > self.announced => self.repeat_offer(),
                // Its round may have ended unheard: how, must be known before there is another.
                Some(_) => self.sync(),
            }
        }
        Ok(())
    }

    /// Whether enough is new for a round: [`Member::open_round`] opens it, if it may offer enough by then.
    pub fn wants_round(&self) -> bool {
        self.to_open(None).is_some()
    }

    /// Opens the next round with an offer of its own, of at most so many samples if that is bounded, if it wants one; without a
    /// price it opens none.
    pub fn open_round(&mut self, most: Option<u64>, asking: &mut dyn Asking) {
        if self.announced > self.snapshot.closed {
            // It was open already, and what became of it must be known first.
            if self.wants_round {
                self.sync();
            }
            return;
        }
        // As long as it may not offer enough, it goes on wishing: more falls due with time.
        let Some(data) = self.to_open(most).filter(|_| self.in_flight.is_none()) else { return };
        self.wants_round = false;
        if let Some(ask) = asking.ask(&data) {
            self.put_in_flight(RoundId(self.snapshot.closed.0 + 1), most, data, ask);
        }
    }

    pub fn poll(&mut self) -> Option<Request> {
        self.outbox.pop_front()
    }

    /// Asks for the current snapshot, as after having been away.
    pub fn sync(&mut self) {
        self.outbox.push_back(Request::Sync);
    }

    /// Takes in a message from the coordinator. A snapshot that is refused changes nothing.
    pub fn handle(&mut self, notice: Notice, asking: &mut dyn Asking) -> Result<(), RefreshError> {
        match notice {
            Notice::Opened(round, most) => self.opened(round, most, asking),
            Notice::Awarded(round) => self.awarded(round),
            Notice::Snapshot(snapshot) => {
                self.take_over(snapshot)?;
                self.opened(self.announced, self.blocks.as_ref().and_then(|blocks| blocks.most), asking);
            }
        }
        Ok(())
    }

    /// Offers what is unshared, or as much of it as it may; repeats itself when asked again.
    fn opened(&mut self, round: RoundId, most: Option<u64>, asking: &mut dyn Asking) {
        if let Some(blocks) = self.blocks.as_mut().filter(|_| round >= self.announced) {
            blocks.most = most;
        }
        self.announced = self.announced.max(round);
        if round <= self.snapshot.closed {
            return;
        }
        match &self.in_flight {
            Some(in_flight) if in_flight.round == round => return self.repeat_offer(),
            // An earlier round ended unseen: find out how before anything is offered again.
            Some(_) => return self.sync(),
            None => {}
        }
        // It takes part in the round it may have wanted.
        self.wants_round = false;
        let data = self.to_offer(most);
        let ask = if data.samples() == 0 { None } else { asking.ask(&data) };
        match ask {
            Some(ask) => self.put_in_flight(round, most, data, ask),
            None => self.outbox.push_back(Request::Decline(round)),
        }
    }

    fn repeat_offer(&mut self) {
        if let Some(InFlight { round, statistics, ask, .. }) = &self.in_flight {
            self.outbox.push_back(self.offer(*round, statistics, *ask));
        }
    }

    /// Offers this data, as much as it may have.
    fn put_in_flight(&mut self, round: RoundId, most: Option<u64>, statistics: Statistics, ask: Amount) {
        self.outbox.push_back(self.offer(round, &statistics, ask));
        self.unshared = match &mut self.blocks {
            Some(blocks) => blocks.put_in_flight(most.unwrap_or(u64::MAX)),
            None => Statistics::new(self.config.dimension()).expect("a checked configuration"),
        };
        #[cfg(feature = "planted-faults")]
        if crate::planted::is(crate::planted::Fault::InFlightForgotten) {
            self.unshared = statistics.clone();
        }
        self.in_flight = Some(InFlight { round, statistics, ask, progress: self.since_round });
    }

    fn awarded(&mut self, round: RoundId) {
        if let Some(in_flight) = self.in_flight.as_ref().filter(|in_flight| in_flight.round == round) {
            self.outbox.push_back(Request::Deliver(round, in_flight.statistics.moment().to_vec()));
        }
    }

    /// Replaces what is settled. An older snapshot than the one held changes nothing.
    fn take_over(&mut self, snapshot: Snapshot) -> Result<(), RefreshError> {
        let expected = self.config.dimension();
        for got in [&snapshot.statistics].into_iter().chain(&snapshot.own).map(Statistics::dimension) {
            if got != expected {
                return Err(RefreshError::WrongDimension { got, expected });
            }
        }
        if snapshot.closed < self.snapshot.closed {
            return Ok(());
        }
        let ended = self.in_flight.as_ref().filter(|in_flight| in_flight.round <= snapshot.closed);
        let delivered = ended.is_some_and(|in_flight| snapshot.settled == Some(in_flight.round));
        let mut blocks = self.blocks.clone();
        let unshared = match (&mut blocks, ended) {
            (Some(blocks), Some(_)) => blocks.land(delivered),
            (None, Some(ended)) if !delivered => {
                // First what was learned first: the sums keep the order of the observations.
                let mut back = ended.statistics.clone();
                back.merge(&self.unshared).expect("all have one dimension");
                back
            }
            _ => self.unshared.clone(),
        };
        let mut known = snapshot.statistics.clone();
        #[cfg(feature = "planted-faults")]
        if crate::planted::is(crate::planted::Fault::SnapshotTwice) {
            known.merge(&self.snapshot.statistics).expect("all have one dimension");
        }
        let in_flight = self.in_flight.as_ref().filter(|_| ended.is_none()).map(|in_flight| &in_flight.statistics);
        for part in snapshot.own.iter().chain(in_flight).chain([&unshared]) {
            known.merge(part).expect("all have one dimension");
        }
        let bandit = LinUcb::knowing(self.config, known)?;
        let snapshot_ratio = match self.trigger {
            Trigger { since: Since::Round, checked: false, .. } => 0.0,
            _ => log_det_ratio(&self.config, &snapshot.statistics)?.1,
        };
        // It took part in a round that ended.
        if let Some(progress) = ended.map(|in_flight| in_flight.progress) {
            self.since_round.steps -= progress.steps;
            self.since_round.nats -= progress.nats;
            self.in_flight = None;
            // The wish came from data that has had its round; what is new since is weighed at the next reward.
            self.wants_round = false;
        }
        self.snapshot_ratio = snapshot_ratio;
        (self.bandit, self.unshared, self.snapshot, self.blocks) = (bandit, unshared, snapshot, blocks);
        // What was worth a round may not be any more, now that others' data is settled.
        self.wants_round = self.wants_round && self.is_worth_a_round();
        Ok(())
    }

    /// Whether `n * log(det V_now / det V_then)` exceeds the threshold.
    fn has_enough(&self) -> bool {
        let Progress { steps, nats } = match self.trigger.since {
            Since::Round => self.since_round,
            Since::Delivery => Progress {
                steps: self.unshared.samples()
                    + self.in_flight.as_ref().map_or(0, |flight| flight.statistics.samples()),
                nats: self.bandit.log_det_ratio() - self.snapshot_ratio,
            },
        };
        steps as f64 * nats > self.trigger.threshold
    }

    /// Whether the coordinator would let what is unshared open a round. The bandit's running sum, which rounds otherwise, only
    /// saves the factorisation while there is not enough by far.
    fn is_worth_a_round(&self) -> bool {
        let nearly = self.unshared.samples() as f64 * (self.bandit.log_det_ratio() - self.snapshot_ratio);
        (!self.trigger.checked || nearly > 0.99 * self.trigger.threshold) && self.is_worth(&self.unshared)
    }

    fn is_worth(&self, data: &Statistics) -> bool {
        let settled = self.snapshot.statistics.gram();
        self.trigger.is_met(self.config.lambda(), settled, data.samples(), data.gram())
    }

    fn offer(&self, round: RoundId, statistics: &Statistics, ask: Amount) -> Request {
        let offer = Offer { client: self.id.clone(), ask, gram: statistics.gram().clone() };
        Request::Offer { round, samples: statistics.samples(), offer }
    }
}
