//! `truthfed agent`: runs a member's agent until it receives a signal.

use anyhow::Context;
use tokio::sync::watch;
use truthfed_node::agent::local::LocalApi;
use truthfed_node::agent::{Agent, Handle, Https, Membership, Policy, Runner, Token};
use truthfed_node::coordinator::logging::Level;
use truthfed_node::federation::open_bundle;
use truthfed_node::identity::watch_expiry;

use super::args::AgentArgs;
use super::{Hangups, block_on, serve, told_to_stop};
use crate::report::Report;
use crate::source;

pub(super) const DATA: &str = "agent.db";
pub(super) const TOKEN: &str = "agent.token";
/// What to do about the expiry of a member's certificate. The agent goes on without rounds: its application needs it.
const RENEW: &str = "run `truthfed member renew` with the bundle; once it has expired there is no part in rounds";

pub(crate) fn run(args: &AgentArgs) -> anyhow::Result<Report> {
    let bundle = open_bundle(&args.bundle)?;
    let policy = match &args.ask {
        None => Policy::default(),
        Some(path) => {
            let policy = Policy::from_toml(&source::read(path, source::MAX_CONFIG)?);
            let checked = policy.and_then(|policy| policy.check(bundle.agreement.raw().reserve).map(|()| policy));
            checked.with_context(|| source::name(path))?
        }
    };
    let data = args.data.clone().unwrap_or_else(|| args.bundle.join(DATA));
    let agent = Agent::open(Membership::of(&bundle), &data).with_context(|| data.display().to_string())?;
    let token_file = args.token.clone().unwrap_or_else(|| args.bundle.join(TOKEN));
    let token = if args.no_token { None } else { Some(Token::at(&token_file)?) };
    let link = Https::new(&bundle)?;
    serve::log(args.log, Level::default());
    block_on(async {
        Hangups::watch()?.each(|| tracing::info!("SIGHUP changes nothing: settings are read at the start only"));
        let agent = Handle::new(agent);
        let api = LocalApi::bind(args.listen, agent.clone(), token).await?;
        let api = api.with_certificate(bundle.identity.certificate().clone());
        match args.no_token {
            true => tracing::warn!("every user of this machine can use the agent: --no-token is for trials"),
            false => tracing::info!(token = %token_file.display(), "applications show this token"),
        }
        tracing::info!(member = %bundle.member, application = %api.address(), coordinator = %bundle.coordinator, "ready");
        let (stop, stopped) = watch::channel(false);
        let runner = Runner::new(agent, link, policy);
        let expiry = watch_expiry(bundle.identity.certificate().clone(), RENEW);
        tokio::join!(api.serve(stopped.clone()), runner.run(stopped), async {
            tokio::select! {
                () = told_to_stop() => {}
                () = expiry => {}
            }
            stop.send_replace(true);
        });
        Ok(())
    })?;
    Ok(Report::done(String::new()))
}
