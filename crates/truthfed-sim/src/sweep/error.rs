//! What can be wrong with a sweep.

use crate::config::ConfigError;

/// Why a sweep is refused. All of them are the writer's to mend.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SweepError {
    /// The configuration itself, or what is not TOML.
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(
        "there is no grid: a sweep needs a table [sweep.grid] with at least one list, such as \
         \"world.clients\" = [10, 25]"
    )]
    NoGrid,
    /// The lines of the sweep cannot be told from the rest.
    #[error("the sweep must be written as tables of its own, [sweep] and [sweep.grid]")]
    NotATable,
    /// A key of the grid cannot be used.
    #[error("line {line}: sweep.grid, \"{key}\": {problem}")]
    Key { line: usize, key: String, problem: String },
    /// The values of some point are not allowed, alone or together.
    #[error("sweep.grid at {point}: {error}")]
    Point { point: String, error: ConfigError },
    #[error("sweep.seeds is 0: it must be at least 1")]
    NoSeeds,
    #[error("the sweep has {0} cells (points of the grid times seeds): it must have at most 100000")]
    TooManyCells(u64),
}
