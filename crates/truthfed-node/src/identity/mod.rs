//! Who is who: a federation's own certificate authority, the certificates it issues, and the private keys that go with them.
//!
//! Everyone is known by a certificate of the federation's authority: the coordinator by its names, a member and the operator
//! by the hash of theirs. The key of a certificate also signs offers, deliveries and receipts, so that a party has one
//! key. The federation itself is known by the hash of its authority's certificate.
//!
//! Promises: a key file that others can read is refused; no key is ever printed.
//!
//! Not here: connections ([`crate::net`]), where the files lie ([`crate::federation`]).

mod authority;
mod certificate;
mod expiry;
mod files;
mod name;
mod renewal;
mod request;

pub use authority::{Authority, IssueError, Validity};
pub use certificate::{Certificate, Identity, IdentityError};
pub(crate) use certificate::{Purpose, holder};
pub use expiry::watch_expiry;
pub use files::{PrivateFileError, create_private_folder, read_private, write_private, write_public};
pub use name::{NameError, check_name};
pub use renewal::{RENEWAL_SCHEMA, Renewal, RenewalError, RenewalRequest};
pub use request::{REQUEST_SCHEMA, Request, RequestError};
