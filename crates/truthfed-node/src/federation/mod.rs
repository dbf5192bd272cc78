//! The folder of a federation, and the bundle of each member.
//!
//! ```text
//! fed/federation.toml                      settings and terms
//!     authority/authority.{pem,key}        the certificate authority; the key is needed to add members only
//!     server/server.{pem,key}              the coordinator
//!     operator/operator.{pem,key}          who may enrol and revoke
//!     roster/NAME.pem                      the certificate of every member that was added
//!     renewals/NAME-KEY.pem                certificates that renewals issued or replaced
//!     members/NAME/                        a bundle, to be moved to the member
//!         member.toml, terms.json, authority.pem, member.{pem,key}
//! ```
//!
//! A member that makes its own key ([`apply`]) gets a bundle without one, and puts it beside its key ([`join`]). Before its certificate
//! expires it asks for the next ([`ask_renewal`]).
//!
//! [`init`] makes a folder whole or not at all; [`open`] and [`open_bundle`] read strictly and say what to do about what is
//! wrong. A checked [`Federation`] or [`Bundle`] need not be checked again.
//!
//! [`back_up`] copies it with its ledger, [`restore`] puts a copy back, and [`migrate`] moves the ledger to another store.
//!
//! [`publish`] writes what an auditor may have of it into another folder, and [`PublicBundle`] reads that.
//!
//! Not here: the ledger, and who is enrolled at present (the journal's).

mod application;
mod backup;
mod bundle;
mod certified;
mod create;
mod enlist;
mod expiries;
mod lines;
mod open;
mod public;
mod renewal;
mod settings;

#[cfg(test)]
mod tests;

pub use application::{Application, ApplyError, JoinError, apply, join};
pub use backup::{BackupError, back_up, migrate, restore};
pub use bundle::{Bundle, BundleFile, open_bundle};
pub use certified::journaled;
pub use create::{AddError, Applicant, Created, InitError, InitOptions, add_member, init, renew};
pub use enlist::EnlistError;
pub(crate) use enlist::{certified, enlist};
pub(crate) use expiries::dated;
pub use expiries::{Expiry, NOTICE_DAYS};
pub use open::{Enrolment, Federation, OpenError, open};
pub use public::{PublicBundle, PublicError, PublishError, line, publish};
pub use renewal::{RenewError, ask_renewal, certify_renewal, finish_renewal, take_renewal};
pub use settings::{RawFederation, RawLimits, Settings, SettingsError};

/// Commented settings: the defaults.
pub const DEFAULT_TOML: &str = include_str!("federation.toml");
