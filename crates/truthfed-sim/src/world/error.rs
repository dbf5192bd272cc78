//! Why a world cannot be made. Every reason is the user's to mend: the file, or the keys that ask too much of it.

use truthfed::statistics::MAX_ENTRY;
/// Why a world cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// User: the file is missing or cannot be read.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What happened.
        error: std::io::Error,
    },
    /// User: mend that line of the file.
    #[error("{path}, line {line}: {problem}")]
    Line {
        /// The file.
        path: String,
        /// Line number from 1.
        line: usize,
        /// What is wrong.
        problem: LineProblem,
    },
    /// User: the file holds nothing to use.
    #[error("{path} has no {what}")]
    Empty {
        /// The file.
        path: String,
        /// What it should hold.
        what: &'static str,
    },
    /// User: every client needs a user.
    #[error("{path} has {users} users, world.clients is {clients}: every client needs one")]
    FewUsers {
        /// The log.
        path: String,
        /// Its users.
        users: usize,
        /// The clients asked for.
        clients: usize,
    },
    /// User: the items of a step are distinct.
    #[error("{path} has {items} items, world.arms_per_step is {per_step}: the items shown in a step are distinct")]
    FewItems {
        /// The log.
        path: String,
        /// Its items.
        items: usize,
        /// The arms asked for at each step.
        per_step: usize,
    },
    /// User: a matrix of users and items has no more singular vectors than either.
    #[error("{path} has {users} users and {items} items, world.dimension is {dimension}: it is at most the smaller")]
    Dimension {
        /// The log.
        path: String,
        /// Its users.
        users: usize,
        /// Its items.
        items: usize,
        /// The dimension asked for.
        dimension: usize,
    },
    /// User: lower `world.liked`, `world.arms_per_step` or `world.clients`.
    #[error(
        "{path}: none of the {users} users of client {client} has both an item of value {threshold} or more and {others} others"
    )]
    NobodyToShow {
        /// The log.
        path: String,
        /// The client, from 0.
        client: usize,
        /// How many users it has.
        users: usize,
        /// The least value of a liked item.
        threshold: f64,
        /// How many items beside the liked one a step shows.
        others: usize,
    },
}

/// What is wrong with a line of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// Bytes that are no text.
    #[error("not UTF-8")]
    NotUtf8,
    /// Longer than any rating is.
    #[error("longer than {most} bytes")]
    TooLong {
        /// What is allowed.
        most: usize,
    },
    /// One line too many.
    #[error("a log has at most {most} lines")]
    TooMany {
        /// What is allowed.
        most: usize,
    },
    /// Less than a rating.
    #[error("{got} fields, at least 3 are needed: user, item, value")]
    FewFields {
        /// Its fields.
        got: usize,
    },
    /// Not as many coordinates as the world has dimensions.
    #[error("{got} coordinates, expected {expected}")]
    Coordinates {
        /// Its coordinates.
        got: usize,
        /// The dimension.
        expected: usize,
    },
    /// Nothing between two separators.
    #[error("{field} is empty")]
    EmptyField {
        /// The name of the field.
        field: &'static str,
    },
    /// A quoted field holds the separator: the fields cannot be told apart.
    #[error("{field} `{text}` has an open quote")]
    OpenQuote {
        /// The name of the field.
        field: &'static str,
        /// What stands there.
        text: String,
    },
    /// Something else than a number.
    #[error("{field} `{text}` is not a number")]
    NotANumber {
        /// The name of the field.
        field: &'static str,
        /// What stands there.
        text: String,
    },
    /// NaN or infinite.
    #[error("{field} `{text}` is not finite")]
    NotFinite {
        /// The name of the field.
        field: &'static str,
        /// What stands there.
        text: String,
    },
    /// A number whose square is out of reach.
    #[error("{field} `{text}` is beyond {MAX_ENTRY:e}")]
    TooLarge {
        /// The name of the field.
        field: &'static str,
        /// What stands there.
        text: String,
    },
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
