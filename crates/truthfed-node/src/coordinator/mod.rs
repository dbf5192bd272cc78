//! The coordinator's server: routes over mutual TLS for members and the operator, and a plain listener for monitoring and the
//! operator's page.
//!
//! [`start`] binds both listeners and starts the [`engine`]. While another coordinator holds the store's lease, this one
//! stands by: it refuses members with `not-leader` and takes over when the lease is free. [`Running::stop`] ends it in order:
//! no new connections, waiting members are told, requests under way are answered, the engine ends, the lease is given back.
//!
//! Promises: a member is known by its certificate alone, and sees nothing of any other member; every route is in the OpenAPI
//! document; neither logs nor metrics hold an ask, a price, a key or a body.
//!
//! Not here: what requests do ([`engine`]), connections and their limits ([`crate::net`]).

mod admin;
mod heads;
pub mod logging;
mod metrics;
mod openapi;
pub mod operator;
mod page;
mod service;
mod stage;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use truthfed::auction::ClientId;

use self::heads::Heads;
use self::metrics::{Doors, Metrics};
use self::page::Page;
use self::service::Service;
use self::stage::Stage;
use crate::digest::{Digest, PublicKey};
use crate::engine::{self, Ahead, Clock, EngineError, MemberInfo, OpenStore, Place, Setup};
use crate::federation::{Federation, dated};
use crate::identity::{Certificate, Identity, watch_expiry};
use crate::net::{
    Intake, Limits, Listen, Revocations, ServerTls, TlsError, body_bytes, message_bytes, serve, serve_plain,
};
use crate::terms::Agreement;

/// The file of the last signed checkpoint, in the folder of a federation.
pub const CHECKPOINT: &str = "checkpoint.json";
/// Longest wait for a view, whatever the settings say: half the 60 s after which common proxies drop an idle connection.
const MAX_POLL: Duration = Duration::from_secs(30);
/// What to do about the expiry of the coordinator's certificate.
const RENEW: &str = "put authority/authority.key back, run `truthfed renew` with the folder, and start again";

pub struct Config {
    /// Where members and the operator call.
    pub listen: SocketAddr,
    /// Where health, metrics and the operator's page are shown: on this machine only.
    pub admin: SocketAddr,
    pub plan: Plan,
}

/// How long the lease of a coordinator lasts without renewal, unless it is told otherwise.
pub const LEASE_MS: u64 = 4000;

pub struct Plan {
    /// The server's certificate; its key also signs receipts.
    pub server: Identity,
    /// The certificate that all others are issued by.
    pub authority: Certificate,
    pub operator: Digest,
    pub agreement: Agreement,
    /// Who takes part from the beginning.
    pub members: Vec<(ClientId, PublicKey, Digest)>,
    pub checkpoint: PathBuf,
    /// How long the lease lasts without renewal.
    pub lease_ms: u64,
    pub limits: Limits,
    pub store: OpenStore,
    pub clock: Clock,
    pub place: Place,
    /// Where the certificates of its members lie.
    pub roster: PathBuf,
    /// The name of the federation, for the page.
    pub name: String,
    /// Whose end the page shows, by name: first those of authority, coordinator and operator.
    pub certificates: Vec<(String, Certificate)>,
}

impl Config {
    /// As the folder of a federation says, with a lease that lasts so long without renewal.
    pub fn of(federation: &Federation, lease_ms: u64) -> Config {
        let settings = &federation.settings;
        let store = federation.store();
        let members = federation.roster.iter();
        let plan = Plan {
            server: federation.server.clone(),
            authority: federation.authority.clone(),
            operator: federation.operator(),
            agreement: settings.agreement.clone(),
            members: members.map(|member| (member.member.clone(), member.key, member.certificate)).collect(),
            checkpoint: federation.folder.join(CHECKPOINT),
            lease_ms,
            limits: settings.limits,
            store: Arc::new(move || store.open()),
            clock: Clock::real(),
            place: Place::Thread,
            roster: federation.roster_folder(),
            name: settings.name.clone(),
            certificates: dated(federation),
        };
        Config { listen: settings.listen, admin: settings.admin, plan }
    }
}

impl Plan {
    pub fn setup(&self) -> Setup {
        Setup {
            federation: self.authority.digest(),
            agreement: self.agreement.clone(),
            signer: self.server.signer().clone(),
            members: self.members.clone(),
            checkpoint: Arc::new(self.checkpoint.clone()),
            lease_ms: self.lease_ms,
            clock: self.clock.clone(),
            place: self.place,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Operator: the address is taken, or not of this machine.
    #[error(
        "cannot listen on {address}: {problem}: change `listen` or `admin` in federation.toml, or stop what listens there"
    )]
    Listen { address: SocketAddr, problem: String },
    /// Operator: health and metrics are in plain text, for this machine only.
    #[error("the admin address {0} is not of this machine alone: use 127.0.0.1 or ::1")]
    NotLoopback(SocketAddr),
    /// Operator: certify the coordinator anew. Members would refuse this certificate in the handshake.
    #[error("the coordinator's certificate expired on {0}: {RENEW}")]
    Expired(String),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Where a coordinator listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    pub members: SocketAddr,
    pub admin: SocketAddr,
}

/// A coordinator that runs, or stands by.
#[derive(Debug)]
pub struct Running {
    addresses: Addresses,
    stop: watch::Sender<bool>,
    limiter: Limiter,
    task: JoinHandle<Result<(), ServerError>>,
}

/// Changes what a coordinator allows while it runs. A request in progress keeps the limits it began under, and a connection
/// those of idle time and unread responses. The size of bodies follows from the terms: it stays.
#[derive(Debug, Clone)]
pub struct Limiter(watch::Sender<Limits>);

impl Limiter {
    pub fn set(&self, limits: Limits) {
        self.0.send_replace(limits);
    }
}

/// Starts a coordinator, which stands by while another one is at work.
pub async fn start(config: Config) -> Result<Running, ServerError> {
    let Config { listen, admin, plan } = config;
    if !admin.ip().is_loopback() {
        return Err(ServerError::NotLoopback(admin));
    }
    let ((members, members_at), (admin, admin_at)) = (bind(listen).await?, bind(admin).await?);
    start_on(plan, members, admin, Addresses { members: members_at, admin: admin_at }).await
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServerError> {
    let problem = |error: std::io::Error| ServerError::Listen { address, problem: error.to_string() };
    let listener = TcpListener::bind(address).await.map_err(problem)?;
    let bound = listener.local_addr().map_err(problem)?;
    Ok((listener, bound))
}

/// Starts a coordinator on listeners of any kind. Fails as [`start`].
pub async fn start_on(
    plan: Plan,
    members: impl Listen,
    admin: impl Listen,
    addresses: Addresses,
) -> Result<Running, ServerError> {
    let certificate = plan.server.certificate().clone();
    if certificate.expires() < SystemTime::now() {
        return Err(ServerError::Expired(certificate.last_day()));
    }
    let revocations = Revocations::default();
    let tls = ServerTls::new(&plan.server, &plan.authority, revocations.clone())?;
    let dimension = plan.agreement.dimension();
    let large = plan.limits.body_bytes.min(body_bytes(dimension));
    let (limiter, limits) = watch::channel(plan.limits);
    let mut ahead = Ahead::default();
    let engine = stage::attempt(&plan, &mut ahead).await?;
    let (stop, stopped) = watch::channel(false);
    let (stage_sender, stage) = watch::channel(Stage::Standby(None));
    let doors = Doors { refusals: tls.refusals().clone(), expires: certificate.expires() };
    let metrics = Arc::new(Metrics::new(stage.clone(), doors));
    let service = Arc::new(Service {
        document: openapi::text(),
        operator: plan.operator,
        revocations: revocations.clone(),
        metrics: metrics.clone(),
        stage: stage.clone(),
        stop: stopped.clone(),
        intake: Intake::new(large + message_bytes(dimension)),
        large,
        small: message_bytes(dimension),
        limits: limits.clone(),
        started: Instant::now(),
        page: Arc::new(Page::new(&plan, addresses.admin)),
        heads: Arc::new(Heads::new(&plan)),
    });
    let (admin_stop, admin_stopped) = watch::channel(false);
    let admin_router = admin::router(&service);
    let heads = service.heads.clone();
    let work = Work { plan, ahead, stage: stage_sender, revocations, heads, stop: stop.clone() };
    tracing::info!(members = %addresses.members, admin = %addresses.admin, "listening");
    let expiry = tokio::spawn(watch_expiry(certificate, RENEW));
    let task = tokio::spawn(async move {
        let router = service::router(&service);
        let on_open = move || metrics.open_connection();
        let members = tokio::spawn(serve(members, tls, router, limits.clone(), stopped, on_open));
        let admin = tokio::spawn(serve_plain(admin, admin_router, limits, admin_stopped));
        let ended = work.run(engine, members).await;
        expiry.abort();
        // Monitoring is served until the end.
        admin_stop.send_replace(true);
        let _ = admin.await;
        ended
    });
    Ok(Running { addresses, stop, limiter: Limiter(limiter), task })
}

/// What runs beside the listeners.
struct Work {
    plan: Plan,
    ahead: Ahead,
    stage: watch::Sender<Stage>,
    revocations: Revocations,
    heads: Arc<Heads>,
    stop: watch::Sender<bool>,
}

impl Work {
    /// Until told to stop, or until the engine ends.
    async fn run(mut self, engine: Option<engine::Running>, members: JoinHandle<()>) -> Result<(), ServerError> {
        let engine = match engine {
            Some(engine) => Ok(Some(engine)),
            None => {
                tracing::warn!("standing by: another coordinator holds the lease");
                let ahead = std::mem::take(&mut self.ahead);
                stage::stand_by(&self.plan, ahead, &self.stage, self.stop.subscribe()).await
            }
        };
        if let Ok(Some(engine)) = &engine {
            self.activate(engine);
            let mut stop = self.stop.subscribe();
            let handle = engine.handle();
            tokio::select! {
                () = handle.ended() => tracing::error!("the engine ended"),
                _ = stop.wait_for(|stop| *stop) => tracing::info!("stopping"),
            }
        }
        self.stop.send_replace(true);
        let _ = members.await;
        self.stage.send_replace(Stage::Ended);
        let ended = match engine {
            Ok(Some(engine)) => Ok(engine.stop().await?),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        match &ended {
            Ok(()) => tracing::info!("stopped"),
            Err(error) => tracing::error!(%error, "stopped"),
        }
        ended
    }

    fn activate(&self, engine: &engine::Running) {
        let handle = engine.handle();
        let published = handle.published();
        let revoked = published.members().values().filter(|member| member.is_revoked);
        revoked.clone().flat_map(MemberInfo::certificates).for_each(|one| self.revocations.revoke(one));
        let members = published.members().len() - revoked.count();
        let (epoch, entries) = (handle.epoch(), published.entries());
        tracing::info!(epoch, entries, members, "active");
        self.heads.follow(handle.clone());
        self.stage.send_replace(Stage::Active(handle));
    }
}

impl Running {
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    pub fn limiter(&self) -> Limiter {
        self.limiter.clone()
    }

    /// Ends it in order. The error says why it had ended before.
    pub async fn stop(self) -> Result<(), ServerError> {
        self.run_until(std::future::ready(())).await
    }

    /// Lets it run until something happens, or it ends by itself; then ends it in order. The error says why it ended by
    /// itself: another coordinator took over, or the store is damaged.
    pub async fn run_until(mut self, event: impl Future<Output = ()>) -> Result<(), ServerError> {
        let ended = tokio::select! {
            ended = &mut self.task => ended,
            () = event => {
                self.stop.send_replace(true);
                self.task.await
            }
        };
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }
}
