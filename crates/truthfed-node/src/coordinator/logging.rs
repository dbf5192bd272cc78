//! Logs to the standard error stream, as text or as JSON.
//!
//! One line for every request, for what becomes of rounds and members, for start and stop. No line holds an ask, a price, a
//! key or a body.

use std::io::IsTerminal;

use serde::{Deserialize, Serialize};
use tracing::Subscriber;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, reload};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object on each line.
    Json,
}

/// What is logged: this and all that matters more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The program does not go on by itself.
    Error,
    /// Somebody should look.
    Warn,
    /// Requests, rounds, members.
    #[default]
    Info,
    /// Connections, too.
    Debug,
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> LevelFilter {
        match level {
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
        }
    }
}

/// Changes what is logged while the program runs.
#[derive(Debug)]
pub struct Dial(reload::Handle<LevelFilter, Registry>);

impl Dial {
    pub fn set(&self, level: Level) {
        // It fails only if the subscriber is gone, and then nothing is logged anyway.
        let _ = self.0.reload(level);
    }
}

pub fn subscriber<W>(
    format: Format,
    level: impl Into<LevelFilter>,
    writer: W,
) -> (Box<dyn Subscriber + Send + Sync>, Dial)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(level.into());
    let (registry, lines) = (Registry::default().with(filter), fmt::layer().with_target(false).with_writer(writer));
    let subscriber: Box<dyn Subscriber + Send + Sync> = match format {
        Format::Text => Box::new(registry.with(lines.with_ansi(std::io::stderr().is_terminal()))),
        Format::Json => Box::new(registry.with(lines.json().flatten_event(true).with_current_span(false))),
    };
    (subscriber, Dial(handle))
}

/// Logs of this process go to the standard error stream from now on. Once for a process: later calls, and what they return,
/// change nothing.
pub fn init(format: Format, level: Level) -> Dial {
    let (subscriber, dial) = subscriber(format, level, std::io::stderr);
    let _ = tracing::subscriber::set_global_default(subscriber);
    dial
}
