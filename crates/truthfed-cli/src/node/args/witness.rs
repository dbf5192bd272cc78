//! Witnesses of a federation's journal.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use truthfed_node::log::NoteKey;

#[derive(Debug, Subcommand)]
pub(crate) enum WitnessCommand {
    /// Make a witness with a key of its own
    Init(WitnessInitArgs),
    /// Sign the head of a proof, if it goes on from the last one signed; print it
    Sign(WitnessSignArgs),
    /// Show the witness's key and how far it has seen the journal
    Show(WitnessFolderArgs),
}

#[derive(Debug, Args)]
pub(crate) struct WitnessFolderArgs {
    /// The witness's folder
    pub(crate) folder: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WitnessInitArgs {
    #[command(flatten)]
    pub(crate) of: WitnessFolderArgs,

    /// Its name, such as a host that belongs to whoever runs it
    #[arg(long)]
    pub(crate) name: String,

    /// The key of the log, as truthfed ledger prove --key prints it
    #[arg(long, value_name = "KEY")]
    pub(crate) log: NoteKey,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed ledger prove fed --from 120 > proof      120 is the last that truthfed witness show prints
  truthfed witness sign w proof > head

Exit code 1 if the coordinator signed two histories; both heads are then in the witness's folder.")]
pub(crate) struct WitnessSignArgs {
    /// The witness's folder
    pub(crate) folder: PathBuf,

    /// A proof that leads from the last head signed, or the first head; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) proof: PathBuf,
}
