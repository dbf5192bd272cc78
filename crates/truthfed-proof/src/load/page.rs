//! The operator's page of a federation with many rounds and members: how soon the coordinator answers each view.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command as Process;
use tokio::time::timeout;
use truthfed::protocol::Time;
use truthfed_node::coordinator::Config;
use truthfed_node::engine::{Clock, Command, Core};
use truthfed_node::wire::NextRound;

use crate::load::agent::Party;
use crate::load::figures::{Figure, Spread, ms};
use crate::load::ledger::{deliver, take_offers, work};
use crate::load::server::Server;
use crate::load::world::World;

/// What is settled grows over thousands of rounds: only a target as high makes a round of four buy anything at their end.
pub const COVERAGE: f64 = 0.9999;
/// Members that offer in a round. All take their turn; the others never answer, and the time for offers passes.
const OFFERS: usize = 4;
/// Longer than any round takes, by the clock of the coordinator that makes the journal.
const SPACING_MS: u64 = 150_000;
const LEASE_MS: u64 = 600_000;
/// Each view is asked so often.
const TIMES: usize = 60;
/// The most that 95 % of the answers may take, in milliseconds.
const BOUND_MS: f64 = 200.0;
/// Longest wait for an answer, and for the coordinator to have followed its journal.
const PATIENCE: Duration = Duration::from_secs(300);

/// Fills the store of a new federation with so many rounds, of a few members each. Gives the number of its entries.
///
/// All of it is real but the clock, which says that the rounds took the months up to now.
pub fn fill(world: &World, rounds: u64) -> anyhow::Result<u64> {
    let federation = world.federation()?;
    let clock = Clock::simulated();
    clock.set(Time(Clock::real().now().0 - rounds * SPACING_MS));
    let setup = Config::of(&federation, LEASE_MS).plan.setup();
    let mut core =
        Core::start(truthfed_node::engine::Setup { clock: clock.clone(), ..setup }, federation.store().open()?)?;
    let parties: Vec<Party> =
        world.bundles.iter().enumerate().map(|(number, bundle)| Party::new(bundle, number as u64)).collect();
    for number in 0..rounds as usize {
        round(
            &mut core,
            &clock,
            &(0..OFFERS).map(|of| &parties[(number * OFFERS + of) % parties.len()]).collect::<Vec<_>>(),
        )?;
        core.renew()?;
    }
    let entries = core.version();
    core.release()?;
    Ok(entries)
}

fn round(core: &mut Core, clock: &Clock, parties: &[&Party]) -> anyhow::Result<()> {
    let ended = clock.now().plus_ms(SPACING_MS);
    let next = core.published().view(parties[0].name()).next.context("no round is open")?;
    let NextRound { round, nonce } = next;
    let offers = take_offers(core, parties, round, nonce)?;
    let left = core.until_deadline().context("the round takes offers")?;
    clock.set(clock.now().plus_ms(left.as_millis() as u64));
    work(core, Vec::<Command>::new())?;
    deliver(core, parties, &offers, round)?;
    ensure!(core.published().closed() == round, "round {round} is settled");
    clock.set(ended);
    Ok(())
}

/// Somebody who is logged in to the page.
struct Login {
    address: SocketAddr,
    cookie: String,
    key: String,
}

/// Serves the page, and measures each of its views.
pub async fn views(world: &World, program: &Path, rounds: u64) -> anyhow::Result<Vec<Figure>> {
    let server = Server::start(program, &world.folder).await?;
    server.admin().until_role("active").await?;
    let login = Login::by_link(program, &world.folder).await?;
    let started = Instant::now();
    let entries = login.until_checked().await?;
    let followed = started.elapsed().as_secs_f64();
    let members = world.bundles.len();
    let mut figures = vec![Figure::told(
        format!("page of {rounds} rounds and {members} members: {entries} entries checked"),
        followed,
        "s",
    )];
    let spread = |time: usize| 1 + (time as u64 * 7919) % rounds;
    for (view, path) in [
        ("overview", &(|_| "/page/overview".to_owned()) as &dyn Fn(usize) -> String),
        ("members", &|_| "/page/members".to_owned()),
        ("the last rounds", &|_| "/page/rounds".to_owned()),
        ("earlier rounds", &|time| format!("/page/rounds?before={}", spread(time) + 1)),
        ("a round", &|time| format!("/page/rounds/{}", spread(time))),
        ("its auction", &|time| format!("/page/rounds/{}/auction", spread(time))),
        ("the last postings", &|_| "/page/postings".to_owned()),
        ("a member's postings", &|time| format!("/page/postings?member=m{}", 1 + time % members)),
    ] {
        let mut times = Vec::with_capacity(TIMES);
        for time in 0..TIMES {
            let asked = Instant::now();
            login.get(&path(time)).await?;
            times.push(asked.elapsed());
        }
        let times = Spread::of(times);
        figures.push(Figure::bounded(format!("page: {view}, p95"), ms(times.percentile(95)), "ms", BOUND_MS));
    }
    server.stop().await?;
    Ok(figures)
}

impl Login {
    /// Opens a link that `truthfed page` prints.
    async fn by_link(program: &Path, folder: &Path) -> anyhow::Result<Login> {
        let printed = Process::new(program).args(["truthfed", "page"]).arg(folder).output().await?;
        let link = String::from_utf8(printed.stdout)?;
        let (address, link) = link
            .trim()
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once("/#login="))
            .with_context(|| String::from_utf8_lossy(&printed.stderr).into_owned())?;
        let mut login = Login { address: address.parse()?, cookie: String::new(), key: String::new() };
        let body = serde_json::json!({ "link": link }).to_string();
        let (head, answer) = login.ask("POST", "/page/login", &body).await?;
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
        login.cookie = cookie.context("a login has a cookie")?.to_owned();
        #[derive(Deserialize)]
        struct Key {
            key: String,
        }
        login.key = serde_json::from_str::<Key>(&answer)?.key;
        Ok(login)
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> anyhow::Result<(String, String)> {
        let Login { address, cookie, key } = self;
        let mut stream = TcpStream::connect(address).await?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncookie: {cookie}\r\nx-truthfed-key: {key}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + body).as_bytes()).await?;
        let mut answer = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut answer)).await.context("the page does not answer")??;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer has a body")?;
        ensure!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}\n{body}");
        Ok((head.to_owned(), body.to_owned()))
    }

    async fn get(&self, path: &str) -> anyhow::Result<String> {
        Ok(self.ask("GET", path, "").await?.1)
    }

    /// Waits until the page has recomputed the whole journal, and gives the number of its entries.
    async fn until_checked(&self) -> anyhow::Result<u64> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let overview: Value = serde_json::from_str(&self.get("/page/overview").await?)?;
            let journal = &overview["journal"];
            ensure!(journal["problem"].is_null(), "the journal does not fit: {journal}");
            if journal["checked"] == journal["entries"] {
                return journal["entries"].as_u64().context("a number of entries");
            }
        }
        bail!("the page does not follow the journal to its end")
    }
}
