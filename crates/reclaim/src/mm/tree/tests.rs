//! Trees against sorted vectors, in random histories with fixed seeds.

extern crate std;

use super::*;
use core::iter::successors;
use std::vec::Vec;

/// A table of entries with one tree, in which each entry counts those below it.
struct Table {
    top: AtomicU32,
    entries: Vec<(Links, AtomicU32)>,
}

impl<'m> Entries<'m> for &'m Table {
    fn links(&self, id: u32) -> &'m Links {
        &self.entries[id as usize].0
    }

    fn summarize(&self, id: u32, children: [Option<u32>; 2]) {
        let count = |id: u32| self.entries[id as usize].1.load(Relaxed);
        let below: u32 = children.into_iter().flatten().map(count).sum();
        self.entries[id as usize].1.store(below + 1, Relaxed);
    }
}

impl Table {
    fn new(len: usize) -> Self {
        let entries = (0..len).map(|_| Default::default()).collect();
        Self { top: AtomicU32::new(NONE), entries }
    }

    fn tree(&self) -> Tree<'_, &Self> {
        Tree { top: &self.top, entries: self }
    }

    /// Returns the entries in order, and the same from the end.
    fn in_order(&self) -> (Vec<u32>, Vec<u32>) {
        let tree = self.tree();
        let last = tree.top().map(|top| tree.outermost(top, Side::After));
        let forth = successors(tree.first(), |id| tree.next(*id, Side::After));
        let back = successors(last, |id| tree.next(*id, Side::Before));
        (forth.collect(), back.collect())
    }

    /// Checks links, heights, balance and counts of a subtree. Returns its height.
    fn audit(&self, top: Option<u32>, above: u32) -> u32 {
        let Some(id) = top else {
            return 0;
        };
        let tree = self.tree();
        assert_eq!(tree.entries.links(id).above.load(Relaxed), above, "the link up of {id}");
        let below = [tree.below(id, Side::Before), tree.below(id, Side::After)];
        let [before, after] = below.map(|child| self.audit(child, id));
        assert!(before.abs_diff(after) <= 1, "entry {id} is balanced");
        let height = before.max(after) + 1;
        assert_eq!(tree.height(top), height);
        let count = |id: u32| self.entries[id as usize].1.load(Relaxed);
        assert_eq!(count(id), 1 + below.into_iter().flatten().map(count).sum::<u32>());
        height
    }
}

#[test]
fn random_histories_agree_with_a_sorted_vector() {
    for seed in 0..64 {
        let mut random = numbers(seed);
        let len = [1, 2, 5, 20, 300][random(5)];
        let table = Table::new(len);
        let keys: Vec<usize> = (0..len).map(|_| random(len * 2)).collect();
        let mut model: Vec<u32> = Vec::new();
        for _ in 0..400 {
            let id = random(len) as u32;
            let key = keys[id as usize];
            if let Some(at) = model.iter().position(|other| *other == id) {
                table.tree().remove(id);
                model.remove(at);
            } else {
                table.tree().insert(id, |other| key <= keys[other as usize]);
                let at = model.partition_point(|other| keys[*other as usize] < key);
                model.insert(at, id);
            }
            table.audit(table.tree().top(), NONE);
            let (forth, mut back) = table.in_order();
            back.reverse();
            assert_eq!((&forth, &back), (&model, &model), "seed {seed}");
        }
    }
}

#[test]
fn ascending_and_descending_insertions_stay_balanced() {
    for descending in [false, true] {
        let table = Table::new(4096);
        for k in 0..4096 {
            let id = if descending { 4095 - k } else { k };
            table.tree().insert(id, |other| id < other);
        }
        let height = table.audit(table.tree().top(), NONE);
        assert!(height <= 17, "1.44 log2 4096 is 17.3, and the height {height}");
        for k in 0..2048 {
            table.tree().remove(if descending { 4095 - k } else { k });
        }
        assert!(table.audit(table.tree().top(), NONE) <= 16);
    }
}

#[test]
#[should_panic(expected = "an entry to take out is in a tree")]
fn taking_an_entry_out_twice_panics() {
    let table = Table::new(2);
    table.tree().insert(0, |_| false);
    table.tree().insert(1, |_| false);
    table.tree().remove(0);
    table.tree().remove(0);
}
