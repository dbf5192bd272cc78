//! What tests of this crate and of others share. Only in tests, and with the feature `testing`.

mod place;

pub use self::place::Place;
pub use crate::store::postgres::place::Database;
pub use crate::store::sqlite::place::File;
