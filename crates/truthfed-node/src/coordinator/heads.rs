//! Heads of the journal, and proofs about it, for members and the operator.
//!
//! A task follows the journal and keeps the nodes of its tree in a file ([`Kept`]), so that a head or a proof costs a few reads of that
//! file whatever the length of the journal. The file goes on where it ended when the coordinator starts; if it is lost or of another
//! journal, it is made again, and nobody gets a head until it reaches what was there at the start: a head that goes back would look
//! like another history.
//!
//! Promises: a head is of committed entries. A member gets proofs of what it said itself and nobody else's entries; what its proofs
//! show of the others' are hashes with a salt ([`crate::log`]).

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::Plan;
use super::operator::last_before;
use crate::digest::Digest;
use crate::engine::{Handle, Place};
use crate::error::{Code, Refusal};
use crate::journal::{Head, Row};
use crate::log::{Grown, Kept, Proof, Proven, SignedHead, leaf_of};
use crate::seldom::Seldom;
use crate::signature::Signer;

/// The file of the tree's nodes, beside that of the last checkpoint.
const NODES: &str = "journal.tree";
/// Rows read at once; the engine serves other requests between two chunks.
const CHUNK: usize = 64;
/// How long a request waits for the tree to reach the end of the journal.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Pause before the file is tried again.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Heads {
    federation: Digest,
    signer: Signer,
    path: PathBuf,
    place: Place,
    /// None until the file was opened and found to be of this journal.
    kept: Mutex<Option<Kept>>,
    /// How many entries are in the tree.
    size: watch::Sender<u64>,
    /// How many must be, before a head is given.
    least: AtomicU64,
    /// One search for a round at a time: each reads the journal at several places.
    search: tokio::sync::Mutex<()>,
}

impl Heads {
    pub(super) fn new(plan: &Plan) -> Heads {
        Heads {
            federation: plan.authority.digest(),
            signer: plan.server.signer().clone(),
            path: plan.checkpoint.with_file_name(NODES),
            place: plan.place,
            kept: Mutex::default(),
            size: watch::Sender::new(0),
            least: AtomicU64::new(u64::MAX),
            search: tokio::sync::Mutex::default(),
        }
    }

    /// Follows the journal of an engine until it ends.
    pub(super) fn follow(self: &Arc<Heads>, engine: Handle) {
        self.least.store(engine.published().entries(), Ordering::Release);
        let heads = self.clone();
        tokio::spawn(async move {
            let mut seldom = Seldom::default();
            while let Err(error) = heads.follow_on(&engine).await {
                if engine.problem().is_none() {
                    let path = heads.path.display();
                    seldom.tell("tree", |times| tracing::warn!(%error, times, %path, "cannot follow the journal"));
                }
                tokio::select! {
                    () = engine.ended() => return,
                    () = tokio::time::sleep(PAUSE) => {}
                }
            }
        });
    }

    /// Fails when the store or the file does not answer, and ends well with the engine.
    async fn follow_on(self: &Arc<Heads>, engine: &Handle) -> Result<(), Trouble> {
        let mut end = self.open(engine).await?;
        loop {
            let rows = engine.rows(end.number, CHUNK).await?;
            if rows.is_empty() {
                tokio::select! {
                    () = engine.ended() => return Ok(()),
                    () = engine.grown(end.number) => continue,
                }
            }
            let (heads, before) = (self.clone(), end.hash);
            let push = move || heads.push(before, &rows).map(|()| rows);
            // Hashing offers of many dimensions takes its time.
            let pushed = match self.place {
                Place::Thread => tokio::task::spawn_blocking(push).await,
                Place::Task => Ok(push()),
            };
            let rows = pushed.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
            end = rows.last().map_or(end, |last| Head { number: last.number, hash: last.hash });
            self.size.send_replace(end.number);
        }
    }

    /// Opens the file, and keeps as much of it as is of this journal. Gives the end of that.
    async fn open(&self, engine: &Handle) -> Result<Head, Trouble> {
        let mut kept = Kept::open(&self.path)?;
        let entries = engine.published().entries();
        if kept.size() > entries {
            kept.cut(entries)?;
        }
        let size = kept.size();
        let end = match row_of(engine, size).await? {
            None => Head::START,
            Some((before, row)) if Some(leaf_of(before, &row)) == kept.last()? => Head { number: size, hash: row.hash },
            Some(_) => {
                tracing::warn!(path = %self.path.display(), "the tree is of another journal: it is made again");
                kept.cut(0)?;
                Head::START
            }
        };
        *self.kept() = Some(kept);
        self.size.send_replace(end.number);
        Ok(end)
    }

    fn push(&self, mut before: Digest, rows: &[Row]) -> io::Result<()> {
        let mut kept = self.kept();
        let kept = kept.as_mut().expect("it was opened");
        for row in rows {
            kept.push(leaf_of(before, row))?;
            before = row.hash;
        }
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A proof under the head of all that is committed, of some rows, each with the hash before it; and of how the journal began, if
    /// that is asked for.
    async fn prove(&self, engine: &Handle, rows: Vec<(Digest, Row)>, from: Option<u64>) -> Result<Proof, Refusal> {
        let entries = engine.published().entries();
        let least = self.least.load(Ordering::Acquire);
        let mut size = self.size.subscribe();
        let _ = tokio::time::timeout(PATIENCE, size.wait_for(|size| *size >= entries)).await;
        if *size.borrow() < least {
            return Err(Refusal::new(Code::Busy, "the tree over the journal is not ready: try again"));
        }
        let kept = self.kept();
        let mut tree = kept.as_ref().expect("it has a size").tree();
        let unread = |error: io::Error| Refusal::new(Code::Internal, format!("{}: {error}", self.path.display()));
        let refused = |error: crate::log::merkle::RangeError| Refusal::new(Code::OutOfRange, error.to_string());
        let top = (tree.size, tree.root().map_err(unread)?);
        let mut proof = Proof::of(&SignedHead::sign(&self.signer, self.federation, top));
        for (before, row) in rows {
            proof.entries.push(Proven::of(before, row, &mut tree).map_err(unread)?.map_err(refused)?);
        }
        if let Some(from) = from {
            proof.grown = Some(Grown::of(from, &mut tree).map_err(unread)?.map_err(refused)?);
        }
        Ok(proof)
    }

    /// The head, and how it grew from that of the first entries, if that is asked for.
    pub(super) async fn head(&self, engine: &Handle, from: Option<u64>) -> Result<Proof, Refusal> {
        self.prove(engine, Vec::new(), from).await
    }

    /// That the journal has an entry.
    pub(super) async fn entry(&self, engine: &Handle, entry: u64, from: Option<u64>) -> Result<Proof, Refusal> {
        let missing = || Refusal::new(Code::NotFound, format!("there is no entry {entry}"));
        let row = row_of(engine, entry).await?.ok_or_else(missing)?;
        self.prove(engine, vec![row], from).await
    }

    /// That the journal has what a member said in a round.
    pub(super) async fn said(&self, engine: &Handle, member: &ClientId, round: RoundId) -> Result<Proof, Refusal> {
        let _one = self.search.lock().await;
        let mut said = Vec::new();
        let mut last = last_before(engine, round).await?;
        let mut before = row_of(engine, last).await?.map_or(Head::START.hash, |(_, row)| row.hash);
        'reading: loop {
            let rows = engine.rows(last, CHUNK).await?;
            let Some(end) = rows.last() else { break };
            last = end.number;
            for row in rows {
                let unread = |error: crate::journal::JournalError| Refusal::new(Code::Internal, error.to_string());
                let entry = row.entry().map_err(unread)?;
                let about = entry.about();
                if about.round.is_some_and(|of| of > round) {
                    break 'reading;
                }
                let hash = row.hash;
                if about.round == Some(round) && about.speaker == Some(member) {
                    said.push((before, row));
                }
                before = hash;
            }
        }
        if said.is_empty() {
            return Err(Refusal::new(Code::NotFound, format!("{member} said nothing in round {round}")));
        }
        self.prove(engine, said, None).await
    }
}

/// An entry, if there is one of that number, and the hash before it.
async fn row_of(engine: &Handle, number: u64) -> Result<Option<(Digest, Row)>, Refusal> {
    if number == 0 || number > engine.published().entries() {
        return Ok(None);
    }
    let mut rows = engine.rows(number.saturating_sub(2), if number == 1 { 1 } else { 2 }).await?;
    let row = rows.pop();
    let before = rows.pop().map_or(Head::START.hash, |before| before.hash);
    Ok(row.map(|row| (before, row)))
}

/// Why the journal is not followed for now.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Engine(#[from] Refusal),
}
