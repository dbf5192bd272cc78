//! What the engine answers: JSON, of which many replies can share one large piece.

use axum::body::Bytes;

/// Pieces of one JSON text; a clone copies none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    before: Bytes,
    shared: Bytes,
    after: Bytes,
}

impl Reply {
    /// A shared piece between two of its own.
    pub(super) fn around(shared: Bytes, before: String, after: String) -> Reply {
        Reply { before: before.into(), shared, after: after.into() }
    }

    pub fn into_pieces(self) -> [Bytes; 3] {
        [self.before, self.shared, self.after]
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Reply {
        Reply::around(Bytes::new(), text, String::new())
    }
}

impl From<Reply> for String {
    fn from(reply: Reply) -> String {
        String::from_utf8(reply.into_pieces().concat()).expect("JSON is text")
    }
}
