//! How likely each kind of fault is in a run. Some kinds are absent from a run altogether: what one kind hides, a run
//! without it shows.

use truthfed::generate::Stream;

/// Chances, each in [0, 1]: of a message, of a transaction, or of a moment of bad weather. By default there are no faults.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Weather {
    pub loss: f64,
    /// A message comes again, some time later.
    pub replay: f64,
    /// An old message comes again under the path of the open round.
    pub readdress: f64,
    /// An old reply takes the place of a new one.
    pub stale: f64,
    pub late: f64,
    /// One direction of a link is cut for a while.
    pub cut: f64,
    /// A link holds its messages back for a while, and lets them go in any order.
    pub clog: f64,
    /// The coordinator is killed around a transaction.
    pub kill: f64,
    /// A kill of the coordinator or a member is a loss of power.
    pub power: f64,
    /// The coordinator's disk fails in the middle of a transaction.
    pub disk: f64,
    /// The coordinator's disk is full for a while.
    pub full: f64,
    pub recovery: f64,
    /// The coordinator is held up until another one has taken over.
    pub pause: f64,
    /// A clock of the coordinator jumps.
    pub clock: f64,
    /// A member is killed between two calls.
    pub member_kill: f64,
    /// A member's disk fails in the middle of a call.
    pub member_disk: f64,
    /// A member's disk is full for a while.
    pub member_full: f64,
    /// A member is gone for long.
    pub gone: f64,
    pub lie: f64,
    /// An attacker says something, whenever it may.
    pub attack: f64,
    /// A member repeats itself many times.
    pub flood: f64,
    pub revoke: f64,
    /// The operator rules about the data of a member.
    pub rule: f64,
    /// The operator records what it transferred to a member.
    pub pay_out: f64,
    /// The operator pauses rounds for a while.
    pub halt: f64,
    /// The operator ends a round.
    pub abort: f64,
    /// A member that was not there from the beginning comes.
    pub enrol: f64,
}

impl Weather {
    /// The weather of one run; now and then there are no faults at all.
    pub(crate) fn draw(dice: &mut Stream) -> Weather {
        if dice.chance(0.03) {
            return Weather::default();
        }
        let mut up_to = |most: f64| if dice.chance(0.45) { 0.0 } else { dice.uniform() * most };
        Weather {
            loss: up_to(0.3),
            replay: up_to(0.5),
            readdress: up_to(0.1),
            stale: up_to(0.05),
            late: up_to(0.2),
            cut: up_to(0.2),
            clog: up_to(0.2),
            kill: up_to(0.1),
            power: up_to(1.0),
            disk: up_to(0.15),
            full: up_to(0.05),
            recovery: up_to(0.3),
            pause: up_to(0.05),
            clock: up_to(0.1),
            member_kill: up_to(0.05),
            member_disk: up_to(0.06),
            member_full: up_to(0.05),
            gone: up_to(0.1),
            lie: up_to(0.5),
            attack: up_to(0.6),
            flood: up_to(0.05),
            revoke: up_to(0.01),
            rule: up_to(0.03),
            pay_out: up_to(0.05),
            enrol: up_to(0.2),
            halt: up_to(0.05),
            abort: up_to(0.03),
        }
    }
}
