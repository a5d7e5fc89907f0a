//! The memory that a scenario takes, table by table.

use pageout_paging::Format;
use pageout_reclaim::mglru::BloomFilter;
use pageout_reclaim::{Folio, Limits, Lock, Mapping, Memcg, Mm, ShadowEntry, Sizes, Slot, Vma};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Maximum number of bytes of metadata that the engine may take for each folio.
pub const PER_FOLIO: usize = 64;
/// Maximum number of bytes of metadata that the engine may take for each page.
pub const PER_PAGE: usize = 6;

/// The memory of one kind of entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// A description of the entries.
    pub what: &'static str,
    /// The number of entries.
    pub entries: usize,
    /// Bytes of one entry.
    pub each: usize,
}

/// The memory that a scenario takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// The number of frames that the engine manages.
    pub frames: usize,
    /// The number of folios.
    pub folios: usize,
    /// All memory, by kind of entry.
    pub rows: Vec<Row>,
}

impl Footprint {
    /// Returns the memory of an engine for `limits` and of `tables` page tables of format `F`.
    pub fn of<F: Format>(limits: &Limits, tables: usize) -> Self {
        let sizes = Sizes::for_limits(limits);
        let row = |what, entries, each| Row { what, entries, each };
        let rows = vec![
            row("folios", sizes.folios, size_of::<Folio>()),
            row("frames: the folio of each", sizes.frames, size_of::<AtomicU32>()),
            row("pages: anonymous state", sizes.pages, size_of::<AtomicU8>()),
            row("tags of dirty folios", sizes.tags, size_of::<AtomicU64>()),
            row("shadows of evicted folios", sizes.shadows, size_of::<ShadowEntry>()),
            row("swap slots", sizes.slots, size_of::<Slot>()),
            row("Bloom filters", sizes.filters, size_of::<BloomFilter>()),
            row("VMAs", sizes.vmas, size_of::<Vma>()),
            row("address spaces", sizes.mms, size_of::<Mm>()),
            row("mappings", sizes.mappings, size_of::<Mapping>()),
            row("cgroups", sizes.memcgs, size_of::<Memcg>()),
            row("page tables", tables, F::PTES * size_of::<u64>()),
            row("page tables' locks", tables, size_of::<Lock>()),
        ];
        Self { frames: sizes.frames, folios: sizes.folios, rows }
    }

    /// Returns the bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.rows.iter().map(|row| row.entries as u64 * row.each as u64).sum()
    }

    /// Returns the bytes of metadata for each folio, the file index included.
    pub fn per_folio(&self) -> f64 {
        self.each_of(&self.rows[..1], self.folios)
    }

    /// Returns the bytes of metadata for each page.
    pub fn per_page(&self) -> f64 {
        self.each_of(&self.rows[1..3], self.frames)
    }

    fn each_of(&self, rows: &[Row], among: usize) -> f64 {
        let bytes: usize = rows.iter().map(|row| row.entries * row.each).sum();
        bytes as f64 / among as f64
    }
}
