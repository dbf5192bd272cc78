//! Running the cells of a sweep that are not on disk yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Sweep;
use super::cell::{Cell, Unfit, cells, short_hash_in};
use super::sources::Sources;
use crate::output::{OutputError, OutputFolder, hex_digest};
use crate::simulation::Simulation;
use crate::totals::SeedTotals;
use crate::world::WorldError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A cell on disk cannot be taken over.
    Unfit { name: &'a str, problem: Unfit },
    /// Cells on disk belong to no point of this sweep; they go when it is complete.
    Unknown { cells: usize },
    /// The cells kept from disk are known, and the rest is begun.
    Started { kept: usize, cells: usize },
    /// One more cell is there.
    Done,
}

/// Why a sweep stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// User: a world cannot be made.
    #[error(transparent)]
    World(#[from] WorldError),
    /// User: a file cannot be read or written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Operator: the system gives no threads.
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Runs a sweep, `jobs` cells at once, and returns the totals of all cells: point by point, each under all seeds. With
/// a folder, cells found there are taken over and new ones written as they are done. `tell` is called from any thread.
/// Fails when a file cannot be used, read or written; cells that were done stay.
pub fn run(
    sweep: &Sweep,
    folder: Option<&OutputFolder>,
    jobs: usize,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Vec<SeedTotals>, RunError> {
    let cells = cells(sweep)?;
    let known = match folder {
        Some(folder) => take_over(folder, &cells, tell)?,
        None => vec![None; cells.len()],
    };
    let kept = known.iter().flatten().count();
    tell(Event::Started { kept, cells: cells.len() });
    let slots: Vec<OnceLock<SeedTotals>> =
        known.into_iter().map(|totals| totals.map_or_else(OnceLock::new, OnceLock::from)).collect();
    let todo: Vec<_> = cells.iter().zip(&slots).filter(|(_, slot)| slot.get().is_none()).collect();
    compute(&todo, folder, jobs, tell)?;
    Ok(slots.into_iter().map(|slot| slot.into_inner().expect("every cell is known or was computed")).collect())
}

/// The totals of the cells that are on disk and fit.
fn take_over(
    folder: &OutputFolder,
    cells: &[Cell<'_>],
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Vec<Option<SeedTotals>>, OutputError> {
    folder.begin()?;
    let names = folder.inner_names("cells")?;
    // A cell whose point has moved in the grid is known by its hash.
    let by_hash: BTreeMap<&str, &str> =
        names.iter().filter_map(|name| Some((short_hash_in(name)?, name.as_str()))).collect();
    let mut used = BTreeSet::new();
    let mut known = Vec::with_capacity(cells.len());
    for cell in cells {
        let Some(&name) = by_hash.get(cell.short_hash()) else {
            known.push(None);
            continue;
        };
        used.insert(name);
        let text = std::fs::read_to_string(folder.path().join("cells").join(name)).unwrap_or_default();
        let totals = cell.read(&text);
        match totals {
            Ok(_) if name == cell.file_name() => folder.keep(&format!("cells/{name}"), hex_digest(text.as_bytes())),
            Ok(totals) => write(folder, cell, totals)?,
            Err(problem) => tell(Event::Unfit { name, problem }),
        }
        known.push(totals.ok());
    }
    if used.len() < names.len() {
        tell(Event::Unknown { cells: names.len() - used.len() });
    }
    Ok(known)
}

fn write(folder: &OutputFolder, cell: &Cell<'_>, totals: SeedTotals) -> Result<(), OutputError> {
    folder.write(&format!("cells/{}", cell.file_name()), |out| out.write_all(cell.document(totals).as_bytes()))
}

/// Computes cells in their order, `jobs` at once; the first error stops all.
fn compute(
    todo: &[(&Cell<'_>, &OnceLock<SeedTotals>)],
    folder: Option<&OutputFolder>,
    jobs: usize,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(), RunError> {
    let jobs = jobs.clamp(1, todo.len().max(1));
    // Threads that are left over price the rounds within a cell.
    let threads = (rayon::current_num_threads() / jobs).max(1);
    let (next, sources) = (AtomicUsize::new(0), Sources::default());
    let work = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        while let Some((cell, slot)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
            let totals = pool.install(|| one(cell, &sources))?;
            if let Some(folder) = folder {
                write(folder, cell, totals)?;
            }
            slot.get_or_init(|| totals);
            tell(Event::Done);
        }
        Ok(())
    };
    let work_or_stop_all = || work().inspect_err(|_: &RunError| next.store(todo.len(), Ordering::Relaxed));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work_or_stop_all)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().try_for_each(join)
    })
}

fn one(cell: &Cell<'_>, sources: &Sources) -> Result<SeedTotals, WorldError> {
    let config = &cell.point.config;
    Ok(SeedTotals::from(&Simulation::from_source(config, &*sources.of(config)?, cell.seed).run()))
}
