//! `truthfed view`: a page in a browser about what `reproduce`, `simulate` or `sweep` wrote.
//!
//! All is read before the page opens, so a folder that changes meanwhile shows what it was. Nothing is written.
//!
//! Not here: the page's server (`truthfed_node::viewer`), which columns belong together ([`crate::plot`]).

mod claims;
mod shown;

use std::io::Write;

use anyhow::Context;
use tokio::sync::watch;
use truthfed_node::viewer::Viewer;

use self::shown::Shown;
use crate::args::ViewArgs;
use crate::node::{block_on, told_to_stop};
use crate::report::Report;

pub(crate) fn run(args: &ViewArgs) -> anyhow::Result<Report> {
    let shown = Shown::open(&args.places)?;
    block_on(serve(shown, args.port))?;
    Ok(Report::done(String::new()))
}

/// Serves the page until Ctrl-C.
async fn serve(shown: Shown, port: u16) -> anyhow::Result<()> {
    let viewer = Viewer::bind(port).await.with_context(|| format!("cannot listen on 127.0.0.1:{port}"))?;
    let told = format!("Open {}\nCtrl-C ends it.\n", viewer.link());
    std::io::stderr().write_all(told.as_bytes())?;
    let (stop, stopped) = watch::channel(false);
    let serving = viewer.serve(move |question| shown.answer(question), stopped);
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        () = told_to_stop() => {
            stop.send_replace(true);
            serving.await;
        }
    }
    Ok(())
}
