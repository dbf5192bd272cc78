//! Bad weather: what strikes between messages and transactions.

use truthfed::Amount;
use truthfed::protocol::Ruling;
use truthfed_node::engine::Command;
use truthfed_node::ledger::Reference;

use crate::chaos::{Event, Node, World};
use crate::disk::{Disk, Fault, Lasts, Operation, Plan};

/// Time between two moments at which the weather may strike.
const STORM_MS: (usize, usize) = (20, 200);

/// How likely the operator lets rounds go on at such a moment.
const RESUMED: f64 = 0.3;

/// More than a clock may lie behind the journal if rounds are to open.
const MINUTES_MS: usize = 420_000;

/// How likely something strikes, and what it does, perhaps to a member.
type Strike<'a> = (f64, fn(&mut World<'a>, usize));

impl World<'_> {
    /// A moment at which anything may strike.
    pub(crate) fn storm(&mut self) {
        if self.is_calm {
            return;
        }
        self.within(STORM_MS.0, STORM_MS.1, Event::Storm);
        let weather = self.weather();
        let member = self.dice.between(0, self.members.len() - 1);
        let strikes: [Strike<'_>; 14] = [
            (weather.cut, Self::cut),
            (weather.clog, Self::clog),
            (weather.gone, Self::go_away),
            (weather.member_full, |world, member| world.fill(Some(member))),
            (weather.member_kill, Self::kill_member),
            (weather.full, |world, _| world.fill(None)),
            (weather.clock, |world, _| world.jump()),
            (weather.enrol, |world, _| world.enrol()),
            (weather.revoke, Self::revoke),
            (weather.rule, Self::rule),
            (weather.pay_out, Self::pay_out),
            (weather.pause, |world, _| world.pause()),
            (weather.halt, |world, _| world.halt()),
            (weather.abort, |world, _| world.abort()),
        ];
        if self.observer.is_paused && self.dice.chance(RESUMED) {
            self.operate(Command::resume());
        }
        for (chance, strike) in strikes {
            if self.dice.chance(chance) {
                strike(self, member);
            }
        }
    }

    fn go_away(&mut self, member: usize) {
        let until = self.now + self.dice.between(500, 6000) as u64;
        self.members[member].gone_until = until;
        self.count("member-gone");
        self.trace.say(self.now, format_args!("{} is gone until {until}", self.members[member].name()));
    }

    /// Leaves little room on the disk of a member, or else the coordinator's.
    fn fill(&mut self, whose: Option<usize>) {
        let (most, fault) =
            if whose.is_some() { (30_000, "member-disk-full") } else { (60_000, "coordinator-disk-full") };
        let room = self.dice.between(0, most) as u64;
        let (disk, is_short) = self.disk(whose);
        disk.set_capacity(Some(disk.used() + room));
        *is_short = true;
        self.count(fault);
        self.within(100, 2000, Event::MakeRoom(whose));
    }

    pub(crate) fn make_room(&mut self, whose: Option<usize>) {
        let (disk, is_short) = self.disk(whose);
        disk.set_capacity(None);
        *is_short = false;
    }

    /// A disk, and whether its room is short.
    fn disk(&mut self, whose: Option<usize>) -> (&Disk, &mut bool) {
        match whose {
            Some(member) => {
                let node = &mut self.members[member];
                (&node.disk, &mut node.is_short)
            }
            None => (&self.site.disk, &mut self.site.is_short),
        }
    }

    /// The monotonic clock jumps ahead, as in a machine that slept; the wall clock is set either way, rarely by minutes. A
    /// coordinator looks at it when it starts.
    fn jump(&mut self) {
        if self.dice.chance(0.5) {
            self.site.ahead_ms += self.dice.between(1, 3000) as u64;
            self.count("clock-jumped");
            self.trace.say(self.now, format_args!("the coordinator's clock jumps to {} ahead", self.site.ahead_ms));
        } else {
            let is_far = self.dice.chance(0.01);
            let most = if is_far { MINUTES_MS } else { 5 * self.plan.lease_ms as usize };
            self.site.wall_ms = self.dice.between(0, 2 * most) as i64 - most as i64;
            self.count(if is_far { "wall-clock-jumped-far" } else { "wall-clock-jumped" });
            self.trace.say(self.now, format_args!("the wall clock is off by {}", self.site.wall_ms));
        }
    }

    fn enrol(&mut self) {
        let late = self.members.iter().find(|node| !self.observer.is_known(&node.name()));
        if let Some((name, key, certificate)) = late.map(Node::enrolment) {
            self.count("member-enrolled");
            self.trace.say(self.now, format_args!("{name} is to be enrolled"));
            self.operate(Command::enrol(name, key, certificate));
        }
    }

    fn revoke(&mut self, member: usize) {
        let name = self.members[member].name();
        if self.observer.member_count() > 2 && self.observer.is_member(&name) {
            self.count("member-revoked");
            self.trace.say(self.now, format_args!("{name} is to be revoked"));
            self.operate(Command::revoke(name));
        }
    }

    /// The operator rules about what a member delivered, whether there is anything to rule about or not.
    fn rule(&mut self, member: usize) {
        let name = self.members[member].name();
        let ruling = self.dice.pick(&[Ruling::Release, Ruling::Void, Ruling::Forget]);
        self.count("data-ruled-about");
        self.trace.say(self.now, format_args!("{ruling:?} of what {name} delivered is ruled"));
        self.operate(Command::rule(name, ruling));
    }

    /// The operator records a transfer, sometimes again, sometimes of more than is owed.
    fn pay_out(&mut self, member: usize) {
        let name = self.members[member].name();
        let owed = self.observer.owed_to(&name).min(i128::from(Amount::MAX.micros())) as f64;
        let amount = Amount::from_micros((owed * self.dice.uniform() * 1.2) as i64 + 1).unwrap_or(Amount::MAX);
        let reference = Reference::try_from(format!("t{}", self.dice.between(1, 8))).expect("it is short");
        self.count("payout-recorded");
        self.trace.say(self.now, format_args!("{amount} to {name} is to be recorded as {reference}"));
        self.operate(Command::pay_out(name, amount, reference));
    }

    /// The operator lets no round open for a while.
    fn halt(&mut self) {
        self.count("rounds-paused");
        self.trace.say(self.now, format_args!("rounds are to be paused"));
        self.operate(Command::pause("maintenance".parse().expect("it is short")));
    }

    /// The operator ends the open round, whether it is awarded or not.
    fn abort(&mut self) {
        if let Some(round) = self.observer.open_round() {
            self.count("round-aborted");
            self.trace.say(self.now, format_args!("round {round} is to be aborted"));
            self.operate(Command::abort(round, "a mistake".parse().expect("it is short")));
        }
    }

    /// Lets something go wrong with the disk of a member, or else the coordinator's, within so many steps. It is counted
    /// unless it ends everything, which is counted when it does.
    pub(crate) fn plan_fault(&mut self, whose: Option<usize>, within: usize) -> Fault {
        let (name, kind) = match whose {
            Some(member) => (self.members[member].name().to_string(), "member-disk-failed"),
            None => ("the coordinator".to_owned(), "coordinator-disk-failed"),
        };
        let after = self.dice.between(0, within) as u64;
        let fault = disk_fault(self.dice.uniform());
        if !matches!(fault, Fault::PowerLoss | Fault::Crash) {
            self.count(kind);
        }
        self.trace.say(self.now, format_args!("the disk of {name} meets {fault:?} after {after} steps"));
        self.disk(whose).0.plan(Plan { after, fault });
        fault
    }
}

fn disk_fault(chance: f64) -> Fault {
    match chance {
        x if x < 0.35 => Fault::PowerLoss,
        x if x < 0.6 => Fault::Crash,
        x if x < 0.65 => Fault::Full(Lasts::Once),
        x if x < 0.75 => Fault::Failure(Operation::Any, Lasts::Once),
        x if x < 0.85 => Fault::Failure(Operation::Sync, Lasts::Once),
        x if x < 0.95 => Fault::Failure(Operation::Any, Lasts::ForEver),
        _ => Fault::Failure(Operation::Read, Lasts::Once),
    }
}
