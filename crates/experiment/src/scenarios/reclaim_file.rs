//! The scenario `reclaim-file`.

use crate::declare::{Checked, Declared, Lists};
use crate::fields::{FieldError, OrderName, check_request, check_size, display_size, distinct};
use crate::formats::FormatName;
use crate::kinds::{Choice, Format, Kind, Number, Order, Percent, Size};
use crate::scenario;
use pageout_reclaim::MapAs;
use std::fmt;

/// The largest file, in bytes.
const MAX_BYTES: u64 = 1 << 40;
const MAX_TABLE_BYTES: u64 = 4 << 30;

/// Orders of a file's folios.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Orders {
    /// All folios have one order.
    All(OrderName),
    /// Stretches of 512 pages, each with folios of one order. A quarter of the stretches has each
    /// order of [`Orders::MIXED`]; the stretches are shuffled.
    Mixed,
}

/// The unit in which young entries are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// Single entries.
    Entries,
    /// All entries of a folio together.
    Folios,
}

/// The place where a file is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Folios begin at multiples of their size, so that blocks are contiguous if the format has
    /// them.
    Aligned,
    /// The mapping is shifted by a page, so that no block is contiguous.
    Misaligned,
    /// The mapping begins in the middle of a page table, as in the lab's benchmark. Blocks are
    /// contiguous; a folio of the PMD's size lies in two tables.
    HalfTable,
}

/// The part of each folio that is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapped {
    /// The whole folio.
    Whole,
    /// The folio's first half; the rest was unmapped by MADV_DONTNEED.
    Half,
}

/// The order of folios on the inactive list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListOrder {
    /// In file order, as after reading the file from start to end.
    File,
    /// Shuffled.
    Shuffled,
}

/// The state of the processes while their file is reclaimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Process {
    /// All processes sleep; each last ran on one of the other cores.
    Asleep,
    /// Every other core runs a thread of one of the processes. The thread uses one page of the
    /// file.
    Running,
}

/// The users of the processes' memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Secondary {
    /// The processes themselves.
    None,
    /// Guests: each process runs a virtual machine, whose memory is the process's.
    Guest,
}

impl Kind for Orders {
    type Value = Self;

    fn accepted() -> String {
        format!("{}, or mixed", Order::accepted())
    }

    fn names() -> Vec<String> {
        [Order::names(), vec![Self::Mixed.to_string()]].concat()
    }

    fn read(text: &str) -> Option<Self> {
        if text == "mixed" { Some(Self::Mixed) } else { Order::read(text).map(Self::All) }
    }

    fn problem(text: &str) -> Option<String> {
        Order::problem(text)
    }

    fn text(value: &Self) -> String {
        value.to_string()
    }
}

impl fmt::Display for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(order) => order.fmt(f),
            Self::Mixed => f.write_str("mixed"),
        }
    }
}

impl Choice for Chosen {
    const NAMES: &'static [(&'static str, Self)] =
        &[("entries", Self::Entries), ("folios", Self::Folios)];
}

impl Choice for Align {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("aligned", Self::Aligned),
        ("misaligned", Self::Misaligned),
        ("half-table", Self::HalfTable),
    ];
}

impl Choice for Mapped {
    const NAMES: &'static [(&'static str, Self)] = &[("whole", Self::Whole), ("half", Self::Half)];
}

impl Choice for ListOrder {
    const NAMES: &'static [(&'static str, Self)] =
        &[("file", Self::File), ("shuffled", Self::Shuffled)];
}

impl Choice for Process {
    const NAMES: &'static [(&'static str, Self)] =
        &[("asleep", Self::Asleep), ("running", Self::Running)];
}

impl Choice for Secondary {
    const NAMES: &'static [(&'static str, Self)] = &[("none", Self::None), ("guest", Self::Guest)];
}

scenario! {
    /// A clean file mapped by processes, beside it anonymous memory if asked for; a part of all
    /// that is reclaimed through `memory.reclaim`.
    pub struct ReclaimFile, ReclaimFileLists: "reclaim-file" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// order of the folios; mixed: a quarter each of orders 0, 2, 4 and 9
        orders: Orders, "order" as Orders = Orders::All(OrderName::Number(4)),
            in ReclaimFile::ORDERS;
        /// bytes that a process maps
        bytes: u64, "size" as Size = 10 << 30;
        /// part of all memory in use that is to be reclaimed
        reclaim_percent: u8, "reclaim" as Percent<1, 100> = 80;
        /// processes that map the file
        processes: u32, "processes" as Number<1, 1024> = 1;
        /// part of what a process maps that is anonymous memory of its own, stored to, with room
        /// for all of it in swap
        anon_percent: u8, "anon" as Percent<0, 99> = 0;
        /// leaf entries that are young at the start, chosen at random; a folio found young is kept
        /// once, and reclaimed when it is met again
        young_percent: u8, "young" as Percent<0, 100> = 100;
        /// what young ones are chosen by
        chosen: Chosen, "chosen" as Chosen = Chosen::Entries;
        /// entries that map a folio; pmd-leaf needs order=pmd
        map: MapAs, "map" as MapAs = MapAs::Ptes;
        /// where the file is mapped; misaligned: a page beside, so that nothing is contiguous;
        /// half-table: in the middle of a page table, as the lab's benchmark maps it
        align: Align, "align" as Align = Align::Aligned;
        /// how much of each folio is mapped
        mapped: Mapped, "mapped" as Mapped = Mapped::Whole;
        /// in which order folios stand on the inactive list
        list: ListOrder, "list" as ListOrder = ListOrder::File;
        /// whether userfaultfd write-protects the mapping: then nothing is unmapped in batches
        uffd_wp: bool, "uffd-wp" as bool = false;
    }
}

scenario! {
    /// The fields that a modelled machine adds to `reclaim-file`.
    pub struct Processes, ProcessesLists: "reclaim-file" {
        /// what the processes do meanwhile; running: a thread on every core but the first
        process: Process, "process" as Process = Process::Asleep;
        /// who uses their memory: they themselves, or virtual machines
        secondary: Secondary, "secondary" as Secondary = Secondary::None;
    }
}

impl ReclaimFileLists {
    /// Returns the lists of a modelled machine when nothing is given. The file is a fortieth of the
    /// default size; its time per page is that of the larger file.
    pub fn modelled() -> Self {
        Self { bytes: vec![256 << 20], ..Self::default() }
    }
}

impl Orders {
    /// The orders of a mixed file.
    pub const MIXED: [u8; 4] = [0, 2, 4, 9];
}

impl Checked for ReclaimFile {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        let numbered = lists.orders.iter().filter_map(|orders| match orders {
            Orders::All(order) => Some(*order),
            Orders::Mixed => None,
        });
        distinct(&numbered.collect::<Vec<_>>(), &lists.format)?;
        let all = lists.combinations();
        all.iter().try_for_each(Self::check)?;
        Ok(all)
    }
}

impl ReclaimFile {
    /// The orders of the main table.
    pub const ORDERS: [Orders; 3] = [
        Orders::All(OrderName::Number(0)),
        Orders::All(OrderName::Number(4)),
        Orders::All(OrderName::Pmd),
    ];

    fn check(&self) -> Result<(), FieldError> {
        let folio = self.largest_folio();
        check_size(self.bytes, folio, "largest folio's", MAX_BYTES)?;
        check_request(self.charged_bytes(), self.reclaim_percent, 1 << self.format.page_shift())?;
        let pmd = match self.orders {
            Orders::All(order) => order.in_format(self.format) == self.format.pmd_order(),
            Orders::Mixed => false,
        };
        let whole = self.align == Align::Aligned && self.mapped == Mapped::Whole;
        let problem = if self.map == MapAs::PmdLeaf && !(pmd && whole) {
            Some("map=pmd-leaf needs order=pmd, align=aligned and mapped=whole".to_owned())
        } else if self.mapped == Mapped::Half && self.smallest_order() == 0 {
            let orders = self.orders;
            Some(format!("mapped=half needs folios of two pages or more, not order={orders}"))
        } else if self.anon_percent > 0 && !(whole && self.map == MapAs::Ptes) {
            Some("anon needs map=ptes, align=aligned and mapped=whole".to_owned())
        } else {
            too_many_tables(self.format, self.map, self.bytes, self.processes)
        };
        problem.map_or(Ok(()), |problem| Err(FieldError::together(Self::NAME, problem)))
    }

    /// Returns the bytes of the largest folio. If orders are mixed, that is a stretch.
    pub fn largest_folio(&self) -> u64 {
        let order = match self.orders {
            Orders::All(order) => order.in_format(self.format),
            Orders::Mixed => Orders::MIXED[Orders::MIXED.len() - 1],
        };
        (1 << self.format.page_shift()) << order
    }

    fn smallest_order(&self) -> u8 {
        match self.orders {
            Orders::All(order) => order.in_format(self.format),
            Orders::Mixed => Orders::MIXED[0],
        }
    }

    /// Returns the bytes that are asked of `memory.reclaim`.
    pub fn reclaim_bytes(&self) -> u64 {
        (u128::from(self.charged_bytes()) * u128::from(self.reclaim_percent) / 100) as u64
    }

    /// Returns the bytes that the cgroup is charged with.
    fn charged_bytes(&self) -> u64 {
        self.file_bytes() + self.anon_bytes() * u64::from(self.processes)
    }

    /// Returns the bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.bytes - self.anon_bytes()
    }

    /// Returns the bytes of each process's anonymous memory, a multiple of the largest folio.
    pub fn anon_bytes(&self) -> u64 {
        let folio = self.largest_folio();
        self.bytes / folio * u64::from(self.anon_percent) / 100 * folio
    }
}

/// Returns the problem of `processes` processes that map `bytes` each, if their page tables take
/// too much memory.
pub(super) fn too_many_tables(
    format: FormatName,
    map: MapAs,
    bytes: u64,
    processes: u32,
) -> Option<String> {
    let leaf = match map {
        MapAs::Ptes => 0,
        MapAs::PmdLeaf => u32::from(format.pmd_order()),
    };
    let entries = bytes >> (format.page_shift() + leaf);
    let tables = u128::from(entries) * 8 * u128::from(processes);
    (tables > u128::from(MAX_TABLE_BYTES)).then(|| {
        format!(
            "{processes} processes mapping {} need {} MiB of page tables; accepted: at most {} MiB",
            display_size(bytes),
            tables >> 20,
            MAX_TABLE_BYTES >> 20,
        )
    })
}
