//! Counts what connections hold, by whom they are of, and turns away what is above a limit.
//!
//! [`Shares`] gives each holder so much of something. [`Door`] gives the seats of a server: whoever has not shown who it is
//! waits at the door, which has half of the seats. When the door is full, whoever waits there longest makes way, so
//! that strangers who fill it keep nobody out who shows a certificate soon; the other half is for members alone.
//!
//! Limits come with each call, as they may change while connections are open. What is held above a lower limit stays until
//! its holder returns it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// So much for each holder.
#[derive(Debug)]
pub(super) struct Shares<K: Ord> {
    taken: Mutex<BTreeMap<K, usize>>,
}

/// A part of a holder's share; it is free again when this is dropped.
#[derive(Debug)]
pub struct Part<K: Ord + Clone> {
    holder: K,
    size: usize,
    shares: Arc<Shares<K>>,
}

impl<K: Ord + Clone> Shares<K> {
    pub(super) fn new() -> Arc<Shares<K>> {
        Arc::new(Shares { taken: Mutex::default() })
    }

    /// A part of this size, unless this holder has less than that left of `most`.
    pub(super) fn take(self: &Arc<Self>, holder: K, size: usize, most: usize) -> Option<Part<K>> {
        let mut taken = lock(&self.taken);
        let held = taken.get(&holder).copied().unwrap_or(0);
        let left = most.saturating_sub(held);
        #[cfg(feature = "planted-faults")]
        let left = match truthfed::planted::is(truthfed::planted::Fault::OneBudget) {
            true => most.saturating_sub(taken.values().sum()),
            false => left,
        };
        if size > left {
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

#[derive(Debug)]
pub(super) struct Door {
    room: Mutex<Room>,
}

#[derive(Debug, Default)]
struct Room {
    seated: usize,
    /// By the order in which they came; to drop a sender is to send its holder away.
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
    came: u64,
}

/// A place at the door; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Waiting {
    number: u64,
    stays: oneshot::Receiver<()>,
    door: Arc<Door>,
}

/// A seat; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seat(Arc<Door>);

impl Door {
    pub(super) fn new() -> Arc<Door> {
        Arc::new(Door { room: Mutex::default() })
    }

    /// A place at the door of a server with so many seats: of whoever waits longest, when there is no other; none when all
    /// seats are taken.
    pub(super) fn enter(self: &Arc<Self>, seats: usize) -> Option<Waiting> {
        let mut room = lock(&self.room);
        let (waiting, at_door) = (room.waiting.len(), seats.div_ceil(2));
        if waiting >= at_door || room.seated + waiting >= seats {
            room.waiting.pop_first()?;
        }
        let (stay, stays) = oneshot::channel();
        let number = room.came;
        room.came += 1;
        room.waiting.insert(number, stay);
        Some(Waiting { number, stays, door: self.clone() })
    }
}

impl Waiting {
    /// Waits until it has to make way.
    pub(super) async fn sent_away(&mut self) {
        // Nothing is ever sent.
        let _ = (&mut self.stays).await;
    }

    /// A seat instead, unless it had to make way.
    pub(super) fn sit(self) -> Option<Seat> {
        let mut room = lock(&self.door.room);
        room.waiting.remove(&self.number)?;
        room.seated += 1;
        Some(Seat(self.door.clone()))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        lock(&self.door.room).waiting.remove(&self.number);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.0.room).seated -= 1;
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
        let shares = Shares::new();
        let first = shares.take("a", 3, 5).unwrap();
        let second = shares.take("a", 2, 5).unwrap();
        assert!(shares.take("a", 1, 5).is_none());
        assert!(shares.take("a", 0, 5).is_some(), "nothing can always be had");
        assert!(shares.take("b", 5, 5).is_some(), "others are not affected");
        assert!(shares.take("b", 6, 5).is_none());
        drop(first);
        let third = shares.take("a", 3, 5).unwrap();
        drop((second, third));
        assert!(shares.taken.lock().unwrap().is_empty(), "nothing is kept of those who left");
    }

    #[test]
    fn strangers_wait_on_half_of_the_seats_even_if_the_other_half_is_free() {
        let door = Door::new();
        let strangers: Vec<Waiting> = (0..4).map(|_| door.enter(4).unwrap()).collect();
        assert_eq!((lock(&door.room).waiting.len(), strangers.len()), (2, 4));
    }

    #[test]
    fn whoever_waits_longest_makes_way_and_whoever_has_a_seat_does_not() {
        let is_away = |waiting: &mut Waiting| waiting.stays.try_recv() == Err(oneshot::error::TryRecvError::Closed);
        let door = Door::new();
        let seat = door.enter(3).unwrap().sit().unwrap();
        let (mut first, mut second) = (door.enter(3).unwrap(), door.enter(3).unwrap());
        let mut third = door.enter(3).unwrap();
        assert_eq!([&mut first, &mut second, &mut third].map(is_away), [true, false, false]);
        assert!(first.sit().is_none(), "its place is another's");
        let seats = [second.sit().unwrap(), third.sit().unwrap()];
        assert!(door.enter(3).is_none(), "all seats are taken");
        drop(seats);
        let waiting = [door.enter(3).unwrap(), door.enter(3).unwrap()];
        drop((seat, waiting));
        let room = door.room.lock().unwrap();
        assert_eq!((room.seated, room.waiting.len()), (0, 0));
    }

    #[test]
    fn a_lower_limit_takes_nothing_away_and_counts_for_whoever_comes_next() {
        let (shares, door) = (Shares::new(), Door::new());
        let held = shares.take("a", 5, 5).unwrap();
        assert!(shares.take("a", 1, 3).is_none(), "more is held than the limit allows now");
        drop(held);
        assert!(shares.take("a", 3, 3).is_some());
        let seats: Vec<Seat> = (0..4).map(|_| door.enter(8).unwrap().sit().unwrap()).collect();
        assert!(door.enter(4).is_none());
        drop(seats);
        assert!(door.enter(4).is_some());
    }
}
