//! What is known of a trace's pages until its mappings change.

use crate::Page;
use std::collections::HashMap;

/// A value for each page, forgotten all at once. A dense trace has most pages many times over;
/// this is how a reader of it looks at each once.
#[derive(Debug)]
pub struct EpochMap<T> {
    /// Each with the number of changes before it was noted.
    by_page: HashMap<Page, (u64, T)>,
    changes: u64,
}

impl<T> Default for EpochMap<T> {
    fn default() -> Self {
        Self { by_page: HashMap::new(), changes: 0 }
    }
}

impl<T: Copy> EpochMap<T> {
    pub(crate) fn get(&self, page: Page) -> Option<T> {
        let (changes, value) = *self.by_page.get(&page)?;
        (changes == self.changes).then_some(value)
    }

    pub(crate) fn set(&mut self, page: Page, value: T) {
        self.by_page.insert(page, (self.changes, value));
    }

    /// Forgets all pages.
    pub fn change(&mut self) {
        self.changes += 1;
    }
}

impl EpochMap<bool> {
    /// Whether an access is the first to its page, or the first that stores to it.
    pub fn is_first(&mut self, page: Page, store: bool) -> bool {
        let first = self.get(page).is_none_or(|stored| store && !stored);
        if first {
            self.set(page, store);
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_use_and_the_first_store_after_each_change_are_told() {
        let page = |number| Page::new(number).expect("a page");
        let mut seen = EpochMap::default();
        for _ in 0..2 {
            let uses = [(1, false), (1, false), (1, true), (1, true), (1, false), (2, true)];
            let first = uses.map(|(number, store)| seen.is_first(page(number), store));
            assert_eq!(first, [true, false, true, false, false, true]);
            assert!(!seen.is_first(page(2), false));
            seen.change();
        }
    }
}
