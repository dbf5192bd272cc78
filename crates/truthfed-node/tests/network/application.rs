//! A member's host: its agent, and the application that decides and learns with it.
//!
//! Arms have length one and each is one member's alone, rewards are whole numbers: sums over samples are exact, and say
//! which samples are in them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use truthfed::generate::Stream;
use truthfed::statistics::Statistics;
use truthfed_node::agent::{Agent, DecisionId, Handle, Https, Membership, Policy, Runner, Status};
use truthfed_node::federation::Bundle;

use crate::federation::{ARMS, MEMBERS, REWARD};
use crate::roads::Road;

pub(crate) type Sample = (usize, f64);

/// What is of one member, whether its host is up or not.
pub(crate) struct Seat {
    pub(crate) number: usize,
    pub(crate) bundle: Bundle,
    file: PathBuf,
    diary: Mutex<Diary>,
}

/// What the application knows.
struct Diary {
    numbers: Stream,
    is_playing: bool,
    /// A decision whose reward may not have been learned yet.
    open: Option<(DecisionId, Sample)>,
    learned: Vec<Sample>,
    /// How the agent stood when it was last asked; none while the host is down.
    report: Option<Report>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Report {
    pub(crate) status: Status,
    pub(crate) known: Statistics,
    pub(crate) wants_round: bool,
}

impl Seat {
    pub(crate) fn new(number: usize, bundle: Bundle, folder: &Path, seed: u64) -> Seat {
        let numbers = Stream::new(seed, number as u64);
        let diary = Diary { numbers, is_playing: true, open: None, learned: Vec::new(), report: None };
        Seat { number, bundle, file: folder.join(format!("agent-{number}.db")), diary: Mutex::new(diary) }
    }

    /// Everything on the host, until it crashes.
    pub(crate) async fn live(&self) -> turmoil::Result {
        let agent = Handle::at(truthfed_node::engine::Place::Task, self.open());
        // No two members ask for the same.
        let price = format!("kind = 'per-sample'\nprice = 0.0{}", self.number + 1);
        let link = Https::over(|| Road, &self.bundle)?;
        let runner = Runner::new(agent.clone(), link, Policy::from_toml(&price)?);
        let (_stop, stopped) = watch::channel(false);
        tokio::select! {
            biased;
            () = runner.run(stopped) => Err("the agent stopped by itself".into()),
            () = self.play(&agent) => Ok(()),
        }
    }

    pub(crate) fn open(&self) -> Agent {
        Agent::open(Membership::of(&self.bundle), &self.file).unwrap()
    }

    async fn play(&self, agent: &Handle) {
        loop {
            self.learn(agent).await;
            let report = agent.with(report).await;
            self.diary().report = Some(report);
            let gap = self.diary().numbers.between(20, 150) as u64;
            tokio::time::sleep(Duration::from_millis(gap)).await;
        }
    }

    /// One sample. What was open when the host crashed is learned first: the agent knows whether it was.
    async fn learn(&self, agent: &Handle) {
        if self.diary().open.is_none() {
            if !self.diary().is_playing {
                return;
            }
            // At times there is nothing to choose, so that every arm is played.
            let first = self.number * ARMS + self.diary().numbers.between(0, ARMS - 1);
            let arms = (first..(self.number + 1) * ARMS).map(unit).collect();
            let (decision, choice) = agent.choose(arms).await.unwrap();
            let mut diary = self.diary();
            let reward = diary.numbers.between(0, 2 * REWARD) as f64 - REWARD as f64;
            diary.open = Some((decision, (first + choice, reward)));
        }
        let (decision, sample) = self.diary().open.unwrap();
        agent.learn(decision, sample.1).await.unwrap();
        let mut diary = self.diary();
        diary.learned.push(sample);
        diary.open = None;
    }

    /// No new decisions from now on.
    pub(crate) fn stop_playing(&self) {
        self.diary().is_playing = false;
    }

    pub(crate) fn crashed(&self) {
        self.diary().report = None;
    }

    pub(crate) fn report(&self) -> Option<Report> {
        self.diary().report.clone()
    }

    pub(crate) fn learned(&self) -> Vec<Sample> {
        self.diary().learned.clone()
    }

    fn diary(&self) -> MutexGuard<'_, Diary> {
        self.diary.lock().unwrap()
    }
}

pub(crate) fn report(agent: &mut Agent) -> Report {
    let status = agent.status(true).unwrap();
    Report { status, known: agent.known().clone(), wants_round: agent.wants_round() }
}

pub(crate) fn unit(arm: usize) -> Vec<f64> {
    (0..MEMBERS * ARMS).map(|index| if index == arm { 1.0 } else { 0.0 }).collect()
}
