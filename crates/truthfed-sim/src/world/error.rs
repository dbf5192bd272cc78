//! Why a world cannot be created. The user can fix every cause: the file, or the keys that ask too much of it.

use truthfed::statistics::MAX_ENTRY;

/// Why a world cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// User: the file is missing or cannot be read.
    #[error("cannot read {path}: {error}")]
    Io { path: String, error: std::io::Error },
    /// User: fix that line of the file.
    #[error("{path}, line {line}: {problem}")]
    Line {
        path: String,
        /// Line number from 1.
        line: usize,
        problem: LineProblem,
    },
    /// User: the file holds no usable line.
    #[error("{path} has no {what}")]
    Empty { path: String, what: &'static str },
    /// User: lower `world.clients`; every client needs at least one user.
    #[error("{path} has {users} users, world.clients is {clients}: every client needs one")]
    FewUsers { path: String, users: usize, clients: usize },
    /// User: lower `world.arms_per_step`; the items of a step are distinct.
    #[error("{path} has {items} items, world.arms_per_step is {per_step}: the items shown in a step are distinct")]
    FewItems { path: String, items: usize, per_step: usize },
    /// User: lower `world.dimension`; a matrix of users and items has no more singular vectors than either.
    #[error("{path} has {users} users and {items} items, world.dimension is {dimension}: it is at most the smaller")]
    Dimension { path: String, users: usize, items: usize, dimension: usize },
    /// User: lower `world.liked`, `world.arms_per_step` or `world.clients`.
    #[error(
        "{path}: none of the {users} users of client {client} has both an item of value {threshold} or more and {others} others"
    )]
    NobodyToShow {
        path: String,
        /// The client, from 0.
        client: usize,
        users: usize,
        threshold: f64,
        others: usize,
    },
}

/// What is wrong with a line of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    #[error("not UTF-8")]
    NotUtf8,
    /// Longer than any rating.
    #[error("longer than {most} bytes")]
    TooLong { most: usize },
    #[error("a log has at most {most} lines")]
    TooMany { most: usize },
    #[error("{got} fields, at least 3 are needed: user, item, value")]
    FewFields { got: usize },
    /// The number of coordinates must be `world.dimension`.
    #[error("{got} coordinates, expected {expected}")]
    Coordinates { got: usize, expected: usize },
    #[error("{field} is empty")]
    EmptyField { field: &'static str },
    /// A quote that no other one ends before the line does.
    #[error("{field} `{text}` has an open quote")]
    OpenQuote { field: &'static str, text: String },
    #[error("{field} `{text}` goes on after its quote: a quote within is doubled")]
    AfterQuote { field: &'static str, text: String },
    #[error("{field} `{text}` is not a number")]
    NotANumber { field: &'static str, text: String },
    #[error("{field} `{text}` is not finite")]
    NotFinite { field: &'static str, text: String },
    /// The square of the number would overflow later.
    #[error("{field} `{text}` is beyond {MAX_ENTRY:e}")]
    TooLarge { field: &'static str, text: String },
}

/// A number within [`MAX_ENTRY`], or what is wrong with it.
pub(super) fn number(field: &'static str, text: &str) -> Result<f64, LineProblem> {
    match text.parse::<f64>() {
        Ok(number) if number.abs() <= MAX_ENTRY => Ok(number),
        Ok(number) if number.is_finite() => Err(LineProblem::TooLarge { field, text: text.to_owned() }),
        Ok(_) => Err(LineProblem::NotFinite { field, text: text.to_owned() }),
        Err(_) => Err(LineProblem::NotANumber { field, text: text.to_owned() }),
    }
}
