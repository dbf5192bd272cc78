//! Logs to the standard error stream, as text or as JSON.
//!
//! One line for every request, for what becomes of rounds and members, for start and stop. No line holds an ask, a price, a
//! key or a body.

use std::io::IsTerminal;

use tracing::Subscriber;
use tracing_subscriber::fmt::MakeWriter;

pub use tracing::Level;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object on each line.
    Json,
}

pub fn subscriber<W>(format: Format, level: Level, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_max_level(level).with_target(false).with_writer(writer);
    match format {
        Format::Text => Box::new(builder.with_ansi(std::io::stderr().is_terminal()).finish()),
        Format::Json => Box::new(builder.json().flatten_event(true).with_current_span(false).finish()),
    }
}

/// Logs of this process go to the standard error stream from now on. Once for a process: later calls change nothing.
pub fn init(format: Format, level: Level) {
    let _ = tracing::subscriber::set_global_default(subscriber(format, level, std::io::stderr));
}
