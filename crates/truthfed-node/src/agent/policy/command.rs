//! A price from a command of the member's own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use truthfed::protocol::RoundId;
use truthfed::statistics::{Factor, Statistics};
use truthfed::{Amount, AmountError};

use super::PolicyError;

/// Longest answer of a command in bytes; more is cut off, and then no price.
const MAX_ANSWER: u64 = 1024;

/// What a command is told about the data it prices.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    round: RoundId,
    dimension: usize,
    samples: u64,
    /// The sum of the squared lengths of the contexts.
    trace: f64,
    /// Of the Gram matrix; null where it is singular.
    log_det: Option<f64>,
}

impl Summary {
    pub(super) fn of(round: RoundId, data: &Statistics) -> Summary {
        Summary {
            round,
            dimension: data.dimension(),
            samples: data.samples(),
            trace: data.gram().trace(),
            log_det: Factor::new(data.gram()).ok().map(|factor| factor.log_det()),
        }
    }
}

/// Why a command gave no price.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error("it cannot be run: {0}")]
    Run(#[from] std::io::Error),
    #[error("it took longer than {0:?}")]
    Timeout(Duration),
    #[error("it ended with {0}")]
    Failed(std::process::ExitStatus),
    #[error("it printed no price: {0}")]
    Price(#[from] AmountError),
}

/// Whether a program can be run: by its path, or by its name in one of the folders of `PATH`.
pub(super) fn check_program(program: &str) -> Result<(), PolicyError> {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = match program.contains('/') {
        true => is_program(Path::new(program)),
        false => std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program))),
    };
    if is_there { Ok(()) } else { Err(PolicyError::NoProgram(program.to_owned())) }
}

/// Runs a command, which is ended when its time is over.
pub(super) async fn ask(command: &[String], limit: Duration, summary: &Summary) -> Result<Amount, CommandError> {
    let mut child = tokio::process::Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let input = serde_json::to_vec(summary).expect("a summary is JSON");
    let talk = async {
        if let Some(mut stdin) = stdin {
            // A command may ignore its input and close it unread.
            let _ = stdin.write_all(&input).await;
        }
        let mut answer = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(MAX_ANSWER).read_to_end(&mut answer).await?;
        }
        match child.wait().await? {
            status if status.success() => Ok(String::from_utf8_lossy(&answer).trim().parse()?),
            status => Err(CommandError::Failed(status)),
        }
    };
    tokio::time::timeout(limit, talk).await.unwrap_or(Err(CommandError::Timeout(limit)))
}
