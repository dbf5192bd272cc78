//! Where a store is: a URL names one of [`SERVERS`] by its scheme, and everything else is the path of an SQLite file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{SERVERS, Sqlite, Store, StoreError};

pub(super) type Opened = Result<Box<dyn Store>, StoreError>;

/// A store that has a URL.
pub(super) struct Server {
    /// How its URLs begin, the usual scheme first.
    pub(super) schemes: &'static [&'static str],
    pub(super) open: fn(&str) -> Opened,
    pub(super) open_existing: fn(&str) -> Opened,
    pub(super) open_frozen: fn(&str) -> Opened,
}

/// The path of an SQLite file, or the URL of a database. Prints no URL: it may hold a password.
#[derive(Clone)]
pub struct Location(Inner);

#[derive(Clone)]
enum Inner {
    File(PathBuf),
    Url(&'static Server, String),
}

/// Why a text is no location. Operator: fix the setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    #[error("is empty: it must be a file or {0}...")]
    Empty(String),
    /// The text itself is not shown: it may hold a password.
    #[error("is an address, but not a {0} one: write {0}USER:PASSWORD@HOST/DATABASE, or the name of a file")]
    UnknownScheme(String),
}

impl Location {
    pub fn file(path: impl Into<PathBuf>) -> Location {
        Location(Inner::File(path.into()))
    }

    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Inner::File(path) => Some(path),
            Inner::Url(..) => None,
        }
    }

    /// The same location, with the path of a file relative to a folder.
    #[must_use]
    pub fn within(&self, folder: &Path) -> Location {
        self.path().map_or_else(|| self.clone(), |path| Location::file(folder.join(path)))
    }

    /// Opens the store; creates it if missing, and upgrades its tables. Blocks: not for use inside an asynchronous
    /// runtime. Fails when it cannot be reached or read, or has another schema version.
    pub fn open(&self) -> Opened {
        match &self.0 {
            Inner::File(path) => Ok(Box::new(Sqlite::open(path)?)),
            Inner::Url(server, url) => (server.open)(url),
        }
    }

    /// Opens the store to read only; creates and upgrades nothing. Fails as [`Location::open`], and when there is no
    /// store.
    pub fn open_existing(&self) -> Opened {
        match &self.0 {
            Inner::File(path) => Ok(Box::new(Sqlite::open_existing(path)?)),
            Inner::Url(server, url) => (server.open_existing)(url),
        }
    }

    /// Opens the store to read it as it is at this moment, whatever others write meanwhile. Fails as
    /// [`Location::open_existing`].
    pub fn open_frozen(&self) -> Opened {
        match &self.0 {
            Inner::File(path) => Ok(Box::new(Sqlite::open_frozen(path)?)),
            Inner::Url(server, url) => (server.open_frozen)(url),
        }
    }
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Location, LocationError> {
        let usual =
            || SERVERS.iter().map(|server| format!("{}://", server.schemes[0])).collect::<Vec<_>>().join(" or ");
        let Some((scheme, _)) = text.split_once("://") else {
            return if text.is_empty() { Err(LocationError::Empty(usual())) } else { Ok(Location::file(text)) };
        };
        let server = SERVERS.iter().find(|server| server.schemes.contains(&scheme));
        let server = server.ok_or_else(|| LocationError::UnknownScheme(usual()))?;
        Ok(Location(Inner::Url(server, text.to_owned())))
    }
}

impl PartialEq for Location {
    fn eq(&self, other: &Location) -> bool {
        match (&self.0, &other.0) {
            (Inner::File(one), Inner::File(other)) => one == other,
            (Inner::Url(_, one), Inner::Url(_, other)) => one == other,
            _ => false,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::File(path) => write!(f, "{}", path.display()),
            Inner::Url(server, _) => write!(f, "{}://[redacted]", server.schemes[0]),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
