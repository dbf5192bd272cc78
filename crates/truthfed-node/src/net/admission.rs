//! Counts connections by whom they are of, and turns away those above a limit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Seats for holders of some kind, at most so many for each.
#[derive(Debug)]
pub(super) struct Seats<K: Ord> {
    most: usize,
    taken: Mutex<BTreeMap<K, usize>>,
}

/// A seat; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seat<K: Ord + Clone> {
    holder: K,
    seats: Arc<Seats<K>>,
}

impl<K: Ord + Clone> Seats<K> {
    pub(super) fn new(most: usize) -> Arc<Seats<K>> {
        Arc::new(Seats { most, taken: Mutex::default() })
    }

    /// A seat for this holder, unless it has them all.
    pub(super) fn take(self: &Arc<Self>, holder: K) -> Option<Seat<K>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let held = taken.get(&holder).copied().unwrap_or(0);
        if held >= self.most {
            return None;
        }
        taken.insert(holder.clone(), held + 1);
        Some(Seat { holder, seats: self.clone() })
    }
}

impl<K: Ord + Clone> Drop for Seat<K> {
    fn drop(&mut self) {
        let mut taken = self.seats.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.holder) {
            Some(held) if *held > 1 => *held -= 1,
            _ => drop(taken.remove(&self.holder)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holder_has_so_many_seats_and_gets_them_back() {
        let seats = Seats::new(2);
        let first = seats.take("a").unwrap();
        let second = seats.take("a").unwrap();
        assert!(seats.take("a").is_none());
        assert!(seats.take("b").is_some(), "others are not affected");
        drop(first);
        let third = seats.take("a").unwrap();
        drop((second, third));
        assert!(seats.taken.lock().unwrap().is_empty(), "nothing is kept of those who left");
    }
}
