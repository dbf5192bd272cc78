//! `truthfed renew`: certifies coordinator and operator anew, with the keys they have.

use std::collections::BTreeMap;

use truthfed_node::federation::renew;

use super::args::FolderArgs;
use crate::report::{Report, json};

pub(crate) fn run(args: &FolderArgs) -> anyhow::Result<Report> {
    let expires = renew(&args.folder)?.last_day();
    Ok(Report::done(match args.json {
        true => json(&BTreeMap::from([("expires", expires)])),
        false => format!(
            "Coordinator and operator have new certificates until {expires}. Restart truthfed serve to use them.\n"
        ),
    }))
}
