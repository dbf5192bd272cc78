//! Simulated federations: worlds, behaviours, experiments and sweeps.
//!
//! A [`simulation::Simulation`] drives the same protocol machines as a network service would
//! ([`federation::Federation`]), in a [`world`] that one seed fixes entirely. The same seed gives the same bytes at
//! any number of threads.
//!
//! ```
//! use truthfed_sim::config::Config;
//! use truthfed_sim::simulation::Simulation;
//! let config = Config::read("[world]\nclients = 5\nsteps = 500", &[])?;
//! let run = Simulation::new(&config, 1)?.run();
//! assert_eq!(run.totals().steps, 500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod config;
pub mod experiment;
pub mod federation;
pub mod forgery;
pub mod gzip;
mod identities;
pub mod interval;
pub mod manipulation;
pub mod output;
pub mod role;
pub mod seen;
pub mod simulation;
pub mod sweep;
pub mod totals;
pub mod world;
