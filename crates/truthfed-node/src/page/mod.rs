//! What the pages in a browser share: their files, the login, and what keeps other pages out.
//!
//! The coordinator's page is for its operator, the agent's for its member, a third for whoever runs experiments. All are built from
//! `page/` of the repository into `assets` and served on loopback behind a [`Gate`].
//!
//! Promises: without a login nothing but the page's own empty files is served, and a page of another origin gets nothing at all.
//!
//! Not here: what a page shows (`coordinator::page`, `agent::page`, [`crate::viewer`]), and who may ask for a link.

mod login;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::login::{Doors, Entered, STAY};
use crate::error::{Code, Refusal};
use crate::loopback::only_own_page;
use crate::net::read_body;
use crate::reading::read_json;

/// The body of a request: a link, a ruling or an enrolment.
pub(crate) const BODY_BYTES: usize = 8192;
pub(crate) const BODY_TIME: Duration = Duration::from_secs(10);
/// The longest that a link may wait to be opened.
const MOST_SECONDS: u64 = 3600;
/// The header with the key of a login.
const KEY: &str = "x-truthfed-key";
pub(crate) const JSON: &str = "application/json";

/// No script, style or picture but our own, no other origin, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// A file of a page: path, content type, content.
pub(crate) type File = (&'static str, &'static str, &'static [u8]);

const CSS: File = ("/page.css", "text/css; charset=utf-8", include_bytes!("assets/page.css"));
const ICON: File = ("/icon.svg", "image/svg+xml", include_bytes!("assets/icon.svg"));

/// The operator's page.
pub(crate) const OPERATOR: [File; 4] = [
    ("/", "text/html; charset=utf-8", include_bytes!("assets/index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_bytes!("assets/page.js")),
    CSS,
    ICON,
];

/// The member's page.
pub(crate) const MEMBER: [File; 4] = [
    ("/", "text/html; charset=utf-8", include_bytes!("assets/member.html")),
    ("/member.js", "text/javascript; charset=utf-8", include_bytes!("assets/member.js")),
    CSS,
    ICON,
];

/// The page of `truthfed view`.
pub(crate) const VIEWER: [File; 4] = [
    ("/", "text/html; charset=utf-8", include_bytes!("assets/view.html")),
    ("/view.js", "text/javascript; charset=utf-8", include_bytes!("assets/view.js")),
    CSS,
    ICON,
];

/// A link to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRequest {
    /// How long it may wait to be opened, from 1 to 3600 seconds.
    pub seconds: u64,
}

/// What stands before a page: whoever opened a link may pass.
pub(crate) struct Gate {
    /// Cookies are one for all ports of a host: the port in the name keeps the pages of one machine apart.
    cookie: String,
    /// The command that makes another link.
    again: &'static str,
    doors: Mutex<Doors>,
}

impl Gate {
    pub(crate) fn new(port: u16, again: &'static str) -> Gate {
        Gate { cookie: format!("truthfed-{port}"), again, doors: Mutex::default() }
    }

    fn doors(&self) -> MutexGuard<'_, Doors> {
        // What it holds is right after every statement.
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The secret of a new link. Fails when it should wait for too long.
    pub(crate) fn link(&self, LinkRequest { seconds }: LinkRequest) -> Result<String, Refusal> {
        if !(1..=MOST_SECONDS).contains(&seconds) {
            return Err(Refusal::new(Code::OutOfRange, format!("seconds: must be from 1 to {MOST_SECONDS}")));
        }
        Ok(self.doors().link(Instant::now(), Duration::from_secs(seconds)))
    }

    /// Whether anybody is logged in or may still open a link.
    pub(crate) fn is_used(&self) -> bool {
        self.doors().is_used(Instant::now())
    }

    /// Whether a request comes from somebody who is logged in.
    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        let key = headers.get(KEY).and_then(|key| key.to_str().ok());
        match (self.cookie_in(headers), key) {
            (Some(cookie), Some(key)) => self.doors().is_open(cookie, key, Instant::now()),
            _ => false,
        }
    }

    fn cookie_in<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.cookie).map(|(_, value)| value)
    }

    fn set_cookie(&self, value: &str, lasts: Duration) -> String {
        format!("{}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}", self.cookie, lasts.as_secs())
    }

    /// Puts the gate around what is inside: routes for whoever is logged in. The files and the login are for everybody on this
    /// machine; nobody logs in while the page is not ready.
    pub(crate) fn around(
        self: &Arc<Gate>,
        inside: Router,
        files: impl IntoIterator<Item = File>,
        ready: impl Fn() -> Result<(), Refusal> + Clone + Send + Sync + 'static,
    ) -> Router {
        let log_in = async move |State(gate): State<Arc<Gate>>, body: Body| {
            let body = read_body(body, BODY_BYTES, BODY_TIME).await?;
            ready()?;
            gate.log_in(&body)
        };
        let mut router = Router::new()
            .route("/page/logout", post(log_out))
            .merge(inside.with_state(()))
            .layer(middleware::from_fn_with_state(self.clone(), only_logged_in))
            .route("/page/login", post(log_in));
        for (path, kind, content) in files {
            router = router.route(path, get(async move || ([(header::CONTENT_TYPE, kind)], content)));
        }
        router
            .method_not_allowed_fallback(async |_: Request| Refusal::from(Code::MethodNotAllowed))
            .layer(middleware::from_fn(only_own_page))
            .layer(middleware::map_response(guarded))
            .with_state(self.clone())
    }

    fn log_in(&self, body: &[u8]) -> Result<Response, Refusal> {
        let LoginRequest { link } = read_json(body)?;
        let Some(Entered { cookie, key }) = self.doors().enter(&link, Instant::now()) else {
            let message = format!("the link was opened before, or is too old: run `{}` again", self.again);
            return Err(Refusal::new(Code::NoLogin, message));
        };
        tracing::info!("somebody logged in to the page");
        let headers = [(header::CONTENT_TYPE, JSON.to_owned()), (header::SET_COOKIE, self.set_cookie(&cookie, STAY))];
        Ok((headers, json!({ "key": key }).to_string()).into_response())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginRequest {
    link: String,
}

async fn only_logged_in(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    match gate.admits(request.headers()) {
        true => next.run(request).await,
        false => Refusal::from(Code::NoLogin).into_response(),
    }
}

async fn log_out(State(gate): State<Arc<Gate>>, headers: HeaderMap) -> Response {
    gate.doors().leave(gate.cookie_in(&headers).unwrap_or_default());
    let gone = gate.set_cookie("", Duration::ZERO);
    ([(header::CONTENT_TYPE, JSON.to_owned()), (header::SET_COOKIE, gone)], "{}").into_response()
}

/// What a browser must know about every answer.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
        ("cache-control", "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

pub(crate) fn as_json(value: &impl Serialize) -> Response {
    let text = serde_json::to_string(value).expect("our own structs are JSON");
    ([(header::CONTENT_TYPE, JSON)], text).into_response()
}

/// The query of a view. Fails when it has a field of another kind.
pub(crate) fn query<T>(query: Result<Query<T>, axum::extract::rejection::QueryRejection>) -> Result<T, Refusal> {
    query.map(|Query(query)| query).map_err(|rejection| Refusal::new(Code::WrongType, rejection.body_text()))
}
