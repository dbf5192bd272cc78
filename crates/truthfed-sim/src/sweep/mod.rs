//! Sweeps: a grid over the keys of a configuration, with seeds as replicates.
//!
//! A [`Sweep`] is a configuration with a `[sweep]` table:
//!
//! ```
//! # let text = r#"
//! [world]
//! steps = 500
//!
//! [sweep]
//! seeds = 3
//!
//! [sweep.grid]
//! "world.clients" = [10, 25]
//! "rounds.mechanism" = ["clock", "greedy"]
//! # "#;
//! # let sweep = truthfed_sim::sweep::Sweep::read(text)?;
//! # assert_eq!((sweep.points().len(), sweep.cells()), (4, 12));
//! # Ok::<(), truthfed_sim::sweep::SweepError>(())
//! ```
//!
//! One cell is a point of the grid under one seed. [`run`] writes each as soon as it is done, so that a sweep that was
//! stopped goes on from there; the files are the same bytes as if it had not been. [`run_part`] computes some of the cells, for
//! several machines that share a folder, and [`collect`] makes the tables of all: the same bytes again. A [`Gathering`] takes cells
//! from machines that share none.

mod cell;
mod error;
mod gather;
mod grid;
mod run;
mod sources;
mod tables;

pub use cell::Unfit;
pub use error::SweepError;
pub use gather::{GatherError, Gathering, run_cells};
pub use grid::{Point, Sweep};
pub use run::{Event, Part, PartError, Plan, RunError, collect, run, run_part};
pub use tables::write_results;
