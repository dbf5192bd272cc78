//! What happens in a life, step by step.

use super::{FIRST, Kind, Life, Plan, RENEWING, Site, Template, Trace};

/// A script: a federation begins, lives and ends.
pub(crate) type Script = fn(Life) -> Trace;

/// Lives a life, and says all that came of it.
pub(crate) fn live(template: &Template, kind: Kind, script: Script, plan: &Plan) -> Trace {
    script(Life::begin(Site::new(template, kind), plan.clone()))
}

/// Two rounds in which nobody is late.
pub(crate) fn two_rounds(mut life: Life) -> Trace {
    life.first_offers();
    life.last_offer();
    life.first_deliveries();
    life.between();
    life.second_round();
    life.end()
}

/// One round in which a member does not offer, and a winner does not deliver.
pub(crate) fn deadlines(mut life: Life) -> Trace {
    life.first_offers();
    // Time is up for the third: sealed, awarded.
    life.recorded(2);
    life.turn(0, |life| life.recorded(1));
    // Time is up for the second: settled, a checkpoint.
    life.recorded(2);
    (0..FIRST).for_each(|member| life.turn(member, |life| life.synced(member, 1)));
    life.end()
}

/// One round, after which a member that delivered is revoked, and what it delivered is taken out of what all share.
pub(crate) fn forgotten(mut life: Life) -> Trace {
    life.first_offers();
    life.last_offer();
    life.first_deliveries();
    life.operate("revoke", 1);
    // Revoked, a checkpoint.
    life.recorded(2);
    life.rule("forget", 1);
    // Ruled, a checkpoint.
    life.recorded(2);
    [0, 2].into_iter().for_each(|member| life.turn(member, |life| life.synced(member, 2)));
    life.end()
}

impl Life {
    /// The first member opens a round with its offer; the second offers.
    pub(crate) fn first_offers(&mut self) {
        self.turn(1, |life| life.learn(1, "[0, 1]", 0.5));
        self.turn(2, |life| life.learn(2, "[0.6, 0.8]", 0.25));
        self.turn(0, |life| {
            (0..2).for_each(|_| life.learn(0, "[1, 0]", 0.75));
            life.recorded(2);
        });
        self.turn(1, |life| life.recorded(1));
    }

    /// The third offers, which decides: sealed, awarded.
    pub(crate) fn last_offer(&mut self) {
        self.turn(2, |life| life.recorded(3));
    }

    /// The first two won and deliver, which settles: settled, a checkpoint.
    pub(crate) fn first_deliveries(&mut self) {
        self.turn(0, |life| life.recorded(1));
        self.turn(1, |life| life.recorded(3));
        (0..FIRST).for_each(|member| self.turn(member, |life| life.synced(member, 1)));
    }

    /// An agent stops in order and comes back; somebody joins; the first member's payment, which waits as nobody else's data
    /// confirms it, is released by the operator, and some of it is paid out; the third renews its key; rounds are paused
    /// and resumed.
    pub(crate) fn between(&mut self) {
        self.come_back();
        self.site.issue();
        self.operate("add", FIRST);
        // Enrolled, a checkpoint.
        self.recorded(2);
        self.join(FIRST);
        self.turn(FIRST, |life| life.synced(FIRST, 1));
        self.rule("release", 0);
        // Ruled, a checkpoint.
        self.recorded(2);
        (0..=FIRST).for_each(|member| self.turn(member, |life| life.synced(member, 2)));
        self.pay_out();
        // Paid out, a checkpoint.
        self.recorded(2);
        self.renew();
        // Renewed, a checkpoint.
        self.recorded(2);
        self.exchange(RENEWING);
        ["pause", "resume"].into_iter().for_each(|change| {
            self.pause_or_resume(change);
            // Paused or resumed, a checkpoint.
            self.recorded(2);
        });
    }

    /// Who joined wins, and is revoked before it delivers.
    pub(crate) fn second_round(&mut self) {
        self.turn(1, |life| life.learn(1, "[0, 1]", 0.5));
        self.turn(2, |life| life.learn(2, "[0.6, 0.8]", 0.25));
        self.turn(FIRST, |life| life.learn(FIRST, "[0.8, 0.6]", 1.0));
        self.turn(0, |life| {
            (0..3).for_each(|_| life.learn(0, "[1, 0]", 0.75));
            life.recorded(2);
        });
        [FIRST, 1].into_iter().for_each(|member| self.turn(member, |life| life.recorded(1)));
        self.last_offer();
        [0, 1].into_iter().for_each(|member| self.turn(member, |life| life.recorded(1)));
        self.operate("revoke", FIRST);
        // Revoked, a checkpoint; settled, a checkpoint.
        self.recorded(4);
        (0..FIRST).for_each(|member| self.turn(member, |life| life.synced(member, 3)));
    }
}
