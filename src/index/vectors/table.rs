//! Which row a text has: a hash table of numbers alone, since the keys stand in the files and are random already.

use super::Row;
use crate::model::id::TextKey;

/// A slot: 32 bits of the key and the row. Free slots hold a row that no store has.
type Slot = (u32, u32);

const FREE: Slot = (0, u32::MAX);

/// Open addressing with linear probing; at most half full.
#[derive(Debug)]
pub(super) struct Table {
    slots: Vec<Slot>,
    used: usize,
}

fn parts(key: TextKey) -> (usize, u32) {
    let [a, b, c, d, e, f, g, h, ..] = key.0;
    (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]))
}

impl Table {
    pub(super) fn with_room(count: usize) -> Table {
        Table { slots: vec![FREE; (count * 2).max(16).next_power_of_two()], used: 0 }
    }

    /// The slots that may hold a key, in order, up to the first that is free.
    fn probe(&self, key: TextKey) -> impl Iterator<Item = usize> + use<> {
        let (start, _) = parts(key);
        let (count, mask) = (self.slots.len(), self.slots.len() - 1);
        (0..count).map(move |step| (start + step) & mask)
    }

    /// The row of a key; `is` looks whether a row is the key's.
    pub(super) fn find(&self, key: TextKey, is: impl Fn(Row) -> bool) -> Option<Row> {
        let (_, tag) = parts(key);
        for at in self.probe(key) {
            let slot = self.slots[at];
            if slot == FREE {
                return None;
            }
            if slot.0 == tag && is(Row(slot.1)) {
                return Some(Row(slot.1));
            }
        }
        None
    }

    /// Puts in a key that is not there. The table was made with room for it.
    pub(super) fn put(&mut self, key: TextKey, row: Row) {
        debug_assert!(self.used < self.slots.len(), "made with room for all");
        if let Some(at) = self.probe(key).find(|at| self.slots[*at] == FREE) {
            self.slots[at] = (parts(key).1, row.0);
            self.used += 1;
        }
    }

    /// Gives a key that has one row another.
    pub(super) fn replace(&mut self, key: TextKey, old: Row, new: Row) {
        let (_, tag) = parts(key);
        if let Some(at) = self.probe(key).find(|at| self.slots[*at] == (tag, old.0)) {
            self.slots[at].1 = new.0;
        }
    }
}
