//! After the storm. I15: once the faults have stopped, every round ends within a stated time, and whoever wishes for a round
//! gets it, unless it is excluded or its samples exceed the capacity. I9: all members then hold the same aggregate. I16: whatever
//! was accepted, a round of honest members can be held.

use truthfed_node::engine::Command;
use truthfed_node::ledger::{Trust, verify};
use truthfed_node::store::Sqlite;

use crate::chaos::{Breach, Event, Role, Verdict, World, breach, check};

/// Within this time of the last fault all is well again, beside the lease and the phases of the terms: pauses between
/// attempts, and the rounds that members still wish for.
const CONVERGENCE_MS: u64 = 30_000;
/// What every member still learns.
const SAMPLES: u64 = 3;
/// How often members learn so much more if it is not worth a round.
const PATIENCE: usize = 10;

impl World<'_> {
    /// No more faults: links are whole, disks have room, and everyone is started again.
    pub(crate) fn calm_down(&mut self) {
        self.trace.say(self.now, format_args!("the faults stop"));
        self.is_calm = true;
        for parcel in self.net.heal() {
            self.at(1, Event::Arrive(parcel));
        }
        self.site.disk.mend();
        self.make_room(None);
        self.site.disk.crash();
        self.site.processes.clear();
        self.at(1, Event::Start);
        for member in 0..self.members.len() {
            self.kill_member(member);
            self.make_room(Some(member));
            let node = &mut self.members[member];
            node.disk.mend();
            (node.gone_until, node.application.left) = (0, SAMPLES);
            self.at(1, Event::Open(member));
        }
    }

    /// Everything is well within the stated time, and stays so.
    pub(crate) fn converge(&mut self) -> Verdict {
        self.come_to_rest("I15")?;
        for member in 0..self.members.len() {
            self.check_samples(member)?;
            self.check_earned(member)?;
        }
        self.verify()
    }

    /// All that is wished for happens within the stated time.
    fn come_to_rest(&mut self, invariant: &'static str) -> Verdict {
        let terms = self.plan.agreement.raw();
        let rounds = 1 + self.members.len() as u64;
        let round = terms.offers_ms + terms.deliveries_ms + terms.gap_ms;
        // The time of rounds stands still until the clock has caught up.
        let time = self.plan.lease_ms + rounds * round + self.site.behind_ms(self.now) + CONVERGENCE_MS;
        let until = self.now + time;
        while let Some(problem) = self.unrest() {
            check(self.now < until, invariant, || format!("{time} ms after the last fault {problem}"))?;
            if self.observer.is_paused {
                self.operate(Command::resume());
            }
            self.happen()?;
        }
        Ok(())
    }

    /// The honest members learn until they hold a round among themselves, whatever was accepted before; the others are revoked.
    pub(crate) fn hold_round(&mut self) -> Verdict {
        let honest = self.honest();
        for member in (0..self.members.len()).filter(|member| !honest.contains(member)) {
            let name = self.members[member].name();
            if !honest.is_empty() && self.observer.is_member(&name) {
                self.operate(Command::revoke(name));
            }
        }
        let (settled, aborted) = (self.observer.settled, self.observer.aborted);
        for _ in 0..PATIENCE {
            honest.iter().for_each(|member| self.members[*member].application.left += SAMPLES);
            self.come_to_rest("I16")?;
            if self.observer.settled > settled {
                break;
            }
            let is_hindered = self.observer.aborted > aborted && self.observer.is_hindered;
            check(!is_hindered, "I16", || "honest members cannot hold a round any more".to_owned())?;
        }
        Ok(())
    }

    /// What is not well yet.
    fn unrest(&mut self) -> Option<String> {
        if self.site.processes.is_empty() {
            return Some("no coordinator runs".to_owned());
        }
        if self.observer.is_paused {
            return Some("rounds are paused".to_owned());
        }
        if let Some(round) = self.observer.open_round() {
            return Some(format!("round {round} is open"));
        }
        let unrest = self.honest().into_iter().find_map(|number| self.unrest_of(number));
        unrest.or_else(|| (0..self.members.len()).find_map(|number| self.lag_of_inventor(number)))
    }

    /// What those who invent data may wish for, nobody promises; but they hear of every round.
    fn lag_of_inventor(&self, member: usize) -> Option<String> {
        let (node, closed) = (&self.members[member], self.observer.closed);
        let hears = matches!(node.role, Role::Inventor(_)) && node.role.has_agent();
        let is_behind = node.agent.is_none() || node.closed != closed;
        let name = node.name();
        let lags = hears && is_behind && self.observer.is_member(&name);
        lags.then(|| format!("{name} is at round {} of {closed}", node.closed))
    }

    /// The honest members there are.
    fn honest(&self) -> Vec<usize> {
        let takes_part = |number: &usize| {
            let node = &self.members[*number];
            node.is_honest() && self.observer.is_member(&node.name())
        };
        (0..self.members.len()).filter(takes_part).collect()
    }

    fn unrest_of(&mut self, member: usize) -> Option<String> {
        let node = &mut self.members[member];
        let name = node.name();
        let Some(agent) = &mut node.agent else { return Some(format!("{name} does not run")) };
        let closed = self.observer.closed;
        let in_flight = agent.status(true).map_or(0, |status| status.in_flight);
        let learned = node.application.learned.samples as u64;
        // Of a reward that was written before a kill, and delivered since, the application may not know yet.
        let undelivered = learned.saturating_sub(self.observer.samples.delivered_by(&name));
        let may_open = self.observer.may_open(&name, undelivered);
        match () {
            () if !node.application.is_done() => Some(format!("{name} has not learned everything")),
            () if agent.wants_round() && may_open => Some(format!("{name} wishes for a round")),
            () if in_flight > 0 && may_open => Some(format!("{name} has offered {in_flight} samples to no round")),
            () if node.closed != closed => Some(format!("{name} is at round {} of {closed}", node.closed)),
            () => None,
        }
    }

    /// A member has a receipt for everything it was paid.
    fn check_earned(&mut self, member: usize) -> Verdict {
        let node = &mut self.members[member];
        let name = node.name();
        let Some(agent) = node.agent.as_mut().filter(|_| node.role != Role::Liar) else { return Ok(()) };
        if !self.observer.is_member(&name) {
            return Ok(());
        }
        let earned = agent.status(true).map(|status| status.earned).unwrap_or_default();
        let paid = self.observer.money.paid_to(&name).to_string();
        check(earned == paid, "I6", || format!("{name} has receipts for {earned}, and was paid {paid}"))
    }

    /// Everything that is written follows from what is written before.
    fn verify(&mut self) -> Verdict {
        let disk = &self.site.disk;
        let unreadable = |error| Breach { invariant: "I6", text: format!("{error}") };
        let mut store = Sqlite::open_on(&disk.path("ledger.db"), &disk.vfs()).map_err(unreadable)?;
        let trust = Trust { checkpoint: self.site.notary.last(), ..Trust::default() };
        match verify(&mut store, &trust).map_err(unreadable)?.problem {
            None => Ok(()),
            Some(problem) => breach("I11", format!("the ledger does not verify: {problem:?}")),
        }
    }
}
