//! Balanced search trees over entries of the caller's tables.
//!
//! The trees are AVL trees: the two subtrees of an entry differ by at most 1 in height, so n
//! entries are at most 1.44 log2 n deep in any history. Links are numbers, kept in the entries
//! themselves. So nothing is allocated, and no walk keeps a stack. The caller holds the lock of the
//! tree.

use crate::id::NONE;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The place of an entry in a tree, in 16 bytes.
#[derive(Debug, Default)]
pub(super) struct Links {
    children: [AtomicU32; 2],
    /// The entry above. An entry of a table that is free may keep the next free one here.
    pub(super) above: AtomicU32,
    /// The number of entries on the longest way down, this one included; 0 outside of a tree.
    height: AtomicU32,
}

/// A side of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// Entries that come before it.
    Before,
    /// Entries that come after it.
    After,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

impl Links {
    fn child(&self, side: Side) -> &AtomicU32 {
        &self.children[side as usize]
    }

    /// Returns the top of the subtree on one side.
    #[inline]
    pub(super) fn below(&self, side: Side) -> Option<u32> {
        named(self.child(side))
    }
}

/// The entries of one tree, and what the tree keeps of each subtree.
pub(super) trait Entries<'m> {
    /// Returns the links of an entry in this tree.
    fn links(&self, id: u32) -> &'m Links;

    /// Brings the entry's summary of its subtree up to date. Those of its children are.
    fn summarize(&self, _id: u32, _children: [Option<u32>; 2]) {}
}

/// A tree: its topmost entry, and access to all entries.
pub(super) struct Tree<'m, T> {
    pub(super) top: &'m AtomicU32,
    pub(super) entries: T,
}

impl<'m, T: Entries<'m>> Tree<'m, T> {
    /// Returns the topmost entry.
    #[inline]
    pub(super) fn top(&self) -> Option<u32> {
        named(self.top)
    }

    /// Returns the top of the subtree on one side of an entry.
    #[inline]
    pub(super) fn below(&self, id: u32, side: Side) -> Option<u32> {
        self.entries.links(id).below(side)
    }

    /// Returns the entry above, and the side of it on which this one is.
    #[inline]
    fn above(&self, id: u32) -> Option<(u32, Side)> {
        let above = named(&self.entries.links(id).above)?;
        let before = self.below(above, Side::Before) == Some(id);
        Some((above, if before { Side::Before } else { Side::After }))
    }

    /// Returns the outermost entry of the subtree on one side.
    fn outermost(&self, mut id: u32, side: Side) -> u32 {
        while let Some(below) = self.below(id, side) {
            id = below;
        }
        id
    }

    /// Returns the first entry.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        self.top().map(|top| self.outermost(top, Side::Before))
    }

    /// Returns the entry next to this one on one side.
    #[inline]
    pub(super) fn next(&self, id: u32, side: Side) -> Option<u32> {
        if let Some(below) = self.below(id, side) {
            return Some(self.outermost(below, side.other()));
        }
        self.next_above(id, side)
    }

    /// Returns the nearest entry above this one that is on one side of it.
    #[inline]
    pub(super) fn next_above(&self, id: u32, side: Side) -> Option<u32> {
        let mut at = id;
        loop {
            let (above, from) = self.above(at)?;
            if from != side {
                return Some(above);
            }
            at = above;
        }
    }

    /// Adds an entry before the first one for which `precedes` returns true.
    pub(super) fn insert(&self, id: u32, precedes: impl Fn(u32) -> bool) {
        let (mut above, mut link) = (NONE, self.top);
        while let Some(at) = named(link) {
            let side = if precedes(at) { Side::Before } else { Side::After };
            (above, link) = (at, self.entries.links(at).child(side));
        }
        let links = self.entries.links(id);
        links.children.iter().for_each(|child| child.store(NONE, Relaxed));
        links.above.store(above, Relaxed);
        link.store(id, Relaxed);
        self.mend(id);
    }

    /// Takes an entry out.
    ///
    /// # Panics
    /// If it is not in the tree.
    pub(super) fn remove(&self, id: u32) {
        let links = self.entries.links(id);
        assert_ne!(links.height.load(Relaxed), 0, "an entry to take out is in a tree");
        let sides = [Side::Before, Side::After].map(|side| self.below(id, side));
        let lowest = match sides {
            [Some(before), Some(after)] => {
                // The next entry, which has nothing before it, takes the place.
                let next = self.outermost(after, Side::Before);
                let above = self.entries.links(next).above.load(Relaxed);
                self.replace(next, self.below(next, Side::After));
                self.hang(next, Side::Before, Some(before));
                self.hang(next, Side::After, self.below(id, Side::After));
                self.replace(id, Some(next));
                if above == id { Some(next) } else { Some(above) }
            }
            [one, other] => {
                self.replace(id, one.or(other));
                named(&links.above)
            }
        };
        links.height.store(0, Relaxed);
        if let Some(lowest) = lowest {
            self.mend(lowest);
        }
    }

    /// Balances an entry whose subtrees are balanced, and all above it, and brings their summaries
    /// up to date. To be called when something about the entry changed that its summary depends on.
    pub(super) fn mend(&self, id: u32) {
        let mut at = Some(id);
        while let Some(here) = at {
            let top = self.balance(here);
            at = named(&self.entries.links(top).above);
        }
    }

    /// Returns the height of a subtree.
    fn height(&self, top: Option<u32>) -> u32 {
        top.map_or(0, |id| self.entries.links(id).height.load(Relaxed))
    }

    /// Returns the side on which an entry is higher than on the other by more than `slack`.
    fn heavy_side(&self, id: u32, slack: u32) -> Option<Side> {
        let height = |side| self.height(self.below(id, side));
        let (before, after) = (height(Side::Before), height(Side::After));
        match (before > after + slack, after > before + slack) {
            (true, _) => Some(Side::Before),
            (_, true) => Some(Side::After),
            _ => None,
        }
    }

    /// Balances an entry whose subtrees are balanced. Returns the entry that is in its place then.
    fn balance(&self, id: u32) -> u32 {
        let Some(heavy) = self.heavy_side(id, 1) else {
            self.measure(id);
            return id;
        };
        let below = self.below(id, heavy).expect("a higher subtree has an entry");
        if self.heavy_side(below, 0) == Some(heavy.other()) {
            self.rotate(below, heavy.other());
        }
        self.rotate(id, heavy)
    }

    /// Puts the child on one side in the place of an entry, and the entry below it. Returns the
    /// child.
    fn rotate(&self, id: u32, side: Side) -> u32 {
        let up = self.below(id, side).expect("a subtree that is rotated up has an entry");
        let between = self.below(up, side.other());
        self.replace(id, Some(up));
        self.hang(id, side, between);
        self.hang(up, side.other(), Some(id));
        self.measure(id);
        self.measure(up);
        up
    }

    /// Brings an entry's height and summary up to date.
    fn measure(&self, id: u32) {
        let children = [self.below(id, Side::Before), self.below(id, Side::After)];
        let height = 1 + children.map(|child| self.height(child)).into_iter().fold(0, u32::max);
        self.entries.links(id).height.store(height, Relaxed);
        self.entries.summarize(id, children);
    }

    /// Hangs a subtree below an entry on one side.
    fn hang(&self, id: u32, side: Side, below: Option<u32>) {
        self.entries.links(id).child(side).store(below.unwrap_or(NONE), Relaxed);
        if let Some(below) = below {
            self.entries.links(below).above.store(id, Relaxed);
        }
    }

    /// Puts `other` in the place of an entry and all below it.
    fn replace(&self, id: u32, other: Option<u32>) {
        if let Some((above, side)) = self.above(id) {
            return self.hang(above, side, other);
        }
        self.top.store(other.unwrap_or(NONE), Relaxed);
        if let Some(other) = other {
            self.entries.links(other).above.store(NONE, Relaxed);
        }
    }
}

/// Returns the entry that a link names.
#[inline]
fn named(link: &AtomicU32) -> Option<u32> {
    let id = link.load(Relaxed);
    (id != NONE).then_some(id)
}

/// Returns pseudorandom numbers (Steele, Lea and Flood: SplitMix64).
#[cfg(test)]
pub(crate) fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % below as u64) as usize
    }
}

#[cfg(test)]
mod tests;
