//! The operator's page in a browser, on the admin address.
//!
//! It shows what the operator's routes and the ledger's verbs show, from the same code, and does what the operator's routes do: those are
//! served here too, to whoever is logged in ([`crate::page`]).
//!
//! Promises: nothing here writes but the operator's routes, and the roster when a member is taken in. Nobody is taken in whom the
//! authority did not certify. No ask of an open round is shown before the seal.

mod book;
mod entrance;
mod events;
mod views;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::{MethodFilter, get, on, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, watch};
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use self::book::{Book, Step};
use super::Plan;
use super::operator::{self, Order};
use super::service::Service;
use crate::call::{Parts, Route};
use crate::engine::Handle;
use crate::error::{Code, Refusal};
use crate::identity::Certificate;
use crate::ledger::{Auctioned, RecordedError, Search, Trust};
use crate::net::read_body;
use crate::page::{BODY_BYTES, BODY_TIME, Gate, LinkRequest, OPERATOR, as_json};
use crate::schema;

/// Rows read at once; the engine serves other requests between two chunks.
const CHUNK: usize = 64;
/// How long a view waits for the book to catch up before it shows how far it is.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How long the journal may rest before the book looks whether anybody still wants it.
const REST: Duration = Duration::from_secs(60);
/// Steps that a browser may be behind; of more it is told to look again.
const BACKLOG: usize = 1024;

/// A link to the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkReply {
    /// The admin address of this coordinator, on its own machine.
    #[schemars(with = "schema::Address")]
    pub admin: SocketAddr,
    /// The secret of the link, which opens the page once.
    pub link: String,
}

/// What the page keeps between requests.
pub(super) struct Page {
    admin: SocketAddr,
    name: String,
    certificates: Vec<(String, Certificate)>,
    /// What members' certificates are issued by, and where they lie.
    authority: Certificate,
    roster: PathBuf,
    trust: Trust,
    online: Duration,
    gate: Arc<Gate>,
    /// When each member asked something last.
    seen: Mutex<BTreeMap<ClientId, SystemTime>>,
    book: tokio::sync::Mutex<Book>,
    /// The last entry in the book.
    followed: watch::Sender<u64>,
    is_following: AtomicBool,
    steps: broadcast::Sender<Arc<Step>>,
    /// The auction of an older round that was looked at last. One search at a time.
    older: tokio::sync::Mutex<Option<Arc<Auctioned>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these hold is right after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Page {
    pub(super) fn new(plan: &Plan, admin: SocketAddr) -> Page {
        let trust = Trust {
            federation: Some(plan.authority.digest()),
            coordinator: Some(plan.server.signer().public()),
            checkpoint: None,
        };
        Page {
            admin,
            name: plan.name.clone(),
            certificates: plan.certificates.clone(),
            authority: plan.authority.clone(),
            roster: plan.roster.clone(),
            trust,
            // Agents ask again as soon as they have an answer, which takes so long at most.
            online: super::MAX_POLL + Duration::from_secs(15),
            gate: Arc::new(Gate::new(admin.port(), "truthfed page")),
            seen: Mutex::default(),
            book: tokio::sync::Mutex::new(Book::new(trust)),
            followed: watch::Sender::new(0),
            is_following: AtomicBool::new(false),
            steps: broadcast::Sender::new(BACKLOG),
            older: tokio::sync::Mutex::default(),
        }
    }

    /// Makes a link, and begins to follow the journal: it is there when the link is opened.
    pub(super) fn link(self: &Arc<Page>, request: LinkRequest, engine: &Handle) -> Result<LinkReply, Refusal> {
        let link = self.gate.link(request)?;
        self.follow(engine);
        Ok(LinkReply { admin: self.admin, link })
    }

    /// A member asked something.
    pub(super) fn saw(&self, member: &ClientId) {
        let (mut seen, now) = (lock(&self.seen), SystemTime::now());
        match seen.get_mut(member) {
            Some(last) => *last = now,
            None => drop(seen.insert(member.clone(), now)),
        }
    }

    /// Follows the journal as long as anybody may look at the page.
    fn follow(self: &Arc<Page>, engine: &Handle) {
        if self.is_following.swap(true, Ordering::AcqRel) {
            return;
        }
        let (page, engine) = (self.clone(), engine.clone());
        tokio::spawn(async move {
            while page.follow_on(&engine).await {}
            page.is_following.store(false, Ordering::Release);
        });
    }

    /// One step of that; false when it ends.
    async fn follow_on(self: &Arc<Page>, engine: &Handle) -> bool {
        let last = *self.followed.borrow();
        match engine.rows(last, CHUNK).await {
            Err(refusal) if refusal.code.is_passing() && engine.problem().is_none() => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                true
            }
            Err(_) => false,
            Ok(rows) if rows.is_empty() => {
                let grown = tokio::time::timeout(REST, engine.grown(last)).await;
                engine.problem().is_none() && (grown.is_ok() || self.gate.is_used())
            }
            Ok(rows) => {
                let page = self.clone();
                let followed = tokio::task::spawn_blocking(move || {
                    let mut book = page.book.blocking_lock();
                    let steps = book.follow(rows);
                    (steps, book.last(), book.problem().is_some())
                });
                let followed = followed.await;
                let (steps, last, is_stuck) =
                    followed.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
                self.followed.send_replace(last);
                if engine.published().entries() < last + BACKLOG as u64 {
                    for step in steps {
                        // Nobody may be looking.
                        let _ = self.steps.send(Arc::new(step));
                    }
                }
                !is_stuck && self.gate.is_used()
            }
        }
    }

    /// The book, with all that is committed now if it does not take long.
    async fn book(self: &Arc<Page>, engine: &Handle) -> tokio::sync::MutexGuard<'_, Book> {
        let entries = engine.published().entries();
        if self.book.lock().await.problem().is_none() {
            self.follow(engine);
            let mut followed = self.followed.subscribe();
            let _ = tokio::time::timeout(PATIENCE, followed.wait_for(|last| *last >= entries)).await;
        }
        self.book.lock().await
    }

    /// The auction of a round that is settled: from the book, or found again in the journal.
    async fn auction(self: &Arc<Page>, engine: &Handle, round: RoundId) -> Result<Arc<Auctioned>, Refusal> {
        let kept = self.book(engine).await.auction(round);
        if let Some(auctioned) = kept {
            return Ok(auctioned);
        }
        let mut older = self.older.lock().await;
        if let Some(auctioned) = older.as_ref().filter(|auctioned| auctioned.round == round) {
            return Ok(auctioned.clone());
        }
        if round > engine.published().closed() {
            return Err(Refusal::new(Code::NotFound, format!("round {round} has not ended")));
        }
        let mut search = Search::new(&self.trust, round);
        let found = loop {
            let rows = engine.rows(search.last(), CHUNK).await?;
            let read = tokio::task::spawn_blocking(move || (search.read(rows), search)).await;
            let (found, next) = read.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
            search = next;
            match found {
                Ok(Some(auctioned)) => break Arc::new(auctioned),
                Ok(None) => {}
                Err(RecordedError::Wrong(problem)) => return Err(Refusal::new(Code::Internal, problem.to_string())),
                Err(error) => return Err(Refusal::new(Code::NotFound, error.to_string())),
            }
        };
        *older = Some(found.clone());
        Ok(found)
    }
}

pub(super) fn router(service: &Arc<Service>) -> Router {
    let mut inside = Router::new()
        .route("/page/overview", get(views::overview))
        .route("/page/members", get(views::members))
        .route("/page/rounds", get(views::rounds))
        .route("/page/rounds/{round}", get(views::round))
        .route("/page/rounds/{round}/auction", get(views::auction))
        .route("/page/rounds/{round}/round.json", get(views::document))
        .route("/page/postings", get(views::postings))
        .route("/page/postings.csv", get(views::csv))
        .route("/page/entries", get(views::entries))
        .route("/page/events", get(events::stream))
        .route("/page/certificate", post(entrance::look))
        .route("/page/members/certified", post(entrance::take_in));
    for route in Order::ROUTES {
        let filter = MethodFilter::try_from(route.form.method.clone()).expect("the table has common methods only");
        inside =
            inside.route(route.form.path, on(filter, move |state, path, request| ask(route, state, path, request)));
    }
    let standing = service.clone();
    // Whoever stands by would have nothing to show.
    let ready = move || standing.stage.borrow().engine().map(drop);
    service.page.gate.around(inside.with_state(service.clone()), OPERATOR, ready)
}

/// An order of the operator, from the page.
async fn ask(
    route: &Route<Order>,
    State(service): State<Arc<Service>>,
    parameter: Option<Path<String>>,
    request: Request,
) -> Result<Response, Refusal> {
    let engine = service.stage.borrow().engine()?;
    let query = request.uri().query().map(str::to_owned);
    let body = read_body(request.into_body(), BODY_BYTES, BODY_TIME).await?;
    let order = (route.read)(&mut Parts { parameter: parameter.map(|Path(value)| value), query, body })?;
    // All that a login may change by itself, so that a stolen one can neither make others, let anybody in whom the authority did not
    // certify (`entrance`), say that money was paid, nor hold rounds up.
    let changes = (route.form.method != axum::http::Method::GET).then(|| route.form.name());
    if changes.is_some() && !matches!(order, Order::Revoke(_) | Order::Rule(..)) {
        return Err(Refusal::new(
            Code::NotOperator,
            "only the operator's certificate may do this, not a login to the page",
        ));
    }
    let reply = operator::answer(&service, &engine, order).await?;
    if let Some(route) = changes {
        tracing::info!(route, "the page changed something");
    }
    Ok(as_json(&reply))
}
