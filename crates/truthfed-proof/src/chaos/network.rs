//! A network that loses, delays, repeats, reorders, cuts off and holds back, and what crosses it: bytes, as over HTTP.

use std::collections::VecDeque;
use std::fmt;
use std::mem::discriminant;
use std::sync::Arc;

use truthfed::protocol::RoundId;
use truthfed_node::error::Refusal;
use truthfed_node::wire::{Call, Seen};

use crate::chaos::world::{Event, World};

/// Old messages that may come again.
const HISTORY: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Names it for whoever waits for the reply; 0 when nobody does.
    pub(crate) id: u64,
    /// Who sends it: told by its certificate.
    pub(crate) member: usize,
    pub(crate) to: Call,
    /// What is sent there: the body of the call, unless somebody lies.
    pub(crate) body: String,
}

impl Request {
    /// An honest one.
    pub(crate) fn of(id: u64, member: usize, call: &Call) -> Request {
        let body = String::from_utf8(call.message().body.into()).expect("messages are text");
        Request { id, member, to: call.clone(), body }
    }

    pub(crate) fn call(&self) -> Result<Call, Refusal> {
        self.to.with_body(self.body.as_bytes())
    }

    pub(crate) fn readdressed(&self, round: RoundId) -> Request {
        let to = match self.to.clone() {
            Call::Offer(_, offer) => Call::Offer(round, offer),
            Call::Decline(_) => Call::Decline(round),
            Call::Deliver(_, delivery) => Call::Deliver(round, delivery),
            other => other,
        };
        Request { id: 0, to, ..self.clone() }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.to, self.to.round()) {
            (Call::View(Seen { after: Some(after), .. }), _) => write!(f, "View after {after}"),
            (call, Some(round)) => write!(f, "{} {round}", call.name()),
            (call, None) => write!(f, "{}", call.name()),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) request: Arc<Request>,
    pub(crate) outcome: Result<String, String>,
}

#[derive(Debug, Clone)]
pub(crate) enum Parcel {
    Request(Arc<Request>),
    Reply(Reply),
}

impl Parcel {
    /// At whose end of the network it is.
    pub(crate) fn member(&self) -> usize {
        match self {
            Parcel::Request(request) => request.member,
            Parcel::Reply(reply) => reply.request.member,
        }
    }
}

pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("messages are JSON")
}

/// The links between members and the coordinator, and what was said on them.
#[derive(Debug, Default)]
pub(crate) struct Network {
    links: Vec<Link>,
    requests: VecDeque<Arc<Request>>,
    replies: VecDeque<Reply>,
}

#[derive(Debug, Default)]
struct Link {
    /// Requests are lost until then.
    up_cut: u64,
    /// Replies are lost until then.
    down_cut: u64,
    clogged: u64,
    held: Vec<Parcel>,
}

impl Network {
    pub(crate) fn new(members: usize) -> Network {
        Network { links: (0..members).map(|_| Link::default()).collect(), ..Network::default() }
    }

    pub(crate) fn heard(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter().map(AsRef::as_ref)
    }

    /// All links are whole again.
    pub(crate) fn heal(&mut self) -> Vec<Parcel> {
        self.requests.clear();
        self.replies.clear();
        self.links.iter_mut().flat_map(|link| std::mem::take(link).held).collect()
    }
}

impl World<'_> {
    /// Sends something, and perhaps more than once.
    pub(crate) fn send(&mut self, parcel: Parcel) {
        match &parcel {
            Parcel::Request(request) => push(&mut self.net.requests, request.clone()),
            Parcel::Reply(reply) => push(&mut self.net.replies, reply.clone()),
        }
        self.maybe_repeat(&parcel);
        self.transmit(parcel);
    }

    fn maybe_repeat(&mut self, parcel: &Parcel) {
        let weather = self.weather();
        if let Parcel::Request(_) = parcel
            && self.dice.chance(weather.replay)
        {
            self.count("message-repeated");
            self.within(1, 3000, Event::Arrive(parcel.clone()));
        }
        if self.dice.chance(weather.readdress) {
            self.readdress();
        }
    }

    /// An old message comes under the path of the open round.
    fn readdress(&mut self) {
        let Some(round) = self.observer.open_round() else { return };
        let old: Vec<_> = self.net.requests.iter().filter(|request| request.to.round().is_some()).cloned().collect();
        if old.is_empty() {
            return;
        }
        let readdressed = Arc::new(old[self.dice.between(0, old.len() - 1)].readdressed(round));
        self.count("message-readdressed");
        self.within(1, 200, Event::Arrive(Parcel::Request(readdressed)));
    }

    fn transmit(&mut self, parcel: Parcel) {
        let weather = self.weather();
        let link = &mut self.net.links[parcel.member()];
        let cut = if matches!(parcel, Parcel::Request(_)) { link.up_cut } else { link.down_cut };
        if self.now < cut {
            return;
        }
        if self.now < link.clogged {
            return link.held.push(parcel);
        }
        if self.dice.chance(weather.loss) {
            return self.count("message-lost");
        }
        let mut delay = self.dice.between(1, 10) as u64;
        if self.dice.chance(weather.late) {
            delay += self.dice.between(50, 1500) as u64;
            self.count("message-late");
        }
        self.at(delay, Event::Arrive(parcel));
    }

    pub(crate) fn cut(&mut self, member: usize) {
        let until = self.now + self.dice.between(100, 4000) as u64;
        let link = &mut self.net.links[member];
        let cut = if self.dice.chance(0.5) { &mut link.up_cut } else { &mut link.down_cut };
        *cut = until;
        self.count("link-cut");
    }

    /// Clogs a link, and lets everything go later.
    pub(crate) fn clog(&mut self, member: usize) {
        let lasts = self.dice.between(100, 3000) as u64;
        self.net.links[member].clogged = self.now + lasts;
        self.count("link-clogged");
        self.at(lasts, Event::Unclog(member));
    }

    /// Lets go what a link held back, in any order.
    pub(crate) fn unclog(&mut self, member: usize) {
        for parcel in std::mem::take(&mut self.net.links[member].held) {
            self.within(1, 50, Event::Arrive(parcel));
        }
    }

    /// An older reply to the same kind of request of the same member.
    pub(crate) fn stale(&mut self, fresh: &Reply) -> Option<Reply> {
        if !self.dice.chance(self.weather().stale) {
            return None;
        }
        let is_like = |reply: &&Reply| {
            let (old, new) = (&reply.request, &fresh.request);
            old.member == new.member && discriminant(&old.to) == discriminant(&new.to)
        };
        let old: Vec<Reply> = self.net.replies.iter().filter(is_like).cloned().collect();
        let picked = old.get(self.dice.between(0, old.len().saturating_sub(1)))?.clone();
        self.count("reply-stale");
        Some(Reply { request: fresh.request.clone(), ..picked })
    }
}

fn push<T>(history: &mut VecDeque<T>, item: T) {
    if history.len() == HISTORY {
        history.pop_front();
    }
    history.push_back(item);
}
