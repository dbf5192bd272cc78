//! Counts what connections hold, by whom they are of, and turns away what is above a limit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So much for each holder.
#[derive(Debug)]
pub(super) struct Shares<K: Ord> {
    most: usize,
    taken: Mutex<BTreeMap<K, usize>>,
}

/// A part of a holder's share; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Part<K: Ord + Clone> {
    holder: K,
    size: usize,
    shares: Arc<Shares<K>>,
}

impl<K: Ord + Clone> Shares<K> {
    pub(super) fn new(most: usize) -> Arc<Shares<K>> {
        Arc::new(Shares { most, taken: Mutex::default() })
    }

    /// A part of this size, unless this holder has less than that left.
    pub(super) fn take(self: &Arc<Self>, holder: K, size: usize) -> Option<Part<K>> {
        let mut taken = lock(&self.taken);
        let held = taken.get(&holder).copied().unwrap_or(0);
        if size > self.most - held {
            return None;
        }
        taken.insert(holder.clone(), held + size);
        Some(Part { holder, size, shares: self.clone() })
    }
}

impl<K: Ord + Clone> Drop for Part<K> {
    fn drop(&mut self) {
        let mut taken = lock(&self.shares.taken);
        match taken.get_mut(&self.holder) {
            Some(held) if *held > self.size => *held -= self.size,
            _ => drop(taken.remove(&self.holder)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holder_has_so_much_and_gets_it_back() {
        let shares = Shares::new(5);
        let first = shares.take("a", 3).unwrap();
        let second = shares.take("a", 2).unwrap();
        assert!(shares.take("a", 1).is_none());
        assert!(shares.take("a", 0).is_some(), "nothing can always be had");
        assert!(shares.take("b", 5).is_some(), "others are not affected");
        assert!(shares.take("b", 6).is_none());
        drop(first);
        let third = shares.take("a", 3).unwrap();
        drop((second, third));
        assert!(shares.taken.lock().unwrap().is_empty(), "nothing is kept of those who left");
    }
}
