//! `truthfed page`: a link to the coordinator's page.

use truthfed_node::coordinator::operator::{LinkReply, LinkRequest, Order, OrderReply};
use truthfed_node::federation::{Federation, open};

use super::args::PageArgs;
use super::block_on;
use super::operator::{ask, is_unreachable, unexpected};
use crate::report::Report;

pub(crate) fn run(args: &PageArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    let link = block_on(link(&federation, args.seconds))?;
    Ok(Report::done(format!("{link}\n")))
}

/// A link that opens the page once, within so many seconds. The secret is in the fragment, which browsers send nowhere: no log has
/// it, and a program that looks at links ahead does not use it up.
pub(super) async fn link(federation: &Federation, seconds: u64) -> anyhow::Result<String> {
    match ask(federation, &Order::Link(LinkRequest { seconds })).await {
        Ok(OrderReply::Link(LinkReply { admin, link })) => Ok(format!("http://{admin}/#login={link}")),
        Err(error) if is_unreachable(&error) => Err(error
            .context(format!("no coordinator runs: start it with `truthfed serve {}`", federation.folder.display()))),
        other => unexpected(other),
    }
}
