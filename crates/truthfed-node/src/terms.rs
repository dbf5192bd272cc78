//! The terms a federation agreed on, as they are written into the first entry of the journal, sent to every member and
//! signed, by their hash, in every offer.

use std::ops::Deref;
use std::sync::Arc;

pub use truthfed::auction::{MechanismSetting, RawMechanism};
pub use truthfed::protocol::{CoverageSetting, RawTerms, Terms, TermsError};

use crate::digest::Digest;

/// Checked terms, with the text that is sent and its hash. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agreement(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    terms: Terms,
    text: String,
    hash: Digest,
}

impl TryFrom<RawTerms> for Agreement {
    type Error = TermsError;

    fn try_from(raw: RawTerms) -> Result<Agreement, TermsError> {
        let terms = Terms::try_from(raw)?;
        let text = serde_json::to_string(terms.raw()).expect("terms are JSON");
        Ok(Agreement(Arc::new(Inner { hash: Digest::of(text.as_bytes()), terms, text })))
    }
}

impl Deref for Agreement {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.0.terms
    }
}

impl Agreement {
    /// The hash of the text, signed in every offer.
    pub fn hash(&self) -> Digest {
        self.0.hash
    }

    pub fn text(&self) -> &str {
        &self.0.text
    }
}
