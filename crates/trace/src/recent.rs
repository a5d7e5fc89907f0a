//! A memory of the pages that a trace used recently, until its mappings change.

use crate::Page;

/// The maximum number of pages that are known at once, a power of two: two to three MiB, for a
/// trace of any size.
const PLACES: usize = 1 << 16;

/// A value for each recently used page, forgotten when another page takes its place, or when all
/// are forgotten at once. A dense trace has most pages many times; with this memory a reader
/// examines few of them twice.
#[derive(Debug)]
pub struct Recent<T> {
    /// Each value has the number of changes before it was stored.
    places: Box<[Option<(Page, u64, T)>]>,
    changes: u64,
}

impl<T: Copy> Default for Recent<T> {
    fn default() -> Self {
        Self { places: vec![None; PLACES].into(), changes: 0 }
    }
}

impl<T: Copy> Recent<T> {
    pub(crate) fn get(&self, page: Page) -> Option<T> {
        let (at, changes, value) = self.places[place(page)]?;
        (at == page && changes == self.changes).then_some(value)
    }

    pub(crate) fn set(&mut self, page: Page, value: T) {
        self.places[place(page)] = Some((page, self.changes, value));
    }

    /// Forgets all pages.
    pub fn change(&mut self) {
        self.changes += 1;
    }
}

impl Recent<bool> {
    /// Returns true if an access may be the first to its page, or the first store to it, since the
    /// last change. It returns false for most others.
    pub fn may_be_first(&mut self, page: Page, store: bool) -> bool {
        let first = self.get(page).is_none_or(|stored| store && !stored);
        if first {
            self.set(page, store);
        }
        first
    }
}

/// Returns a page's place. Multiplication brings all bits of its number into the upper ones (Knuth,
/// *The Art of Computer Programming*, volume 3, section 6.4).
fn place(page: Page) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    (page.number().wrapping_mul(GOLDEN) >> (u64::BITS - PLACES.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: u64) -> Page {
        Page::new(number).expect("a page")
    }

    #[test]
    fn the_first_use_and_the_first_store_after_each_change_are_told() {
        let mut seen = Recent::default();
        for _ in 0..2 {
            let uses = [(1, false), (1, false), (1, true), (1, true), (1, false), (2, true)];
            let first = uses.map(|(number, store)| seen.may_be_first(page(number), store));
            assert_eq!(first, [true, false, true, false, false, true]);
            assert!(!seen.may_be_first(page(2), false));
            seen.change();
        }
    }

    #[test]
    fn a_page_whose_place_was_taken_is_told_again_and_never_mistaken() {
        let mut seen = Recent::default();
        for number in 0..2 * PLACES as u64 {
            assert!(seen.may_be_first(page(number), false), "{number}");
        }
        let known = |number: &u64| seen.get(page(*number)).is_some();
        assert!((0..2 * PLACES as u64).filter(known).count() <= PLACES);
    }
}
