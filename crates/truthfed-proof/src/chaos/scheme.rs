//! Members that attack by the rules: every message is signed, in range, and within the tolerances of the terms.
//!
//! They have no agent. They look at what they are shown, and say what serves them.

use truthfed::Amount;
use truthfed::protocol::RoundId;
use truthfed::statistics::{Factor, Gram};
use truthfed_node::digest::{Digest, Hex, Nonce};
use truthfed_node::net::{body_bytes, message_bytes};
use truthfed_node::wire::{
    Call, Context, DELIVERY_SCHEMA, DeliveryContent, OFFER_SCHEMA, OfferContent, Phase, View, commitment,
};

use crate::chaos::coordinator::Stalled;
use crate::chaos::{Request, Role, Sums, World};

/// The salt of every commitment.
const SALT: Nonce = Hex([9; 16]);
/// A flood has so many copies of one message.
const FLOOD: usize = 20;

/// What an attacker offered last.
pub(crate) struct Offered {
    round: RoundId,
    context: Context,
    digest: Digest,
    /// What it delivers if it wins, if it will.
    moment: Option<Vec<f64>>,
}

/// What is offered, for how much, and whether it is ever delivered.
struct Attack {
    samples: u64,
    gram: Gram,
    ask: Amount,
    /// What it commits to.
    moment: Vec<f64>,
    delivers: bool,
}

impl Attack {
    /// With a Gram matrix of this diagonal, of data whose rewards are all zero.
    fn with_diagonal(samples: u64, diagonal: &[f64], ask: Amount, delivers: bool) -> Attack {
        let lower = (0..diagonal.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let lower = lower.map(|(i, j)| if i == j { diagonal[i] } else { 0.0 }).collect();
        let gram = Gram::from_lower(diagonal.len(), lower).expect("a triangle of moderate numbers");
        Attack { samples, gram, ask, moment: vec![0.0; diagonal.len()], delivers }
    }
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
            (Some(open), _) if open.phase == Phase::Deliveries => self.deliver(member, open.round),
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
        let attack = match self.members[member].role {
            Role::Inventor(_) => self.invert(),
            _ => self.choose_attack(),
        };
        let Attack { samples, gram, ask, moment, delivers } = attack;
        let membership = &self.members[member].membership;
        let context = Context {
            federation: membership.federation,
            round,
            nonce,
            terms: membership.agreement.hash(),
            member: membership.member.clone(),
        };
        let content = OfferContent {
            schema: OFFER_SCHEMA.to_owned(),
            context: context.clone(),
            gram,
            samples,
            ask_micros: ask,
            commitment: commitment(SALT, &moment),
        };
        let offer = membership.signer.seal(OFFER_SCHEMA, &content);
        let digest = offer.digest();
        self.observer.secrets.note(&context.member, ask);
        let moment = delivers.then_some(moment);
        self.members[member].offered = Some(Offered { round, context, digest, moment });
        self.count("member-attacked");
        self.say(member, &Call::Offer(round, offer));
    }

    /// The moment that was committed to, of data that there never was.
    fn deliver(&mut self, member: usize, round: RoundId) {
        let node = &self.members[member];
        let Some(offered) = node.offered.as_ref().filter(|offered| offered.round == round) else { return };
        let Some(moment) = offered.moment.clone() else { return };
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
                Attack::with_diagonal(samples, &diagonal, nothing, self.dice.chance(0.7))
            }
            // Everything in one direction, for nothing, and never delivered.
            1 => Attack::with_diagonal(samples, &one(whole), nothing, false),
            // Everything in all directions, likewise.
            2 => Attack::with_diagonal(samples, &vec![each; dimension], nothing, false),
            // Worth a round, and dearer than anything that is bought.
            3 | 4 => {
                let ask = reserve + self.dice.between(0, 999_999) as i64;
                let ask = Amount::from_micros(ask).expect("a little above the reserve");
                Attack::with_diagonal(samples, &vec![each; dimension], ask, false)
            }
            // Not worth a round.
            _ => match self.dice.chance(0.5) {
                true => Attack::with_diagonal(0, &one(0.0), nothing, true),
                false => Attack::with_diagonal(1.min(samples), &one(0.0), nothing, true),
            },
        }
    }

    /// What makes the determinant of all that is settled 2.6 times as large, and says the opposite of it. In whole units, so that sums
    /// stay exact.
    fn invert(&mut self) -> Attack {
        self.count("data-invented");
        let terms = &self.plan.agreement;
        let (d, raw) = (terms.dimension(), terms.raw());
        let settled = self.observer.samples.settled_now().statistics();
        let all = settled.gram().ridge(terms.bandit().lambda());
        let most = raw.samples.min(self.observer.room());
        let factor = (2.6_f64.powf(1.0 / d as f64) - 1.0).min(0.9 * most as f64 / all.trace());
        let lower = all.lower().iter().map(|entry| Sums::round_down(factor * entry)).collect();
        let gram = Gram::from_lower(d, lower).expect("a multiple of sums that were read");
        let believed = Factor::new(&all).expect("a ridge makes it positive").solve(settled.moment());
        let opposite = |row: &Vec<f64>| Sums::round_down(row.iter().zip(&believed).map(|(x, y)| -0.999 * x * y).sum());
        let moment = gram.rows().iter().map(opposite).collect();
        // Contexts are not longer than 1.
        let samples = (gram.trace().ceil() as u64).max(terms.least_samples()).max(d as u64).min(most);
        Attack { samples, gram, ask: Amount::ZERO, moment, delivers: true }
    }

    /// The share of its trace by which eigenvalues of an offer may lie below zero: an eighth of lambda for the whole capacity.
    fn tolerance(&self) -> f64 {
        let terms = &self.plan.agreement;
        (terms.bandit().lambda() / (8.0 * terms.capacity() as f64 * terms.raw().norm.powi(2))).min(1e-6)
    }
}
