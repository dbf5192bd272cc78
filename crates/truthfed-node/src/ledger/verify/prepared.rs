//! What can be told of a row alone: whether it is chained to the one before, and what it says.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use serde::de::DeserializeOwned;

use crate::digest::Digest;
use crate::journal::{Entry, Row};
use crate::wire::{DeliveryContent, OfferContent};

pub(super) struct Prepared {
    pub(super) number: u64,
    pub(super) hash: Digest,
    pub(super) is_chained: bool,
    pub(super) entry: Result<Entry, String>,
    pub(super) content: Content,
}

/// The hash of what a member signed, and the content, or why it cannot be read.
pub(super) enum Content {
    None,
    Offer(Digest, Readable<OfferContent>),
    Delivery(Digest, Readable<DeliveryContent>),
}

pub(super) type Readable<T> = Result<Box<T>, String>;

/// Reads the rows after one of that hash, on all cores.
pub(super) fn prepare(before: Digest, rows: Vec<Row>) -> Vec<Prepared> {
    let hashes: Vec<Digest> = std::iter::once(before).chain(rows.iter().map(|row| row.hash)).collect();
    rows.into_par_iter().zip(hashes).map(|(row, before)| Prepared::new(&row, before)).collect()
}

impl Prepared {
    fn new(row: &Row, before: Digest) -> Prepared {
        let entry = read(&row.body);
        let content = match &entry {
            Ok(Entry::Offered { offer, .. }) => Content::Offer(offer.digest(), read(offer.content.get()).map(Box::new)),
            Ok(Entry::Delivered { delivery, .. }) => {
                Content::Delivery(delivery.digest(), read(delivery.content.get()).map(Box::new))
            }
            _ => Content::None,
        };
        Prepared { number: row.number, hash: row.hash, is_chained: row.is_chained_to(before), entry, content }
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
