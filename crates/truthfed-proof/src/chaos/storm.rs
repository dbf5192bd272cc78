//! Bad weather: what strikes between messages and transactions.

use truthfed_node::engine::Command;

use crate::chaos::member::Node;
use crate::chaos::report::Verdict;
use crate::chaos::world::{Event, World};

impl World<'_> {
    /// A moment at which anything may strike.
    pub(crate) fn storm(&mut self) -> Verdict {
        if self.is_calm {
            return Ok(());
        }
        self.next_storm();
        let weather = self.weather();
        let member = self.dice.between(0, self.members.len() - 1);
        if self.dice.chance(weather.cut) {
            self.cut(member);
        }
        if self.dice.chance(weather.clog) {
            self.clog(member);
        }
        if self.dice.chance(weather.gone) {
            self.go_away(member);
        }
        if self.dice.chance(weather.member_full) {
            self.fill_member(member);
        }
        if self.dice.chance(weather.member_kill) {
            self.kill_member(member);
        }
        if self.dice.chance(weather.full) {
            self.fill();
        }
        if self.dice.chance(weather.clock) {
            self.jump();
        }
        if self.dice.chance(weather.enrol) {
            self.enrol();
        }
        if self.dice.chance(weather.revoke) {
            self.revoke(member);
        }
        if self.dice.chance(weather.pause) {
            self.pause();
        }
        Ok(())
    }

    fn go_away(&mut self, member: usize) {
        let until = self.now + self.dice.between(500, 6000) as u64;
        self.members[member].gone_until = until;
        self.count("member-gone");
        self.trace.say(self.now, format_args!("{} is gone until {until}", self.members[member].name()));
    }

    fn fill_member(&mut self, member: usize) {
        let room = self.dice.between(0, 30_000) as u64;
        let node = &mut self.members[member];
        node.disk.set_capacity(Some(node.disk.used() + room));
        node.is_short = true;
        self.count("member-disk-full");
        let lasts = self.dice.between(100, 2000) as u64;
        self.at(lasts, Event::MakeRoomAt(member));
    }

    fn fill(&mut self) {
        let room = self.dice.between(0, 60_000) as u64;
        let disk = &self.site.disk;
        disk.set_capacity(Some(disk.used() + room));
        self.site.is_short = true;
        self.count("coordinator-disk-full");
        let lasts = self.dice.between(100, 2000) as u64;
        self.at(lasts, Event::MakeRoom);
    }

    /// The monotonic clock jumps ahead, as in a machine that slept; the wall clock jumps either way.
    fn jump(&mut self) {
        if self.dice.chance(0.5) {
            self.site.ahead_ms += self.dice.between(1, 3000) as u64;
            self.count("clock-jumped");
            self.trace.say(self.now, format_args!("the coordinator's clock jumps to {} ahead", self.site.ahead_ms));
        } else {
            let most = 5 * self.plan.lease_ms as usize;
            self.site.wall_ms += self.dice.between(0, 2 * most) as i64 - most as i64;
            self.count("wall-clock-jumped");
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
}
