//! `truthfed member`: what a member does on its own machine: to become one, with a key that nobody else ever holds, and to see its page.

use std::path::Path;

use anyhow::{Context, bail};
use serde::Serialize;
use truthfed_node::agent::Token;
use truthfed_node::client::{Application, ApplicationError};
use truthfed_node::digest::Digest;
use truthfed_node::federation::{apply, ask_renewal, join, open_bundle, take_renewal};

use super::agent::TOKEN;
use super::args::{
    JoinArgs, MemberCommand, MemberHeadArgs, MemberInitArgs, MemberPageArgs, MemberRenewArgs, RunningAgentArgs,
};
use super::block_on;
use crate::report::{Report, json};

pub(crate) fn run(command: &MemberCommand) -> anyhow::Result<Report> {
    match command {
        MemberCommand::Init(args) => init(args),
        MemberCommand::Join(args) => joined(args),
        MemberCommand::Renew(args) => renew(args),
        MemberCommand::Page(args) => page(args),
        MemberCommand::Head(args) => head(args),
    }
}

#[derive(Serialize)]
struct Applied {
    member: String,
    request: String,
}

fn init(MemberInitArgs { folder, name, json: as_json }: &MemberInitArgs) -> anyhow::Result<Report> {
    let application = apply(folder, name.as_deref())?;
    let (member, request) = (application.member.to_string(), application.request.display().to_string());
    Ok(Report::done(match as_json {
        true => json(&Applied { member, request }),
        false => format!(
            "{folder} has a new key, which stays there. Send {request} to the operator, who runs:\n  \
             truthfed members add fed --request request.json\n\
             and sends you the folder fed/members/{member}. Then: truthfed member join {folder} {member}\n",
            folder = folder.display()
        ),
    }))
}

#[derive(Serialize)]
struct Joined {
    member: String,
    federation: Digest,
    bundle: String,
}

fn joined(JoinArgs { folder, issued, federation, json: as_json }: &JoinArgs) -> anyhow::Result<Report> {
    let bundle = join(folder, issued, *federation)?;
    let (member, last_day) = (bundle.member.to_string(), bundle.identity.certificate().last_day());
    let (federation, bundle) = (bundle.federation, folder.display().to_string());
    Ok(Report::done(match as_json {
        true => json(&Joined { member, federation, bundle }),
        false => format!(
            "{bundle} is the bundle of {member}, whose certificate lasts until {last_day}, in federation\n  {federation}\n\
             Ask the operator on another way whether it is this one. Then: truthfed agent {bundle}\n"
        ),
    }))
}

fn renew(MemberRenewArgs { bundle, issued, json: as_json }: &MemberRenewArgs) -> anyhow::Result<Report> {
    match issued {
        None => asked(bundle, *as_json),
        Some(issued) => taken(bundle, issued, *as_json),
    }
}

fn asked(folder: &Path, as_json: bool) -> anyhow::Result<Report> {
    let request = ask_renewal(folder)?;
    let member = open_bundle(folder)?.member.to_string();
    let (bundle, request) = (folder.display(), request.display().to_string());
    Ok(Report::done(match as_json {
        true => json(&Applied { member, request }),
        false => format!(
            "{bundle} has its next key; the present one stays in use. Send {request} to the operator, who runs:\n  \
             truthfed members renew fed --request renewal.json\n\
             and sends you fed/roster/{member}.pem. Then: truthfed member renew {bundle} --issued {member}.pem\n"
        ),
    }))
}

#[derive(Serialize)]
struct Taken {
    member: String,
    last_day: String,
}

fn taken(folder: &Path, issued: &Path, as_json: bool) -> anyhow::Result<Report> {
    let bundle = take_renewal(folder, issued)?;
    let (member, last_day) = (bundle.member.to_string(), bundle.identity.certificate().last_day());
    Ok(Report::done(match as_json {
        true => json(&Taken { member, last_day }),
        false => format!("{member} has a new key, and a certificate until {last_day}. Start its agent again.\n"),
    }))
}

fn page(MemberPageArgs { of, seconds }: &MemberPageArgs) -> anyhow::Result<Report> {
    let link = of_agent(of, async |agent| agent.page(*seconds).await)?;
    Ok(Report::done(format!("{link}\n")))
}

fn head(MemberHeadArgs { of, json: as_json }: &MemberHeadArgs) -> anyhow::Result<Report> {
    let heads = of_agent(of, async |agent| agent.heads().await)?;
    let texts: Vec<&str> = [&heads.newest, &heads.other].into_iter().flatten().map(String::as_str).collect();
    if texts.is_empty() {
        bail!("the agent has seen no head yet: it asks for one after it has heard from the coordinator");
    }
    let text = if *as_json { json(&heads) } else { texts.join("\n") };
    Ok(if heads.other.is_some() { Report::refuted(text) } else { Report::done(text) })
}

/// Asks the agent of a bundle something, while it runs.
fn of_agent<T>(
    RunningAgentArgs { bundle, agent, token }: &RunningAgentArgs,
    ask: impl AsyncFnOnce(Application) -> Result<T, ApplicationError>,
) -> anyhow::Result<T> {
    let file = token.clone().unwrap_or_else(|| bundle.join(TOKEN));
    let missing = || format!("no token of an agent: start it with `truthfed agent {}`", bundle.display());
    let token = Token::read(&file).with_context(missing)?;
    block_on(async { Ok(ask(Application::connect(*agent, Some(&token)).await?).await?) })
}
