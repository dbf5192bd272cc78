//! `truthfed demo`: a whole federation on this machine, with a synthetic workload.
//!
//! Everything but the workload is real: certificates, TLS on loopback, agents with their own files, a ledger. Beside each
//! member a twin learns alone from the same arms and the same noise, to show what the federation is worth.

mod workload;

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinSet;
use truthfed_node::agent::local::LocalApi;
use truthfed_node::agent::{Agent, Handle, Https, Membership, Policy, Runner, Token};
use truthfed_node::coordinator::operator::{RoundReply, RoundState, read_rounds};
use truthfed_node::coordinator::{Config, start};
use truthfed_node::federation::{Bundle, InitOptions, init, open, open_bundle};
use truthfed_node::ledger::{Report as Verified, Statement, decimal_units, verify};

use self::workload::{DIMENSION, Player, Slice, Slices};
use super::agent::{DATA, TOKEN};
use super::args::DemoArgs;
use super::{block_on, existing_store, ledger, page, told_to_stop};
use crate::progress::Progress;
use crate::report::{Report, cells, json, table};

/// How long the last round may take after the workload: twice `offers_ms` and `deliveries_ms` of [`make`].
const AFTERWARDS: Duration = Duration::from_secs(8);
/// Longer than anybody looks.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Periods over which regret is shown.
pub(super) const SLICES: usize = 5;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Report> {
    let scratch = tempfile::tempdir().context("cannot create a temporary folder")?;
    let folder = args.out.clone().unwrap_or_else(|| scratch.path().join("demo"));
    make(&folder, usize::from(args.members))?;
    let slices = block_on(work(&folder, args))?;
    let demo = Demo::read(&folder, slices)?;
    let text = if args.json { json(&demo) } else { demo.words(args.out.as_deref()) };
    Ok(if demo.ledger.is_right() { Report::done(text) } else { Report::refuted(text) })
}

fn make(folder: &Path, members: usize) -> anyhow::Result<()> {
    let (listen, admin) = (free_address()?, free_address()?);
    let changes = [
        format!("listen={listen}"),
        format!("address={listen}"),
        format!("admin={admin}"),
        format!("terms.bandit.dimension={DIMENSION}"),
        "terms.reward=2".to_owned(),
        "terms.reserve=100".to_owned(),
        "terms.offers_ms=2000".to_owned(),
        "terms.deliveries_ms=2000".to_owned(),
        "terms.trigger.threshold=12".to_owned(),
    ];
    init(folder, &InitOptions { changes: changes.to_vec(), ..InitOptions::with_members(members) })?;
    Ok(())
}

fn free_address() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port on loopback")?;
    Ok(listener.local_addr()?)
}

/// Runs coordinator, agents and workload; returns the regret of each period.
async fn work(folder: &Path, args: &DemoArgs) -> anyhow::Result<Slices> {
    let coordinator = start(Config::of(&open(folder)?, 10_000)).await?;
    let (stop, stopped) = watch::channel(false);
    let mut agents = JoinSet::new();
    let (mut players, mut pages) = (Vec::new(), Vec::new());
    for number in 1..=usize::from(args.members) {
        let bundle = open_bundle(&folder.join("members").join(format!("m{number}")))?;
        let agent = Handle::new(Agent::open(Membership::of(&bundle), &bundle.folder.join(DATA))?);
        let is_contrary = args.page && number == usize::from(args.members);
        players.push(Player::new(number, agent.clone(), &bundle.agreement, is_contrary));
        if args.page {
            let api = local(&bundle, agent.clone()).await?;
            pages.push(format!("{} {}", bundle.member, api.address()));
            agents.spawn(api.serve(stopped.clone()));
        }
        let runner = Runner::new(agent, Https::new(&bundle)?, price(number)?);
        let stopped = stopped.clone();
        agents.spawn(async move { runner.run(stopped).await });
    }
    let slices = match args.page {
        true => show(folder, players, &pages.join(", ")).await?,
        false => play(players, Duration::from_secs(args.seconds)).await?,
    };
    finish(folder).await?;
    stop.send_replace(true);
    while agents.join_next().await.is_some() {}
    coordinator.stop().await?;
    Ok(slices)
}

/// The API of an agent, with the member's page, on any free port.
async fn local(bundle: &Bundle, agent: Handle) -> anyhow::Result<LocalApi> {
    let token = Token::at(&bundle.folder.join(TOKEN))?;
    let api = LocalApi::bind(SocketAddr::from(([127, 0, 0, 1], 0)), agent, Some(token)).await?;
    Ok(api.with_certificate(bundle.identity.certificate().clone()))
}

/// What a member asks; the base differs between members.
fn price(number: usize) -> anyhow::Result<Policy> {
    let base = 2 + 3 * ((number * 7) % 5);
    Ok(Policy::from_toml(&format!("kind = \"per-sample\"\nprice = \"0.01\"\nbase = \"{base}\"\n"))?)
}

/// Prints a link to the page and where the agents listen, and goes on until told to stop.
async fn show(folder: &Path, players: Vec<Player>, agents: &str) -> anyhow::Result<Slices> {
    let federation = open(folder)?;
    let link = page::link(&federation, 3600).await?;
    let told = format!(
        "Open {link}\nCtrl-C ends it. For another link: truthfed page {folder}\n\
         Agents: {agents}. For a member's page: truthfed member page {folder}/members/m1 --agent ADDRESS\n",
        folder = folder.display()
    );
    std::io::stderr().write_all(told.as_bytes())?;
    let (begin, mut playing) = (Instant::now(), JoinSet::new());
    for player in players {
        playing.spawn(player.play(begin, FOREVER));
    }
    tokio::select! {
        () = told_to_stop() => {}
        Some(ended) = playing.join_next() => drop(ended??),
    }
    playing.shutdown().await;
    Ok(Slices::default())
}

/// All members act concurrently until the time is over.
async fn play(players: Vec<Player>, time: Duration) -> anyhow::Result<Slices> {
    let progress = Progress::new("seconds", time.as_secs());
    let begin = Instant::now();
    let mut playing = JoinSet::new();
    for player in players {
        playing.spawn(player.play(begin, time));
    }
    let mut slices = Slices::default();
    for _ in 0..time.as_secs() {
        tokio::time::sleep(Duration::from_secs(1)).await;
        progress.step();
    }
    while let Some(played) = playing.join_next().await {
        slices.merge(&played??);
    }
    progress.finish();
    Ok(slices)
}

async fn finish(folder: &Path) -> anyhow::Result<()> {
    let begin = Instant::now();
    loop {
        let rounds = read_rounds(existing_store(&open(folder)?)?.as_mut())?;
        let is_open = |state| matches!(state, RoundState::Offers | RoundState::Deliveries);
        let open = rounds.last().is_some_and(|round| is_open(round.summary.state));
        if !open || begin.elapsed() > AFTERWARDS {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[derive(Serialize)]
struct Demo {
    regret: [Slice; SLICES],
    rounds: Vec<RoundLine>,
    statements: Vec<Statement>,
    ledger: Verified,
}

#[derive(Serialize)]
struct RoundLine {
    round: u64,
    offers: u64,
    winners: u64,
    samples: u64,
    paid: String,
}

impl Demo {
    fn read(folder: &Path, slices: Slices) -> anyhow::Result<Demo> {
        let federation = open(folder)?;
        let mut store = existing_store(&federation)?;
        let ledger = verify(store.as_mut(), &ledger::trust(&federation, folder)?)?;
        let rounds = read_rounds(store.as_mut())?.iter().map(RoundLine::of).collect();
        let names = federation.roster.iter();
        let statements =
            names.map(|member| Statement::read(store.as_mut(), &member.member)).collect::<Result<_, _>>()?;
        Ok(Demo { regret: slices.into_slices(), rounds, statements, ledger })
    }

    fn words(&self, kept: Option<&Path>) -> String {
        let round = |round: &RoundLine| {
            let RoundLine { round, offers, winners, samples, paid } = round;
            cells(&[round, offers, winners, samples, paid])
        };
        let header = ["round", "offers", "winners", "samples shared", "paid (units)"];
        let rounds = table(&header, &[0, 1, 2, 3, 4], self.rounds.iter().map(round).collect());
        let slice = |slice: &Slice| {
            let per_step = |regret: f64| format!("{:.4}", regret / slice.steps.max(1) as f64);
            vec![slice.period.clone(), slice.steps.to_string(), per_step(slice.together), per_step(slice.alone)]
        };
        let header = ["period", "steps", "together", "alone"];
        let regret = match self.regret.iter().all(|slice| slice.steps == 0) {
            true => String::new(),
            false => format!(
                "\nRegret per step, of the federation and of members that learn alone from the same data:\n{}",
                table(&header, &[1, 2, 3], self.regret.iter().map(slice).collect())
            ),
        };
        let statements: String = self.statements.iter().map(ledger::words).collect();
        let kept = kept.map_or(String::new(), |path| format!("The federation is in {}.\n", path.display()));
        format!("Rounds:\n{rounds}{regret}\nStatements:\n{statements}\n{kept}{}\n", self.ledger)
    }
}

impl RoundLine {
    fn of(round: &RoundReply) -> RoundLine {
        let is_paid = |member| round.paid.contains(member);
        let paid = round.awards.iter().filter(|award| is_paid(&award.member));
        let shared = round.offers.iter().filter(|offer| is_paid(&offer.member));
        RoundLine {
            round: round.summary.round.0,
            offers: round.summary.offers,
            winners: round.summary.winners,
            samples: shared.map(|offer| offer.samples).sum(),
            paid: decimal_units(paid.map(|award| i128::from(award.payment_micros.micros())).sum()),
        }
    }
}
