//! `truthfed serve`: runs the coordinator until it receives a signal.

use truthfed_node::coordinator::logging::{self, Dial, Format, Level};
use truthfed_node::coordinator::{self, Config, Limiter};
use truthfed_node::federation::{Federation, open};

use super::args::{LogArgs, LogFormat, LogLevel, ServeArgs};
use super::{Hangups, block_on, told_to_stop};
use crate::report::Report;

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    let dial = log(args.log, federation.settings.log_level);
    let (log, config) = (args.log, Config::of(&federation, args.lease_ms));
    block_on(async {
        let hangups = Hangups::watch()?;
        let running = coordinator::start(config).await?;
        let limiter = running.limiter();
        hangups.each(move || reload(&federation, log, &dial, &limiter));
        Ok(running.run_until(told_to_stop()).await?)
    })?;
    Ok(Report::done(String::new()))
}

/// Logs as the options say, at the level of the settings if they name none.
pub(super) fn log(args: LogArgs, settings: Level) -> Dial {
    let format = match args.format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    logging::init(format, level(args, settings))
}

fn level(args: LogArgs, settings: Level) -> Level {
    match args.level {
        None => settings,
        Some(LogLevel::Error) => Level::Error,
        Some(LogLevel::Warn) => Level::Warn,
        Some(LogLevel::Info) => Level::Info,
        Some(LogLevel::Debug) => Level::Debug,
    }
}

/// Takes over what may change while a coordinator runs. Settings that are wrong change nothing.
fn reload(federation: &Federation, args: LogArgs, dial: &Dial, limiter: &Limiter) {
    let settings = match federation.read_settings_again() {
        Ok(settings) => settings,
        Err(error) => return tracing::error!(%error, "SIGHUP changed nothing"),
    };
    limiter.set(settings.limits);
    dial.set(level(args, settings.log_level));
    tracing::info!("SIGHUP: took over `limits` and `log_level` of federation.toml");
    let unlike = federation.settings.unlike(&settings);
    if !unlike.is_empty() {
        let keys = unlike.join(", ");
        tracing::warn!(%keys, "federation.toml has other values than at the start: restart to use them (terms never change)");
    }
}
