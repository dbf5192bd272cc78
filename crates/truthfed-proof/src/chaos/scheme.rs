//! Members that attack by the rules: every message is signed, in range, and within the tolerances of the terms.
//!
//! They have no agent. They look at what they are shown, and say what serves them.

use truthfed::Amount;
use truthfed::protocol::RoundId;
use truthfed::statistics::Gram;
use truthfed_node::digest::{Digest, Hex, Nonce};
use truthfed_node::net::{body_bytes, message_bytes};
use truthfed_node::wire::{
    Call, Context, DELIVERY_SCHEMA, DeliveryContent, OFFER_SCHEMA, OfferContent, Phase, View, commitment,
};

use crate::chaos::coordinator::Stalled;
use crate::chaos::{Request, Sums, World};

/// The salt of every commitment.
const SALT: Nonce = Hex([9; 16]);
/// A flood has so many copies of one message.
const FLOOD: usize = 20;

/// What an attacker offered last.
pub(crate) struct Offered {
    round: RoundId,
    context: Context,
    digest: Digest,
    /// Whether it will deliver if it wins.
    delivers: bool,
}

/// What is offered, for how much, and whether it is ever delivered.
struct Attack {
    samples: u64,
    /// The diagonal of the Gram matrix.
    diagonal: Vec<f64>,
    ask: Amount,
    delivers: bool,
}

impl World<'_> {
    /// A moment in which an attacker may say something.
    pub(crate) fn scheme(&mut self, member: usize) {
        if self.now < self.members[member].gone_until || !self.dice.chance(self.weather().attack) {
            return;
        }
        if self.dice.chance(0.2) {
            return self.stall(member);
        }
        let name = self.members[member].name();
        let newest = self.site.processes.last().filter(|process| !process.is_paused);
        let Some(View { open, next, .. }) = newest.and_then(|process| process.shown_to(&name)) else { return };
        match (open, next) {
            (Some(open), _) if open.phase == Phase::Offers && !open.answered => {
                self.attack(member, open.round, open.nonce);
            }
            (Some(open), _) if open.phase == Phase::Deliveries => self.deliver_nothing(member, open.round),
            (None, Some(next)) => self.attack(member, next.round, next.nonce),
            _ => {}
        }
    }

    /// Announces a large body and a small one, as many bytes as it may have, and sends neither.
    fn stall(&mut self, member: usize) {
        let until = self.now + self.dice.between(100, 3000) as u64;
        let dimension = self.plan.agreement.dimension();
        let newest = self.site.processes.last_mut().filter(|process| !process.is_paused);
        let Some(process) = newest else { return };
        for bytes in [body_bytes(dimension), message_bytes(dimension)] {
            if let Ok(part) = process.intake.reserve(member, bytes) {
                process.stalled.push(Stalled { member, bytes, until, _part: part });
            }
        }
        self.count("member-stalled");
    }

    fn attack(&mut self, member: usize, round: RoundId, nonce: Nonce) {
        let Attack { samples, diagonal, ask, delivers } = self.choose_attack();
        let (membership, dimension) = (&self.members[member].membership, diagonal.len());
        let context = Context {
            federation: membership.federation,
            round,
            nonce,
            terms: membership.agreement.hash(),
            member: membership.member.clone(),
        };
        let lower = (0..dimension).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let lower = lower.map(|(i, j)| if i == j { diagonal[i] } else { 0.0 }).collect();
        let content = OfferContent {
            schema: OFFER_SCHEMA.to_owned(),
            context: context.clone(),
            gram: Gram::from_lower(dimension, lower).expect("a triangle of moderate numbers"),
            samples,
            ask_micros: ask,
            commitment: commitment(SALT, &vec![0.0; dimension]),
        };
        let offer = membership.signer.seal(OFFER_SCHEMA, &content);
        let digest = offer.digest();
        self.observer.secrets.note(&context.member, ask);
        self.members[member].offered = Some(Offered { round, context, digest, delivers });
        self.count("member-attacked");
        self.say(member, &Call::Offer(round, offer));
    }

    /// The moment that was committed to, of data that there never was.
    fn deliver_nothing(&mut self, member: usize, round: RoundId) {
        let node = &self.members[member];
        let Some(offered) = node.offered.as_ref().filter(|offered| offered.round == round && offered.delivers) else {
            return;
        };
        let moment = vec![0.0; self.plan.agreement.dimension()];
        let (schema, context, offer) = (DELIVERY_SCHEMA.to_owned(), offered.context.clone(), offered.digest);
        let content = DeliveryContent { schema, context, offer, moment, salt: SALT };
        let delivery = node.membership.signer.seal(DELIVERY_SCHEMA, &content);
        self.say(member, &Call::Deliver(round, delivery));
    }

    /// Says something, and now and then all day long.
    fn say(&mut self, member: usize, call: &Call) {
        let request = Request::of(0, member, call);
        let times = if self.dice.chance(0.1) { FLOOD } else { 1 };
        (0..times).for_each(|_| self.request(request.clone()));
    }

    fn choose_attack(&mut self) -> Attack {
        let terms = &self.plan.agreement;
        let (dimension, reserve) = (terms.dimension(), terms.raw().reserve.micros());
        let most = terms.raw().samples.min(self.observer.room());
        let samples = self.dice.pick(&[most, most, most / 2, 64]).min(most);
        let (whole, each) = (samples as f64, (samples / dimension as u64) as f64);
        let one = |size: f64| (0..dimension).map(|i| if i == 0 { size } else { 0.0 }).collect::<Vec<f64>>();
        let nothing = Amount::ZERO;
        match self.dice.between(0, 5) {
            // As large as there can be, and a little below zero in the last direction. What is delivered stays.
            0 if dimension > 1 => {
                let size = (samples / (dimension as u64 - 1)) as f64;
                let mut diagonal = vec![size; dimension - 1];
                diagonal.push(-Sums::round_down(0.9 * self.tolerance() * diagonal.iter().sum::<f64>()));
                Attack { samples, diagonal, ask: nothing, delivers: self.dice.chance(0.7) }
            }
            // Everything in one direction, for nothing, and never delivered.
            1 => Attack { samples, diagonal: one(whole), ask: nothing, delivers: false },
            // Everything in all directions, likewise.
            2 => Attack { samples, diagonal: vec![each; dimension], ask: nothing, delivers: false },
            // Worth a round, and dearer than anything that is bought.
            3 | 4 => {
                let ask = reserve + self.dice.between(0, 999_999) as i64;
                let ask = Amount::from_micros(ask).expect("a little above the reserve");
                Attack { samples, diagonal: vec![each; dimension], ask, delivers: false }
            }
            // Not worth a round.
            _ => match self.dice.chance(0.5) {
                true => Attack { samples: 0, diagonal: one(0.0), ask: nothing, delivers: true },
                false => Attack { samples: 1.min(samples), diagonal: one(0.0), ask: nothing, delivers: true },
            },
        }
    }

    /// The share of its trace by which eigenvalues of an offer may lie below zero: an eighth of lambda for the whole capacity.
    fn tolerance(&self) -> f64 {
        let terms = &self.plan.agreement;
        (terms.bandit().lambda() / (8.0 * terms.capacity() as f64 * terms.raw().norm.powi(2))).min(1e-6)
    }
}
