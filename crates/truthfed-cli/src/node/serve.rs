//! `truthfed serve`: runs the coordinator until it receives a signal.

use truthfed_node::coordinator::logging::{self, Format, Level};
use truthfed_node::coordinator::{self, Config};
use truthfed_node::federation::open;

use super::args::{LogFormat, ServeArgs};
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

pub(super) fn log(format: LogFormat) {
    let format = match format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    logging::init(format, Level::INFO);
}
