//! Running the cells of a sweep that are not on disk yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use truthfed::{Stop, Stopped};

use super::Sweep;
use super::cell::{Cell, Unfit, cells, short_hash_in};
use super::sources::Sources;
use crate::output::{OutputError, OutputFolder, hex_digest};
use crate::simulation::{Run, Simulation};
use crate::totals::SeedTotals;
use crate::world::WorldError;

#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A cell on disk cannot be taken over.
    Unfit { name: &'a str, problem: Unfit },
    /// Cells on disk belong to no point of this sweep; they go when it is complete.
    Unknown { cells: usize },
    /// The cells kept from disk are known, and the rest is begun.
    Started { kept: usize, cells: usize },
    /// One more cell is there: the run of the cell with this number.
    Done { cell: usize, run: &'a Run },
}

/// Some of the cells of a sweep: every `of`-th, from the `number`-th on. Together all parts of a number are the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    number: usize,
    of: usize,
}

/// Why a part is none. The caller must give another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{number}/{of} is no part: it must be 1/N to N/N, with N from 1 to 100000")]
pub struct PartError {
    number: usize,
    of: usize,
}

impl Part {
    pub const WHOLE: Part = Part { number: 1, of: 1 };

    pub fn new(number: usize, of: usize) -> Result<Part, PartError> {
        let is_part = (1..=100_000).contains(&of) && (1..=of).contains(&number);
        if is_part { Ok(Part { number, of }) } else { Err(PartError { number, of }) }
    }

    /// Whether the cell with this number is in it.
    pub fn has(self, cell: usize) -> bool {
        cell % self.of == self.number - 1
    }
}

/// What is run of a sweep, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    pub part: Part,
    /// Cells at once.
    pub jobs: usize,
    pub stop: Stop,
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
    /// Caller: it stopped the sweep. Cells that were done stay.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// User: run the parts that have them.
    #[error("{missing} of {cells} cells are missing: run the parts that have them, then collect again")]
    Missing { missing: usize, cells: usize },
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
    whole(run_part(sweep, folder, &Plan { part: Part::WHOLE, jobs, stop: Stop::never() }, tell)?)
}

/// The same for a part of the cells, unless it is stopped. Cells of other parts have no totals.
pub fn run_part(
    sweep: &Sweep,
    folder: Option<&OutputFolder>,
    plan: &Plan,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Vec<Option<SeedTotals>>, RunError> {
    let cells = cells(sweep)?;
    let known = match folder {
        Some(folder) => take_over(folder, &cells, plan.part, tell)?,
        None => vec![None; cells.len()],
    };
    let kept = known.iter().flatten().count();
    let own = cells.iter().filter(|cell| plan.part.has(cell.index)).count();
    tell(Event::Started { kept, cells: own });
    let slots: Vec<OnceLock<SeedTotals>> =
        known.into_iter().map(|totals| totals.map_or_else(OnceLock::new, OnceLock::from)).collect();
    let is_missing =
        |(cell, slot): &(&Cell<'_>, &OnceLock<SeedTotals>)| plan.part.has(cell.index) && slot.get().is_none();
    let todo: Vec<_> = cells.iter().zip(&slots).filter(is_missing).collect();
    compute(&todo, folder, plan, tell)?;
    Ok(slots.into_iter().map(OnceLock::into_inner).collect())
}

/// The totals of all cells, which are all on disk. Fails when one is missing.
pub fn collect(
    sweep: &Sweep,
    folder: &OutputFolder,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Vec<SeedTotals>, RunError> {
    whole(take_over(folder, &cells(sweep)?, Part::WHOLE, tell)?)
}

pub(super) fn whole(totals: Vec<Option<SeedTotals>>) -> Result<Vec<SeedTotals>, RunError> {
    let (cells, missing) = (totals.len(), totals.iter().filter(|totals| totals.is_none()).count());
    if missing > 0 {
        return Err(RunError::Missing { missing, cells });
    }
    Ok(totals.into_iter().flatten().collect())
}

/// The totals of the cells that are on disk and fit.
pub(super) fn take_over(
    folder: &OutputFolder,
    cells: &[Cell<'_>],
    part: Part,
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
        if !part.has(cell.index) {
            known.push(None);
            continue;
        }
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

pub(super) fn write(folder: &OutputFolder, cell: &Cell<'_>, totals: SeedTotals) -> Result<(), OutputError> {
    folder.write(&format!("cells/{}", cell.file_name()), |out| out.write_all(cell.document(totals).as_bytes()))
}

/// Computes cells in their order, `jobs` at once; the first error stops all.
pub(super) fn compute(
    todo: &[(&Cell<'_>, &OnceLock<SeedTotals>)],
    folder: Option<&OutputFolder>,
    plan: &Plan,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(), RunError> {
    let jobs = plan.jobs.clamp(1, todo.len().max(1));
    // Threads that are left over price the rounds within a cell.
    let threads = (rayon::current_num_threads() / jobs).max(1);
    let (next, sources) = (AtomicUsize::new(0), Sources::default());
    let work = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        while let Some((cell, slot)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
            let run = pool.install(|| one(cell, &sources, &plan.stop))?;
            let totals = SeedTotals::from(&run);
            if let Some(folder) = folder {
                write(folder, cell, totals)?;
            }
            slot.get_or_init(|| totals);
            tell(Event::Done { cell: cell.index, run: &run });
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

fn one(cell: &Cell<'_>, sources: &Sources, stop: &Stop) -> Result<Run, RunError> {
    let config = &cell.point.config;
    Ok(Simulation::from_source(config, &*sources.of(config)?, cell.seed).run_until(stop)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_in_one_part() {
        for of in [1, 2, 7] {
            let parts: Vec<Part> = (1..=of).map(|number| Part::new(number, of).unwrap()).collect();
            for cell in 0..30 {
                assert_eq!(parts.iter().filter(|part| part.has(cell)).count(), 1, "{cell} of {of}");
            }
        }
        for (number, of) in [(0, 1), (2, 1), (1, 0), (1, 100_001)] {
            assert_eq!(Part::new(number, of), Err(PartError { number, of }));
        }
    }

    #[test]
    fn a_stopped_sweep_ends_in_the_middle_of_a_cell() {
        let text = "[world]\nsteps = 1000000\n[sweep]\nseeds = 1\n[sweep.grid]\n\"world.clients\" = [2]\n";
        let plan = Plan { part: Part::WHOLE, jobs: 1, stop: Stop::never() };
        let stop = plan.stop.clone();
        let tell = |event: Event<'_>| {
            if matches!(event, Event::Started { .. }) {
                stop.set();
            }
        };
        let stopped = run_part(&Sweep::read(text).unwrap(), None, &plan, &tell);
        assert!(matches!(stopped, Err(RunError::Stopped(Stopped))));
    }
}
