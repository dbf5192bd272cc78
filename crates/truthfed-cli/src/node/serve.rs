//! `truthfed serve`: runs the coordinator until it receives a signal.

use truthfed_node::coordinator::logging::{self, Format, Level};
use truthfed_node::coordinator::{self, Config};
use truthfed_node::federation::open;

use super::args::{LogArgs, LogFormat, LogLevel, ServeArgs};
use super::{block_on, ignore_hangups, told_to_stop};
use crate::report::Report;

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    log(args.log);
    block_on(async {
        ignore_hangups()?;
        let running = coordinator::start(Config::of(&federation, args.lease_ms)).await?;
        Ok(running.run_until(told_to_stop()).await?)
    })?;
    Ok(Report::done(String::new()))
}

pub(super) fn log(LogArgs { format, level }: LogArgs) {
    let format = match format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    let level = match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
    };
    logging::init(format, level);
}
