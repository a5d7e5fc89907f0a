//! Tables whose entries have numbers, and which may grow.

use core::array;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use once_cell::race::OnceRef;

/// The number of times that a table can grow.
const MAX_PARTS: usize = 16;

/// Entries by which a table grows, and the number of the first.
#[derive(Debug, Default)]
pub(crate) struct Part<T: 'static> {
    first: AtomicU32,
    pub(crate) entries: &'static [T],
}

impl<T> Part<T> {
    pub(crate) fn new(entries: &'static [T]) -> Self {
        Self { first: AtomicU32::new(0), entries }
    }

    fn numbers(&self) -> Range<usize> {
        let first = self.first.load(Relaxed) as usize;
        first..first + self.entries.len()
    }
}

/// The length of a table, and the number of parts by which it can grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) len: usize,
    pub(crate) parts_left: usize,
}

/// A table: the entries that it began with, which are found fastest, and parts that were added.
#[derive(Debug)]
pub(crate) struct Table<'m, T: 'static> {
    start: &'m [T],
    parts: [OnceRef<'static, Part<T>>; MAX_PARTS],
}

impl<'m, T> Table<'m, T> {
    pub(crate) fn new(start: &'m [T]) -> Self {
        Self { start, parts: array::from_fn(|_| OnceRef::new()) }
    }

    /// Returns the entry of a number, if the table is so long.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&'m T> {
        if number < self.start.len() { Some(&self.start[number]) } else { self.get_added(number) }
    }

    #[cold]
    fn get_added(&self, number: usize) -> Option<&'m T> {
        let part = self.parts().find(|part| part.numbers().contains(&number))?;
        Some(&part.entries[number - part.numbers().start])
    }

    /// Returns the entry of a number that the table gave out.
    #[inline]
    pub(crate) fn at(&self, number: u32) -> &'m T {
        match self.start.get(number as usize) {
            Some(entry) => entry,
            None => self.at_added(number),
        }
    }

    #[cold]
    #[inline(never)]
    fn at_added(&self, number: u32) -> &'m T {
        self.get_added(number as usize).expect("a table keeps the entries that it gave out")
    }

    fn parts(&self) -> impl Iterator<Item = &'static Part<T>> {
        self.parts.iter().map_while(OnceRef::get)
    }

    /// Returns the table's length, and by how many parts it can grow.
    pub(crate) fn room(&self) -> Room {
        let len = self.start.len() + self.parts().map(|part| part.entries.len()).sum::<usize>();
        Room { len, parts_left: MAX_PARTS - self.parts().count() }
    }

    /// Adds a part, unless it is empty. Its entries are numbered after all others. The caller keeps
    /// others from doing so at once. Returns the numbers.
    ///
    /// # Panics
    /// If the table has all the parts that it can have.
    pub(crate) fn add(&self, part: &'static Part<T>) -> Range<u32> {
        let first = self.room().len as u32;
        if part.entries.is_empty() {
            return first..first;
        }
        part.first.store(first, Relaxed);
        let free = self.parts.iter().find(|slot| slot.get().is_none());
        let added = free.expect("the caller asked if there is a part left").set(part);
        added.expect("one task adds at a time");
        first..first + part.entries.len() as u32
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    fn part(entries: Range<u64>) -> &'static Part<u64> {
        let entries: Vec<u64> = entries.collect();
        Box::leak(Box::new(Part::new(entries.leak())))
    }

    #[test]
    fn entries_keep_their_numbers_as_a_table_grows() {
        let start: Vec<u64> = (0..5).collect();
        let table = Table::new(&start);
        let mut end = 5;
        for nr in 1..=MAX_PARTS as u64 {
            assert_eq!(table.room().parts_left, MAX_PARTS + 1 - nr as usize);
            assert_eq!(table.add(part(0..0)), end as u32..end as u32, "no part");
            assert_eq!(table.add(part(end..end + nr)), end as u32..(end + nr) as u32);
            end += nr;
            assert!((0..end).all(|number| *table.at(number as u32) == number));
            assert_eq!(table.get(end as usize), None);
            assert_eq!(table.room().len as u64, end);
        }
        assert_eq!(table.room().parts_left, 0);
    }

    #[test]
    fn a_table_may_begin_empty() {
        let table = Table::new(&[]);
        assert_eq!(table.get(0), None);
        assert_eq!(table.add(part(7..9)), 0..2);
        assert_eq!((table.get(1), table.get(2)), (Some(&8), None));
    }
}
