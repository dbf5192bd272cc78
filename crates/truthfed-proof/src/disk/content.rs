//! The bytes of one file: as programs see them, as the medium has them, and the changes in between.

use std::fmt;
use std::ops::Range;

use crate::disk::fate::{Fate, Fates};

/// What is written at once, at best.
pub(crate) const SECTOR: usize = 512;

#[derive(Default)]
pub(crate) struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
    /// What leads from `synced` to `now`.
    unsynced: Vec<Change>,
}

enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Resize(usize),
}

impl Content {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.now
    }

    /// Fills a buffer, with zeros past the end of the file. Whether all of it was there.
    pub(crate) fn read(&self, offset: usize, buffer: &mut [u8]) -> bool {
        let found = self.now.get(offset..).unwrap_or_default();
        let length = found.len().min(buffer.len());
        buffer[..length].copy_from_slice(&found[..length]);
        buffer[length..].fill(0);
        length == buffer.len()
    }

    /// How long the file would be after a write.
    pub(crate) fn length_after(&self, offset: usize, length: usize) -> usize {
        self.now.len().max(offset + length)
    }

    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        put(&mut self.now, offset, bytes);
        self.unsynced.push(Change::Write { offset, bytes: bytes.to_vec() });
    }

    pub(crate) fn resize(&mut self, length: usize) {
        self.now.resize(length, 0);
        self.unsynced.push(Change::Resize(length));
    }

    pub(crate) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            match change {
                Change::Write { offset, bytes } => put(&mut self.synced, offset, &bytes),
                Change::Resize(length) => self.synced.resize(length, 0),
            }
        }
    }

    /// Goes back to what was synced, and what survives of the changes since.
    pub(crate) fn lose_power(&mut self, fates: &mut Fates<'_>) {
        for change in self.unsynced.drain(..) {
            match (change, fates.draw()) {
                (Change::Write { offset, bytes }, Fate::Kept) => put(&mut self.synced, offset, &bytes),
                (Change::Write { offset, bytes }, Fate::Torn) => tear(&mut self.synced, offset, &bytes, fates),
                (Change::Resize(length), Fate::Kept | Fate::Torn) => self.synced.resize(length, 0),
                (_, Fate::Dropped) => {}
            }
        }
        self.now.clone_from(&self.synced);
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {} changes not synced", self.now.len(), self.unsynced.len())
    }
}

/// Writes, and lengthens the file by zeros where it is too short.
fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

/// Writes some sectors, and may damage one. The file may have grown for nothing.
fn tear(file: &mut Vec<u8>, offset: usize, bytes: &[u8], fates: &mut Fates<'_>) {
    let end = offset + bytes.len();
    if file.len() < end && fates.coin() {
        file.resize(end, 0);
    }
    let sectors = offset / SECTOR..end.div_ceil(SECTOR);
    let first_lost = fates.between(sectors.start, sectors.end);
    let in_order = fates.coin();
    for sector in sectors.clone() {
        let is_written = if in_order { sector < first_lost } else { fates.coin() };
        let part = (sector * SECTOR).max(offset)..((sector + 1) * SECTOR).min(end);
        if is_written {
            put(file, part.start, &bytes[part.start - offset..part.end - offset]);
        }
    }
    if sectors.contains(&first_lost) && fates.coin() {
        let whole = first_lost * SECTOR..(first_lost + 1) * SECTOR;
        let own = whole.start.max(offset)..whole.end.min(end);
        damage(file, if fates.is_powersafe { own } else { whole }, fates);
    }
}

/// Fills what the file has of these bytes with zeros or anything, from one of them on.
fn damage(file: &mut [u8], range: Range<usize>, fates: &mut Fates<'_>) {
    let end = range.end.min(file.len());
    let start = fates.between(range.start, range.end).min(end);
    match fates.coin() {
        true => file[start..end].fill(0),
        false => fates.fill(&mut file[start..end]),
    }
}
