//! A member's machine: the agent, its disk, and what it waits for. The agent is called once at a time, so that a crash can
//! come between any two calls, or in the middle of one.

mod talk;

use crate::disk::{Disk, Fault};
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::agent::{Agent, Conversation, FileError, Membership};
use truthfed_node::digest::{Digest, PublicKey};
use truthfed_node::testing::Federation;
use truthfed_node::wire::Call;

use crate::chaos::{Application, Event, Offered, Plan, Role, Verdict, World, check};

pub(crate) struct Node {
    pub(crate) membership: Membership,
    pub(crate) role: Role,
    cost: i64,
    pub(crate) disk: Disk,
    pub(crate) is_short: bool,
    pub(crate) agent: Option<Agent>,
    pub(crate) gone_until: u64,
    pub(crate) conversation: Conversation,
    /// The request whose reply is awaited, with its number.
    waiting: Option<(u64, Call)>,
    requests: u64,
    /// The last round it knows to have ended.
    pub(crate) closed: RoundId,
    pub(crate) application: Application,
    /// What an attacker offered last.
    pub(crate) offered: Option<Offered>,
}

impl Node {
    pub(crate) fn new(plan: &Plan, number: usize, membership: Membership) -> Node {
        let dimension = plan.agreement.dimension();
        Node {
            conversation: Conversation::new(&membership.member),
            membership,
            role: plan.roles[number],
            cost: plan.costs[number],
            disk: Disk::powersafe(plan.seed ^ ((number as u64 + 1) << 48)),
            is_short: false,
            agent: None,
            gone_until: 0,
            waiting: None,
            requests: 0,
            closed: RoundId(0),
            application: Application::new(dimension),
            offered: None,
        }
    }

    pub(crate) fn name(&self) -> ClientId {
        self.membership.member.clone()
    }

    /// As the operator enrols it.
    pub(crate) fn enrolment(&self) -> (ClientId, PublicKey, Digest) {
        let name = self.name();
        let certificate = Federation::certificate(&name);
        (name, self.membership.signer.public(), certificate)
    }

    pub(crate) fn is_honest(&self) -> bool {
        matches!(self.role, Role::Honest | Role::Strategic)
    }

    /// Whether it waits for nothing but news.
    pub(crate) fn is_polling(&self) -> bool {
        matches!(self.waiting, Some((_, Call::View(_))))
    }
}

impl World<'_> {
    /// Calls an agent; none if that was the last it did.
    pub(crate) fn call<T, E>(
        &mut self,
        member: usize,
        call: impl FnOnce(&mut Agent) -> Result<T, E>,
        problem: impl FnOnce(&mut World<'_>, E, bool) -> Verdict,
    ) -> Verdict<Option<T>> {
        let weather = self.weather();
        let fault = self.dice.chance(weather.member_disk).then(|| self.plan_fault(Some(member), 8));
        let node = &mut self.members[member];
        let Some(agent) = &mut node.agent else { return Ok(None) };
        let done = call(agent);
        node.disk.mend();
        if node.disk.is_off() {
            let is_killed = fault == Some(Fault::Crash);
            self.count(if is_killed { "member-killed-inside" } else { "member-power-lost-inside" });
            self.stop_member(member, "falls at work");
            return Ok(None);
        }
        let may_fail = fault.is_some() || node.is_short;
        let value = match done {
            Ok(value) => value,
            Err(error) => {
                problem(self, error, may_fail)?;
                return Ok(None);
            }
        };
        if self.dice.chance(weather.member_kill) {
            self.kill_member(member);
            return Ok(None);
        }
        Ok(Some(value))
    }

    /// Kills a member, or the machine it runs on.
    pub(crate) fn kill_member(&mut self, member: usize) {
        if self.members[member].agent.is_none() {
            return;
        }
        if self.dice.chance(self.weather().power) {
            self.count("member-power-lost");
            self.members[member].disk.lose_power();
            self.stop_member(member, "loses power");
        } else {
            self.count("member-killed");
            self.members[member].disk.crash();
            self.stop_member(member, "is killed");
        }
    }

    fn stop_member(&mut self, member: usize, why: &str) {
        let node = &mut self.members[member];
        self.trace.say(self.now, format_args!("{} {why}", node.membership.member));
        (node.agent, node.waiting) = (None, None);
        node.conversation = Conversation::new(&node.membership.member);
        self.within(1, 1000, Event::Open(member));
    }

    pub(crate) fn open_member(&mut self, member: usize) -> Verdict {
        if self.members[member].agent.is_some() || !self.members[member].role.has_agent() {
            return Ok(());
        }
        let is_disturbed = self.dice.chance(self.weather().member_disk);
        if is_disturbed {
            self.plan_fault(Some(member), 30);
        }
        let node = &mut self.members[member];
        node.disk.restart();
        let opened = Agent::open_on(node.membership.clone(), &node.disk.path("agent.db"), &node.disk.vfs());
        node.disk.mend();
        let may_fail = is_disturbed || node.is_short;
        match opened {
            Ok(agent) => {
                node.agent = Some(agent);
                self.trace.say(self.now, format_args!("{} starts", self.members[member].name()));
                self.check_samples(member)?;
                self.at(1, Event::Look(member));
            }
            Err(error) => {
                self.check_file(member, &error, may_fail)?;
                self.within(50, 300, Event::Open(member));
            }
        }
        Ok(())
    }

    /// A file fails only when its disk does.
    pub(crate) fn check_file(&self, member: usize, error: &FileError, may_fail: bool) -> Verdict {
        let is_passing =
            matches!(error, FileError::Unavailable(_) | FileError::Full | FileError::Held | FileError::Unusable(_));
        check(is_passing && may_fail, "I6", || {
            format!("the file of {} is not what was written: {error}", self.members[member].name())
        })
    }

    /// What a member knows is what is settled and what it learned since, each sample once.
    pub(crate) fn check_samples(&mut self, member: usize) -> Verdict {
        let node = &mut self.members[member];
        let Some(agent) = &mut node.agent else { return Ok(()) };
        let Ok(status) = agent.status(true) else { return Ok(()) };
        let name = node.membership.member.clone();
        check(status.last_round >= node.closed, "I14", || format!("{name} went back to round {}", status.last_round))?;
        node.closed = status.last_round;
        if node.application.is_in_doubt() || node.role == Role::Liar {
            return Ok(());
        }
        self.observer.samples.check_member(&name, agent.known(), &node.application.learned, status.last_round)
    }
}
