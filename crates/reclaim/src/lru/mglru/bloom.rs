//! Bloom filters of the PTE tables worth walking.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::Pfn;

/// The number of bits of a filter, as a power of two (`BLOOM_FILTER_SHIFT`).
const SHIFT: u32 = 15;

/// A set of 2^15 bits and two keys, 4 KiB. It contains each PTE table that was inserted, and seems
/// to contain some others. They are about a fifth once 10,000 are in, and half at 20,000.
#[derive(Debug)]
pub struct BloomFilter {
    words: [AtomicU64; 1 << (SHIFT - 6)],
    /// The next free filter.
    pub(in crate::lru) next: AtomicU32,
}

impl Default for BloomFilter {
    fn default() -> Self {
        Self { words: [const { AtomicU64::new(0) }; 1 << (SHIFT - 6)], next: AtomicU32::new(0) }
    }
}

/// The identity of a PTE table: the entry of the PMD table that leads to it, by its place in
/// physical memory. Kernels hash the entry's virtual address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PmdEntry {
    pub(crate) table: Pfn,
    pub(crate) index: usize,
}

impl PmdEntry {
    /// Returns the bits of a filter that stand for the table (`get_item_key`): the two halves of 30
    /// bits of the address times the golden ratio (`hash_ptr`).
    fn keys(self) -> [u32; 2] {
        const GOLDEN_RATIO_64: u64 = 0x61c8_8646_80b5_83eb;
        let address = self.table.get() << 12 | (self.index as u64) << 3;
        let hash = (address.wrapping_mul(GOLDEN_RATIO_64) >> (64 - 2 * SHIFT)) as u32;
        [hash & ((1 << SHIFT) - 1), hash >> SHIFT]
    }
}

impl BloomFilter {
    /// Returns true if the table may have been inserted.
    pub(super) fn contains(&self, entry: PmdEntry) -> bool {
        entry
            .keys()
            .into_iter()
            .all(|key| self.words[(key / 64) as usize].load(Relaxed) & 1 << (key % 64) != 0)
    }

    pub(super) fn insert(&self, entry: PmdEntry) {
        for key in entry.keys() {
            let (word, bit) = (&self.words[(key / 64) as usize], 1 << (key % 64));
            if word.load(Relaxed) & bit == 0 {
                word.fetch_or(bit, Relaxed);
            }
        }
    }

    pub(super) fn clear(&self) {
        self.words.iter().for_each(|word| word.store(0, Relaxed));
    }

    /// Returns the number of bits set, of 2^15.
    pub(super) fn population(&self) -> u32 {
        self.words.iter().map(|word| word.load(Relaxed).count_ones()).sum()
    }
}
