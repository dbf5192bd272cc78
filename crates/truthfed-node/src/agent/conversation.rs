//! What an agent says to its coordinator and when, without I/O: a driver sends, waits and prices, and hands in what came of it.
//!
//! A conversation follows the coordinator's views. It does everything that a view gives rise to, one call at a time, and then
//! asks for the next view. A refusal that only the member could fix ends its part in the round. After any other failure it
//! pauses, each time longer, and begins again with a fresh view. Nothing is lost by that: the agent has written down what it
//! would send, and sends the same bytes again.
//!
//! The driver calls [`Conversation::next`] and does what it says: [`super::Runner`] over a network, a simulation with a clock
//! and a network of its own. A driver may drop what it waits for at any time and begin anew with another conversation.
//!
//! Not here: what to say in a round (a [`Speaker`], such as [`super::Agent`]).

#[cfg(test)]
mod tests;

use std::time::Duration;

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;

use super::link::LinkError;
use super::pauses::Pauses;
use super::rounds::{Step, StepError};
use crate::digest::Nonce;
use crate::error::{Code, Refusal, Whose};
use crate::wire::{Call, Reply, Seen, View};

/// How long the coordinator may wait for news: far below the 60 s after which common proxies drop an idle connection.
const WAIT_MS: u64 = 20_000;
/// More steps than one view can give rise to: sync, price, offer or decline, deliver. Who finds more asks for a new view.
const MAX_STEPS: usize = 16;
/// How often a price is asked for while the application goes on learning; the last time, the application has to wait.
const PRICINGS: usize = 3;

/// A member's side of a conversation: what it says, and what replies mean to it.
pub trait Speaker {
    /// A view came that was asked for after all replies so far: it must show what those said. Fails when it does not.
    fn heard(&mut self, _view: &View) -> Result<(), StepError> {
        Ok(())
    }

    /// What is to be done. Fails when the view cannot be right, or what it says cannot be kept.
    fn next_step(&mut self, view: &View) -> Result<Step, StepError>;

    /// Answers a round: with everything unshared at this price, or, without a price, with nothing. Fails when it cannot
    /// be kept; nothing is in flight then.
    fn opened(&mut self, round: RoundId, nonce: Nonce, ask: Option<Amount>) -> Result<(), StepError>;

    /// The coordinator took a call; `ended` is the last round that ended by the view. Fails if it cannot be right.
    fn taken(&mut self, call: &Call, reply: Reply, ended: RoundId) -> Result<(), StepError>;

    /// The coordinator does not let its offer open this round; if another member opens it, the offer may be made again.
    fn hold_back(&mut self, round: RoundId);

    /// Nothing more is to be sent in this round: the coordinator knows that there is no offer, or takes none.
    fn finish(&mut self, round: RoundId);
}

#[derive(Debug, Clone)]
pub enum Output {
    /// Send this, and hand in the reply. Nothing else happens until then.
    Send(Call),
    /// Send this, and hand in the reply, or a wish that comes before it. After a wish the same call may still be waited for.
    Poll(Call),
    /// Decide on a price for this data in this round, and hand it in. If `alone`, keep the application from learning until the
    /// next output, or the price may never be that of the very data.
    Price { round: RoundId, data: Statistics, alone: bool },
    /// Wait that long. A poll that is under way is of no use any more.
    Wait(Duration),
}

/// Why an exchange with the coordinator broke off. Nothing is lost by it.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Step(#[from] StepError),
}

#[derive(Debug)]
pub struct Conversation {
    pauses: Pauses,
    view: Option<View>,
    steps: usize,
    /// Whether there was no price at which to open a round: until the next view, more of the same data is no reason to ask again.
    is_unwilling: bool,
    /// Whether the poll under way may have been answered before the last call was: its view says less than is known.
    is_overtaken: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// A view is asked for.
    Polling,
    /// A view is asked for that is needed at once.
    Looking,
    /// A view came that is as new as anything known.
    Heard,
    /// The view may give rise to something.
    Working,
    Sent(Call),
    Replied(Call, Box<Reply>),
    Refused(Call, Refusal),
    /// A round is declined after an offer was refused: a courtesy, whose reply does not matter.
    Parting(RoundId),
    Pricing(Pricing),
    Priced(Pricing, Option<Amount>),
    Failed(ExchangeError),
    Pausing,
}

#[derive(Debug)]
struct Pricing {
    round: RoundId,
    data: Statistics,
    /// How often a price was asked for, with this time.
    times: usize,
}

impl Conversation {
    pub fn new(member: &ClientId) -> Conversation {
        let (pauses, state) = (Pauses::of(member), State::Polling);
        Conversation { pauses, view: None, steps: 0, is_unwilling: false, is_overtaken: false, state }
    }

    /// The last view, unless a failure came after it.
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    /// Whether it asks for a new view because of a wish: the poll that was under way need not be waited for.
    pub fn is_looking(&self) -> bool {
        matches!(self.state, State::Looking)
    }

    /// How many steps the last view, or the last wish, gave rise to.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Goes on, with at most one change to the speaker; none when there is more to do at once. Called again before the
    /// reply or the price is handed in, it gives the same output. Fails when the exchange broke off: go on after that,
    /// with a pause.
    pub fn next(&mut self, speaker: &mut impl Speaker) -> Result<Option<Output>, ExchangeError> {
        let state = std::mem::replace(&mut self.state, State::Pausing);
        let next = self.advance(state, speaker);
        if next.is_err() {
            (self.view, self.state) = (None, State::Pausing);
        }
        next
    }

    fn advance(&mut self, state: State, speaker: &mut impl Speaker) -> Result<Option<Output>, ExchangeError> {
        self.state = match state {
            State::Heard => {
                speaker.heard(self.view.as_ref().expect("it was heard"))?;
                return self.work(speaker);
            }
            State::Working => return self.work(speaker),
            State::Priced(pricing, ask) => self.answer(speaker, &pricing, ask)?,
            State::Replied(call, reply) => {
                let ended = self.view.as_ref().map_or(RoundId(0), |view| view.closed);
                speaker.taken(&call, *reply, ended)?;
                State::Working
            }
            State::Refused(call, refusal) => refused(speaker, (&call, self.view.as_ref()), refusal)?,
            State::Failed(error) => return Err(error),
            State::Pausing => {
                (self.state, self.is_overtaken) = (State::Polling, false);
                return Ok(Some(Output::Wait(self.pauses.next())));
            }
            waiting @ (State::Polling | State::Looking | State::Sent(_) | State::Parting(_) | State::Pricing(_)) => {
                waiting
            }
        };
        Ok(self.awaited())
    }

    /// What the driver is to bring, if it is to bring something.
    fn awaited(&self) -> Option<Output> {
        match &self.state {
            State::Polling => {
                let seen = self.view.as_ref().map(|view| Seen { after: Some(view.version), wait_ms: WAIT_MS });
                Some(Output::Poll(Call::View(seen.unwrap_or_default())))
            }
            State::Looking => Some(Output::Send(Call::View(Seen::default()))),
            State::Sent(call) => Some(Output::Send(call.clone())),
            State::Parting(round) => Some(Output::Send(Call::Decline(*round))),
            State::Pricing(Pricing { round, data, times }) => {
                Some(Output::Price { round: *round, data: data.clone(), alone: *times == PRICINGS })
            }
            _ => None,
        }
    }

    fn work(&mut self, speaker: &mut impl Speaker) -> Result<Option<Output>, ExchangeError> {
        let view = self.view.as_ref().expect("only a view gives rise to work");
        let step = if self.steps < MAX_STEPS { speaker.next_step(view)? } else { Step::Nothing };
        self.steps += usize::from(!matches!(step, Step::Nothing));
        self.state = match step {
            Step::Nothing => {
                self.pauses.begin_anew();
                State::Polling
            }
            Step::Send(call) => State::Sent(call),
            Step::Price(round, _, Some(data)) => State::Pricing(Pricing { round, data, times: 1 }),
            Step::Price(round, nonce, None) => {
                speaker.opened(round, nonce, None)?;
                State::Working
            }
        };
        Ok(self.awaited())
    }

    /// Answers a round, unless more was learned since the price was asked for: a price is that of the very data offered.
    fn answer(
        &mut self,
        speaker: &mut impl Speaker,
        pricing: &Pricing,
        ask: Option<Amount>,
    ) -> Result<State, ExchangeError> {
        let view = self.view.as_ref().expect("a price is asked for after a view");
        match speaker.next_step(view)? {
            // Nothing is said to a round that is not open: the next view may find a price.
            Step::Price(..) if ask.is_none() && view.open.is_none() => {
                self.is_unwilling = true;
                Ok(State::Polling)
            }
            Step::Price(round, nonce, Some(data)) if round == pricing.round && data == pricing.data => {
                speaker.opened(round, nonce, ask)?;
                Ok(State::Working)
            }
            Step::Price(round, _, Some(data)) => {
                Ok(State::Pricing(Pricing { round, data, times: (pricing.times + 1).min(PRICINGS) }))
            }
            _ => Ok(State::Working),
        }
    }

    /// The reply to what was sent or polled for. One that nobody waits for is ignored.
    pub fn reply(&mut self, reply: Result<impl AsRef<[u8]>, LinkError>) {
        let garbled = |refusal: Refusal| LinkError::Garbled(refusal.message);
        self.state = match (std::mem::replace(&mut self.state, State::Working), reply) {
            (state @ (State::Polling | State::Looking), reply) => {
                // The poll that was under way when the member looked is still to come.
                let is_poll = matches!(state, State::Polling);
                let is_overtaken = self.is_overtaken;
                self.is_overtaken = is_overtaken && !is_poll;
                let call = Call::View(Seen::default());
                match reply.and_then(|reply| call.read_reply(reply.as_ref()).map_err(garbled)) {
                    Ok(Reply::View(view)) => {
                        (self.view, self.steps, self.is_unwilling) = (Some(view), 0, false);
                        if is_overtaken { State::Working } else { State::Heard }
                    }
                    Ok(_) => unreachable!("a view is answered with a view"),
                    Err(error) => State::Failed(error.into()),
                }
            }
            (State::Sent(call), Ok(reply)) => match call.read_reply(reply.as_ref()).map_err(garbled) {
                Ok(reply) => State::Replied(call, Box::new(reply)),
                Err(error) => State::Failed(error.into()),
            },
            (State::Sent(call), Err(LinkError::Refused(refusal))) => State::Refused(call, refusal),
            (State::Sent(_), Err(error)) => State::Failed(error.into()),
            (State::Parting(_), _) => State::Working,
            (state, _) => state,
        };
    }

    /// The price that was asked for; none when there is to be no offer.
    pub fn priced(&mut self, ask: Option<Amount>) {
        self.state = match std::mem::replace(&mut self.state, State::Working) {
            State::Pricing(pricing) => State::Priced(pricing, ask),
            state => state,
        };
    }

    /// The member wishes for a round: it says so at once, and does not wait for the next view. A wish that comes when there
    /// is no view, or while it talks, is heard anyway: the speaker knows of it.
    pub fn wish(&mut self) {
        let Some(view) = self.view.as_ref().filter(|_| matches!(self.state, State::Polling) && !self.is_unwilling)
        else {
            return;
        };
        // How much may be offered grows with time: what the last view says of it may be long out of date.
        let state = if view.most_samples.is_some() { State::Looking } else { State::Working };
        (self.state, self.steps, self.is_overtaken) = (state, 0, true);
    }
}

/// Gives up the round, if only the member could fix what is refused; otherwise the exchange. It declines the round where it
/// can, as a courtesy to the others, who wait for the deadline without that.
fn refused(
    speaker: &mut impl Speaker,
    (call, view): (&Call, Option<&View>),
    refusal: Refusal,
) -> Result<State, ExchangeError> {
    let is_open = view.is_some_and(|view| view.open.is_some());
    let has_quota = view.is_some_and(|view| view.most_samples.is_some());
    let (round, next) = match (call, refusal.code) {
        (_, code) if code.whose() != Whose::Member => return Err(LinkError::Refused(refusal).into()),
        // It ends before the next round if all others who are not excluded are revoked.
        (Call::Offer(..), Code::Excluded | Code::Suspended) => return Err(LinkError::Refused(refusal).into()),
        // More falls due with time. The view may have said so before the coordinator's clock was set back.
        (Call::Offer(..), Code::TooManySamples) if has_quota && !is_open => {
            return Err(LinkError::Refused(refusal).into());
        }
        (Call::Offer(round, _), code) if stays_out(code) => (*round, State::Working),
        (Call::Offer(round, _), _) => (*round, State::Parting(*round)),
        (Call::Decline(round) | Call::Deliver(round, _), _) => (*round, State::Working),
        _ => return Err(LinkError::Refused(refusal).into()),
    };
    tracing::warn!(round = round.0, %refusal, "refused by the coordinator");
    if !is_open && matches!(call, Call::Offer(..)) {
        speaker.hold_back(round);
        return Ok(State::Working);
    }
    speaker.finish(round);
    Ok(next)
}

/// Whether whoever offers takes no part in the round, so that nobody waits for a word of it.
fn stays_out(code: Code) -> bool {
    use Code::{ConflictingRetry, StaleRound, TriggerNotMet, WrongPhase};
    matches!(code, StaleRound | WrongPhase | ConflictingRetry | TriggerNotMet)
}
