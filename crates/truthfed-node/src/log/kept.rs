//! The nodes of a tree in a file, so that a coordinator need not read its journal again when it starts.
//!
//! The file is a list of hashes, in the order in which nodes become complete, and nothing else. It follows from the journal: whatever
//! of it is missing or wrong is made again. Nothing is synced: what a power loss leaves is found when the file is opened, by every
//! node that is not the hash of its children, and by the last leaf, which the caller compares with the journal.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::merkle::{self, Tree, append, completed, leaves_of};
use crate::digest::{Digest, Hex};

/// Bytes of a node.
const NODE: u64 = 32;

pub struct Kept {
    file: File,
    size: u64,
}

impl Kept {
    /// Opens a file, or makes an empty one; cuts off what is not part of a tree. Fails when it cannot be read or written.
    pub fn open(path: &Path) -> io::Result<Kept> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let nodes = file.metadata()?.len() / NODE;
        let size = whole(BufReader::new(&file), leaves_of(nodes))?;
        let mut kept = Kept { file, size };
        kept.cut(size)?;
        Ok(kept)
    }

    /// How many leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Forgets all leaves but the first ones.
    pub fn cut(&mut self, size: u64) -> io::Result<()> {
        self.file.set_len(NODE * completed(size))?;
        self.size = size;
        Ok(())
    }

    /// The last leaf, if there is one.
    pub fn last(&self) -> io::Result<Option<Digest>> {
        match self.size.checked_sub(1) {
            None => Ok(None),
            Some(before) => node(&self.file, completed(before)).map(Some),
        }
    }

    pub fn push(&mut self, leaf: Digest) -> io::Result<()> {
        let complete = append(self.size, leaf, |place| node(&self.file, place))?;
        let bytes: Vec<u8> = complete.iter().flat_map(|Hex(node)| *node).collect();
        self.file.seek(SeekFrom::Start(NODE * completed(self.size)))?;
        self.file.write_all(&bytes)?;
        self.size += 1;
        Ok(())
    }

    pub fn tree(&self) -> Tree<impl FnMut(u64) -> io::Result<Digest>> {
        Tree { size: self.size, node: |place| node(&self.file, place) }
    }
}

fn node(mut file: &File, place: u64) -> io::Result<Digest> {
    file.seek(SeekFrom::Start(NODE * place))?;
    read(&mut file)
}

fn read(from: &mut impl Read) -> io::Result<Digest> {
    let mut bytes = [0; NODE as usize];
    from.read_exact(&mut bytes)?;
    Ok(Hex(bytes))
}

/// How many leaves from the first on have nodes that are the hashes of their children.
fn whole(mut from: impl Read, leaves: u64) -> io::Result<u64> {
    // The roots of the complete trees so far, the largest first.
    let mut roots: Vec<Digest> = Vec::new();
    for size in 0..leaves {
        let mut last = read(&mut from)?;
        for _ in 0..size.trailing_ones() {
            let left = roots.pop().expect("as many as ones in the size");
            let parent = read(&mut from)?;
            if parent != merkle::node_hash(left, last) {
                return Ok(size);
            }
            last = parent;
        }
        roots.push(last);
    }
    Ok(leaves)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(number: u64) -> Digest {
        merkle::leaf_hash(&number.to_be_bytes())
    }

    fn filled(path: &Path, leaves: u64) -> Vec<Digest> {
        let mut kept = Kept::open(path).unwrap();
        let grow = |number| {
            kept.push(leaf(number)).unwrap();
            kept.tree().root().unwrap()
        };
        (0..leaves).map(grow).collect()
    }

    #[test]
    fn a_tree_that_was_closed_goes_on_where_it_ended() {
        let (one, other) = (crate::testing::folder(), crate::testing::folder());
        let roots = filled(&one.path().join("tree"), 40);
        for (number, root) in roots.into_iter().enumerate() {
            let mut kept = Kept::open(&other.path().join("tree")).unwrap();
            assert_eq!(kept.size(), number as u64);
            kept.push(leaf(number as u64)).unwrap();
            assert_eq!((kept.tree().root().unwrap(), kept.last().unwrap()), (root, Some(leaf(number as u64))));
        }
    }

    #[test]
    fn wherever_a_file_is_cut_or_blank_what_is_left_is_a_tree_of_the_first_leaves() {
        let folder = crate::testing::folder();
        let path = folder.path().join("tree");
        let roots = filled(&path, 21);
        let whole = std::fs::read(&path).unwrap();
        let reopened = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            let mut kept = Kept::open(&path).unwrap();
            let size = kept.size();
            if size > 0 {
                assert_eq!(kept.tree().root().unwrap(), roots[size as usize - 1]);
            }
            for number in size..21 {
                kept.push(leaf(number)).unwrap();
            }
            assert_eq!(std::fs::read(&path).unwrap(), whole);
            size
        };
        for end in 0..whole.len() {
            let left = reopened(&whole[..end]);
            assert_eq!(left, leaves_of(end as u64 / NODE));
        }
        // A page that was never written: its leaves fit each other, and not what is above them.
        for start in (0..whole.len() - 128).step_by(32) {
            let mut blank = whole.clone();
            blank[start..start + 128].fill(0);
            std::fs::write(&path, &blank).unwrap();
            assert!(Kept::open(&path).unwrap().size() < 21, "from {start}");
        }
        assert_eq!(reopened(&whole), 21);
    }
}
