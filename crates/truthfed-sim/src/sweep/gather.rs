//! A sweep whose cells are computed elsewhere: by machines that share no folder with this one.
//!
//! [`run_cells`] computes cells by their numbers and writes nothing. A [`Gathering`] has the folder for itself: it takes over the cells on
//! disk, writes those that come in, and makes the tables of all. The files are those of a sweep that ran here.
//!
//! Not here: who computes which cell, and how it travels.

use truthfed::Stop;

use super::cell::{Cell, cells};
use super::run::{Event, Part, Plan, RunError, compute, take_over, whole, write};
use super::{Sweep, write_results};
use crate::output::OutputFolder;
use crate::totals::SeedTotals;

/// Why a cell that was computed elsewhere is not taken.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// Caller: it is no cell of this sweep.
    #[error("cell {cell}: it must be below {cells}")]
    NoCell { cell: usize, cells: usize },
    /// Caller: these are the totals of another cell.
    #[error("cell {cell} has totals of seed {got}: it must be seed {seed}")]
    OtherSeed { cell: usize, got: u64, seed: u64 },
    /// User: the folder cannot be written, or cells are missing.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Computes the cells with these numbers, `jobs` at once, one after the other in this order. Nothing is written.
pub fn run_cells(
    sweep: &Sweep,
    numbers: &[usize],
    (jobs, stop): (usize, Stop),
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Vec<SeedTotals>, GatherError> {
    let all = cells(sweep).map_err(RunError::from)?;
    let known = |&cell: &usize| {
        all.get(cell).ok_or(GatherError::NoCell { cell, cells: all.len() }).map(|cell| (cell, <_>::default()))
    };
    let chosen = numbers.iter().map(known).collect::<Result<Vec<_>, _>>()?;
    let todo: Vec<_> = chosen.iter().map(|(cell, slot)| (*cell, slot)).collect();
    compute(&todo, None, &Plan { part: Part::WHOLE, jobs, stop }, tell)?;
    let found: Vec<Option<SeedTotals>> = chosen.into_iter().map(|(_, slot)| slot.into_inner()).collect();
    Ok(whole(found)?)
}

/// A folder of a sweep to which cells come from elsewhere.
#[derive(Debug)]
pub struct Gathering {
    sweep: Sweep,
    folder: OutputFolder,
    keys: Vec<String>,
    totals: Vec<Option<SeedTotals>>,
}

impl Gathering {
    /// Takes over the cells that are in the folder and fit.
    pub fn begin(
        sweep: Sweep,
        folder: OutputFolder,
        tell: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Gathering, GatherError> {
        let all = cells(&sweep).map_err(RunError::from)?;
        let totals = take_over(&folder, &all, Part::WHOLE, tell).map_err(RunError::from)?;
        let keys = all.into_iter().map(Cell::into_key).collect();
        Ok(Gathering { sweep, folder, keys, totals })
    }

    /// The totals of each cell that is there.
    pub fn totals(&self) -> &[Option<SeedTotals>] {
        &self.totals
    }

    /// Writes a cell that was computed elsewhere.
    pub fn keep(&mut self, index: usize, totals: SeedTotals) -> Result<(), GatherError> {
        let Some(key) = self.keys.get(index) else {
            return Err(GatherError::NoCell { cell: index, cells: self.keys.len() });
        };
        let seeds = self.sweep.seeds() as usize;
        let seed = (index % seeds) as u64 + 1;
        if totals.seed != seed {
            return Err(GatherError::OtherSeed { cell: index, got: totals.seed, seed });
        }
        let cell = Cell::new(&self.sweep.points()[index / seeds], seed, index, key.clone());
        write(&self.folder, &cell, totals).map_err(RunError::from)?;
        self.totals[index] = Some(totals);
        Ok(())
    }

    /// Writes the tables of all cells. Fails when one is missing. Returns the totals, and how many files there are.
    pub fn finish(self) -> Result<(Vec<SeedTotals>, usize), GatherError> {
        let all = whole(self.totals)?;
        let files = write_results(self.folder, &self.sweep, &all).map_err(RunError::from)?;
        Ok((all, files))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::output::SWEEP;
    use crate::sweep::run;

    fn sweep() -> Sweep {
        let text =
            "[world]\nsteps = 60\nclients = 3\n[sweep]\nseeds = 2\n[sweep.grid]\n\"rounds.coverage\" = [0.3, 0.6]\n";
        Sweep::read(text).unwrap()
    }

    fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let all = [folder.to_owned(), folder.join("cells")].map(|place| std::fs::read_dir(place).unwrap());
        let paths = all.into_iter().flatten().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        paths
            .map(|path| {
                (path.display().to_string()[folder.as_os_str().len()..].to_owned(), std::fs::read(&path).unwrap())
            })
            .collect()
    }

    #[test]
    fn cells_from_elsewhere_give_the_bytes_of_a_sweep_that_ran_here() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = OutputFolder::open(here.path(), &SWEEP).unwrap();
        let totals = run(&sweep(), Some(&folder), 1, &|_| {}).unwrap();
        write_results(folder, &sweep(), &totals).unwrap();
        let open = || OutputFolder::open(there.path(), &SWEEP).unwrap();
        let mut begun = Gathering::begin(sweep(), open(), &|_| {}).unwrap();
        let [last] = run_cells(&sweep(), &[3], (1, Stop::never()), &|_| {}).unwrap()[..] else { panic!("one cell") };
        assert!(matches!(begun.keep(4, last), Err(GatherError::NoCell { cell: 4, cells: 4 })));
        assert!(matches!(begun.keep(2, last), Err(GatherError::OtherSeed { cell: 2, got: 2, seed: 1 })));
        begun.keep(3, last).unwrap();
        assert!(matches!(begun.finish(), Err(GatherError::Run(RunError::Missing { missing: 3, cells: 4 }))));
        // It goes on with what is on disk.
        let mut begun = Gathering::begin(sweep(), open(), &|_| {}).unwrap();
        assert_eq!(begun.totals(), [None, None, None, Some(last)]);
        let rest = run_cells(&sweep(), &[2, 0, 1], (2, Stop::never()), &|_| {}).unwrap();
        for (cell, totals) in [2, 0, 1].into_iter().zip(rest) {
            begun.keep(cell, totals).unwrap();
        }
        let (all, written) = begun.finish().unwrap();
        assert_eq!((all, written), (totals, files(here.path()).len()));
        assert_eq!(files(there.path()), files(here.path()));
    }
}
