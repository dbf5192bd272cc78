//! One life of a federation: whoever dies by -9 on the way is started again, and it goes on.
//!
//! One agent runs at a time, the others are stopped (`SIGSTOP`): so the order of all messages is the same in every life, and
//! with it every byte of the journal.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{End, FIRST, MEMBERS, Plan, Process, RENEWING, Site, Trace, await_end, done, http, verb};

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const PAUSE: Duration = Duration::from_millis(15);

pub(crate) struct Life {
    pub(crate) site: Site,
    plan: Plan,
    pub(crate) coordinator: Process,
    agents: Vec<Process>,
    /// The agent whose turn it is.
    running: Option<usize>,
    entries: u64,
    is_late: bool,
    deaths: usize,
}

pub(crate) fn serve(site: &Site, folder: &str, kill_at: Option<&str>) -> Process {
    let (path, log) = (site.path(folder), site.path(&format!("{folder}.log")));
    let args = ["serve", path.to_str().unwrap(), "--lease-ms", &site.lease_ms.to_string()];
    Process::start(&args, &log, kill_at)
}

fn agent(site: &Site, member: usize, kill_at: Option<&str>) -> Process {
    let name = MEMBERS[member];
    let (bundle, policy) = (site.path(&format!("fed/members/{name}")), site.path(&format!("{name}.toml")));
    let listen = format!("127.0.0.1:{}", site.agents[member]);
    let args =
        ["agent", bundle.to_str().unwrap(), "--ask", policy.to_str().unwrap(), "--listen", &listen, "--no-token"];
    Process::start(&args, &site.path(&format!("{name}.log")), kill_at)
}

impl Life {
    /// The coordinator begins, the first members come.
    pub(crate) fn begin(site: Site, plan: Plan) -> Life {
        let coordinator = serve(&site, "fed", plan.for_coordinator(0));
        Life::with(site, coordinator, plan)
    }

    /// The same with a coordinator that was started just now.
    pub(crate) fn with(site: Site, coordinator: Process, plan: Plan) -> Life {
        // Genesis, the members, a checkpoint.
        let (agents, entries) = (Vec::new(), 2 + FIRST as u64);
        let mut life = Life { site, plan, coordinator, agents, running: None, entries, is_late: false, deaths: 0 };
        life.recorded(0);
        (0..FIRST).for_each(|member| life.join(member));
        life
    }

    /// Everyone ends in order. Says all that came of it.
    pub(crate) fn end(mut self) -> Trace {
        let mut statuses = Vec::new();
        for member in 0..self.agents.len() {
            self.turn(member, |life| statuses.push(life.await_agent(member)));
        }
        for member in (0..self.agents.len()).rev() {
            self.leave(member);
            self.agents.truncate(member);
        }
        self.coordinator.signal("TERM");
        assert_eq!(await_end(&mut self.coordinator), End::Code(Some(0)), "{}", self.coordinator.log());
        assert_eq!(self.plan.points.get(self.deaths), None, "the point was not reached");
        let report = done(&["ledger", "verify", &self.site.folder()]);
        assert!(report.ends_with(" 0 problems\n"), "{report}");
        Trace::read(&self.site, &statuses)
    }

    /// An agent comes, and is stopped until its turn.
    pub(crate) fn join(&mut self, member: usize) {
        self.running = Some(member);
        self.start_agent(member);
        self.await_agent(member);
        self.stop(member);
    }

    /// The first agent ends in order, and comes again.
    pub(crate) fn come_back(&mut self) {
        self.leave(0);
        self.is_late = true;
        self.join(0);
    }

    fn leave(&mut self, member: usize) {
        self.running = Some(member);
        self.agents[member].signal("CONT");
        for _ in 0..=self.plan.points.len() {
            self.agents[member].signal("TERM");
            match await_end(&mut self.agents[member]) {
                End::Code(Some(0)) => return,
                End::Killed => self.revive(member),
                other => panic!("{}: {other:?}\n{}", MEMBERS[member], self.agents[member].log()),
            }
            self.await_agent(member);
        }
        panic!("{} does not leave", MEMBERS[member]);
    }

    /// Lets one agent run while something is done.
    pub(crate) fn turn(&mut self, member: usize, work: impl FnOnce(&mut Life)) {
        self.running = Some(member);
        self.agents[member].signal("CONT");
        work(self);
        self.stop(member);
    }

    fn stop(&mut self, member: usize) {
        self.agents[member].signal("STOP");
        self.running = None;
    }

    /// The application of a member: one arm, and its reward. What was not acknowledged is sent again.
    pub(crate) fn learn(&mut self, member: usize, arm: &str, reward: f64) {
        let port = self.site.agents[member];
        let arms = format!("{{\"arms\": [{arm}]}}");
        let choice = self.until("the agent chooses", |_| http(port, "POST", "/choose", &arms));
        let choice: Value = serde_json::from_str(&choice).unwrap();
        assert_eq!(choice["index"], 0);
        let learn = format!("{{\"decision\": {}, \"reward\": {reward}}}", choice["decision"]);
        let learned = self.until("the agent learns", |_| http(port, "POST", "/learn", &learn));
        assert_eq!(learned, "{\"learned\":true}");
    }

    /// Waits until so many entries more are in the journal.
    pub(crate) fn recorded(&mut self, more: u64) {
        self.entries += more;
        let entries = self.entries;
        let seen =
            self.until(&format!("there are {entries} entries"), |site| site.entries().filter(|seen| *seen >= entries));
        assert_eq!(seen, entries, "more happened than should\n{}", self.logs());
    }

    /// Waits until an agent has what a round settled.
    pub(crate) fn synced(&mut self, member: usize, round: u64) {
        self.until("the round is settled for it", |site| (site.status(member)?["last_round"] == round).then_some(()));
    }

    /// How an agent stands, once it answers.
    fn await_agent(&mut self, member: usize) -> Value {
        self.until("the agent answers", |site| site.status(member))
    }

    /// The operator adds or revokes a member, again until it is done.
    pub(crate) fn operate(&mut self, change: &str, member: usize) {
        let (folder, name) = (self.site.folder(), MEMBERS[member]);
        let is_so = |line: &Value| line["member"] == name && line["is_revoked"] == (change == "revoke");
        self.until(&format!("the operator can {change}"), |site| {
            site.entries()?;
            if verb(&["members", change, &folder, name]).status.success() {
                return Some(());
            }
            let list = verb(&["members", "list", &folder, "--json"]);
            let list: Value = serde_json::from_slice(&list.stdout).ok()?;
            list["members"].as_array()?.iter().any(is_so).then_some(())
        });
    }

    /// The operator rules about what a member delivered, again until it is done: then there is nothing left to rule about.
    pub(crate) fn rule(&mut self, ruling: &str, member: usize) {
        let (folder, name) = (self.site.folder(), MEMBERS[member]);
        self.until(&format!("the operator can {ruling}"), |site| {
            site.entries()?;
            let ruled = verb(&["members", ruling, &folder, name]);
            let is_so = || String::from_utf8_lossy(&ruled.stderr).contains("nothing-in-doubt");
            (ruled.status.success() || is_so()).then_some(())
        });
    }

    /// The operator pauses or resumes rounds, again until it is done.
    pub(crate) fn pause_or_resume(&mut self, change: &str) {
        let folder = self.site.folder();
        self.until(&format!("the operator can {change}"), |site| {
            site.entries()?;
            verb(&[change, &folder]).status.success().then_some(())
        });
    }

    /// The operator records a transfer, again until it is done.
    pub(crate) fn pay_out(&mut self) {
        let (folder, member) = (self.site.folder(), MEMBERS[0]);
        self.until("the operator can record a payout", |site| {
            site.entries()?;
            let args = ["ledger", "payout", "record", &folder, member, "0.000002", "--reference", "bank 1"];
            verb(&args).status.success().then_some(())
        });
    }

    /// The operator certifies the next key of a member, again until it is done.
    pub(crate) fn renew(&mut self) {
        let folder = self.site.folder();
        let request = format!("{folder}/members/{}/renewal.json", MEMBERS[RENEWING]);
        self.until("the operator can renew", |site| {
            site.entries()?;
            verb(&["members", "renew", &folder, "--request", &request]).status.success().then_some(())
        });
    }

    /// The agent of the member that renewed ends in order, and comes again with the new key.
    pub(crate) fn exchange(&mut self, member: usize) {
        self.leave(member);
        let (folder, name) = (self.site.folder(), MEMBERS[member]);
        let issued = format!("{folder}/roster/{name}.pem");
        done(&["member", "renew", &format!("{folder}/members/{name}"), "--issued", &issued]);
        self.join(member);
    }

    /// Looks again and again, and starts again whoever has died meanwhile.
    pub(crate) fn until<T>(&mut self, what: &str, mut look: impl FnMut(&Site) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(seen) = look(&self.site) {
                return seen;
            }
            assert!(begin.elapsed() < PATIENCE, "waited in vain until {what}\n{}", self.logs());
            std::thread::sleep(PAUSE);
            self.mind(what);
        }
    }

    /// An agent that has died out of its turn is left alone until then: started now, it would speak before the others.
    fn mind(&mut self, what: &str) {
        if let Some(end) = self.coordinator.end() {
            assert_eq!(end, End::Killed, "until {what}\n{}", self.logs());
            self.deaths += 1;
            self.coordinator = serve(&self.site, "fed", self.plan.for_coordinator(self.deaths));
        }
        let Some(member) = self.running else { return };
        if let Some(end) = self.agents[member].end() {
            assert_eq!(end, End::Killed, "until {what}\n{}", self.logs());
            self.revive(member);
        }
    }

    fn revive(&mut self, member: usize) {
        self.deaths += 1;
        self.start_agent(member);
    }

    fn start_agent(&mut self, member: usize) {
        let kill_at = self.plan.for_agent(self.deaths, member, self.is_late);
        let process = agent(&self.site, member, kill_at);
        match self.agents.get_mut(member) {
            Some(place) => *place = process,
            None => self.agents.push(process),
        }
    }

    fn logs(&self) -> String {
        std::iter::once(&self.coordinator).chain(&self.agents).map(Process::log).collect()
    }
}
