//! A page in a browser about what an experiment wrote, on this machine's loopback.
//!
//! Login and guards are those of the other pages (`page`): a link opens it once, and a page of another origin gets nothing.
//!
//! Not here: what there is to see, which the caller answers.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::error::{Code, Refusal};
use crate::net::{Limits, serve_plain};
use crate::page::{Gate, LinkRequest, VIEWER, as_json, query};

/// How long a link may wait to be opened: the longest.
const LINK_SECONDS: u64 = 3600;

/// What the page asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Of several things to see, which one: `contents`, for instance.
    pub name: String,
    /// The fields of the query, in their order; names may repeat.
    pub fields: Vec<(String, String)>,
}

/// A page that listens, and is not served yet.
pub struct Viewer {
    listener: TcpListener,
    address: SocketAddr,
    gate: Arc<Gate>,
}

type Answer = Arc<dyn Fn(&Question) -> Result<Value, String> + Send + Sync>;

impl Viewer {
    /// Listens on a port of 127.0.0.1; on any free one if it is 0.
    pub async fn bind(port: u16) -> io::Result<Viewer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Viewer { listener, address, gate: Arc::new(Gate::new(address.port(), "truthfed view")) })
    }

    /// An address that opens the page once, within an hour. The secret is in the fragment, which browsers send nowhere.
    pub fn link(&self) -> String {
        let link = self.gate.link(LinkRequest { seconds: LINK_SECONDS }).expect("it waits for no longer than it may");
        format!("http://{}/#login={link}", self.address)
    }

    /// Serves the page until `stop` becomes true or its sender is gone. An answer may take its time; an error is shown as it is.
    pub async fn serve(
        self,
        answer: impl Fn(&Question) -> Result<Value, String> + Send + Sync + 'static,
        stop: watch::Receiver<bool>,
    ) {
        let answer: Answer = Arc::new(answer);
        let inside = Router::new().route("/page/view/{name}", get(view)).with_state(answer);
        let router = self.gate.around(inside, VIEWER, || Ok(()));
        serve_plain(self.listener, router, Limits::default().fixed(), stop).await;
    }
}

async fn view(
    State(answer): State<Answer>,
    Path(name): Path<String>,
    fields: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Refusal> {
    let question = Question { name, fields: query(fields)? };
    let answered = tokio::task::spawn_blocking(move || answer(&question)).await;
    let answered = answered.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    answered.map(|value| as_json(&value)).map_err(|problem| Refusal::new(Code::NotFound, problem))
}
