//! Who takes part: the operator's members, and what a member does on its own machine.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, value_parser};
use truthfed_node::digest::Digest;

use super::{FolderArgs, address};

#[derive(Debug, Subcommand)]
pub(crate) enum MembersCommand {
    /// List all members, present and past
    List(FolderArgs),
    /// Issue a bundle for a new member and enrol the member
    Add(AddArgs),
    /// Certify a member's next key, which its present key must have signed
    Renew(RenewArgs),
    /// Revoke a member at once
    Revoke(MemberArgs),
    /// List what members delivered that is held or still compared with others' data, and the payments that wait
    Doubts(FolderArgs),
    /// Settle and pay what a member delivered that is in doubt
    Release(MemberArgs),
    /// Make void what a member delivered that is in doubt, and the payments for it
    Void(MemberArgs),
    /// Take all that a revoked member ever delivered out of what is shared; its payments stay as they are
    Forget(MemberArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed members add fed --request request.json    the member keeps its key to itself
  truthfed members add fed zoe                       for trials: whoever has fed/members/zoe/member.key is zoe")]
#[command(group(ArgGroup::new("applicant").required(true).multiple(true).args(["member", "request"])))]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// The member; with --request, the name that it must have asked for
    #[arg(value_name = "NAME")]
    pub(crate) member: Option<String>,

    /// What `truthfed member init` wrote on the member's machine
    #[arg(long, value_name = "FILE")]
    pub(crate) request: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed members renew fed --request renewal.json

Needs authority/authority.key. No round may be open; it waits for the end of one. Then fed/roster/NAME.pem is for the member.")]
pub(crate) struct RenewArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// What `truthfed member renew` wrote on the member's machine
    #[arg(long, value_name = "FILE")]
    pub(crate) request: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemberCommand {
    /// Make a key, and a request for the operator to certify it
    Init(MemberInitArgs),
    /// Put what the operator issued beside the key
    Join(JoinArgs),
    /// Ask for the next certificate with a new key; with --issued, take over what the operator certified
    Renew(MemberRenewArgs),
    /// Print a link to the member's own page in a browser
    Page(MemberPageArgs),
    /// Print the newest signed head of the coordinator's journal that the agent has seen
    Head(MemberHeadArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed member head zoe > zoe.head                       while zoe's agent runs
  truthfed ledger check zoe.head bob.head --key zoe         whether bob was shown the same journal

Exit code 1 if the coordinator signed another history, too: then both heads are printed.")]
pub(crate) struct MemberHeadArgs {
    #[command(flatten)]
    pub(crate) of: RunningAgentArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// An agent that runs.
#[derive(Debug, Args)]
pub(crate) struct RunningAgentArgs {
    /// The member's bundle, a folder
    pub(crate) bundle: PathBuf,

    /// Where the agent listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7500", value_parser = address)]
    pub(crate) agent: SocketAddr,

    /// File with the agent's token [default: agent.token in the bundle]
    #[arg(long, value_name = "FILE")]
    pub(crate) token: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed member page zoe                            open what it prints, on the agent's machine
  truthfed member page zoe --agent 127.0.0.1:7501     where the agent listens elsewhere

The link opens the page once, and for a few minutes only. From another machine, forward the port first:
ssh -L 7500:127.0.0.1:7500 HOST. The agent must be running.")]
pub(crate) struct MemberPageArgs {
    #[command(flatten)]
    pub(crate) of: RunningAgentArgs,

    /// How long the link may wait to be opened
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed member init zoe
  truthfed member init here --name zoe")]
pub(crate) struct MemberInitArgs {
    /// The folder, which must not exist or be empty
    pub(crate) folder: PathBuf,

    /// The name to be known by [default: the folder's name]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed member join zoe issued
  truthfed member join zoe issued --federation 3c1b...    refuse any other federation")]
pub(crate) struct JoinArgs {
    /// The folder that `truthfed member init` made
    pub(crate) folder: PathBuf,

    /// The folder that the operator issued
    pub(crate) issued: PathBuf,

    /// The federation it must be: the hash of its authority's certificate
    #[arg(long, value_name = "SHA-256")]
    pub(crate) federation: Option<Digest>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed member renew zoe                     makes zoe/renewal.json, for the operator
  truthfed member renew zoe --issued zoe.pem    then, with what the operator sent; restart the agent

The present key signs the new one, so only its holder can renew: also after the certificate has expired, never after the
member was revoked.")]
pub(crate) struct MemberRenewArgs {
    /// The member's bundle
    pub(crate) bundle: PathBuf,

    /// The certificate that the operator issued
    #[arg(long, value_name = "FILE")]
    pub(crate) issued: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MemberArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// The member
    #[arg(value_name = "NAME")]
    pub(crate) member: String,
}
