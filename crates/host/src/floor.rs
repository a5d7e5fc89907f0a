//! Floors: the least work of a sound check on this CPU, which is to read the entries, and one
//! locked operation for each young entry. Kernels read words, since vector registers belong to
//! their programs; code that owns the registers may read with the widest loads.

use pageout_experiment::clock::timed;
use pageout_experiment::metrics::measured;
use pageout_experiment::rounds::Cell;
use pageout_paging::Format;
use pageout_paging::pte::X86_64;
use pageout_paging::table::{HostTable, LINE, Table};
use pageout_record::schema::{Ground, Labels, Record};
use pulp::Arch;
use std::hint::black_box;
use std::iter::repeat_with;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The scenario of the floors' records.
pub const FLOORS: &str = "floors";

/// Reads every entry with the CPU's widest vector loads; returns the bitwise or of all. The entries
/// are exclusively owned while it runs.
#[inline(never)]
pub fn wide_read(entries: &mut [AtomicU64]) -> u64 {
    Arch::new().dispatch(|| or_all(entries))
}

#[inline(always)]
fn or_all(entries: &mut [AtomicU64]) -> u64 {
    entries.iter_mut().fold(0, |or, entry| or | *entry.get_mut())
}

/// Reads every entry of whole tables by a load of its own, as kernels can; returns the bitwise or
/// of all. The next table is prefetched; without that it takes longer.
#[inline(never)]
pub fn scalar_read(entries: &[AtomicU64]) -> u64 {
    let tables = entries.chunks_exact(X86_64::PTES).filter_map(HostTable::<X86_64>::new);
    let mut tables = tables.peekable();
    let mut all = 0;
    while let Some(table) = tables.next() {
        let ahead = tables.peek().copied().unwrap_or(table);
        for i in (0..X86_64::PTES).step_by(LINE) {
            ahead.prefetch_write(i);
            all |= table.line(i).into_iter().fold(0, |or, entry| or | entry);
        }
    }
    all
}

/// Returns the name of the vector loads that [`wide_read`] uses here.
pub fn wide_read_name() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    match Arch::new() {
        Arch::V4(_) => "AVX-512",
        Arch::V3(_) => "AVX2",
        _ => "SSE2",
    }
    #[cfg(target_arch = "aarch64")]
    {
        "NEON"
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        "scalar"
    }
}

/// Returns the nanoseconds of one uncontended locked read-modify-write of a word in the first-level
/// cache.
pub fn locked_operation_ns() -> f64 {
    const OPERATIONS: u32 = 1 << 20;
    let word = AtomicU64::new(0);
    // The black box is outside the loop: inside, the locked operation would wait for its stores.
    let word = black_box(&word);
    let (_, ns) = timed(|| {
        for _ in 0..OPERATIONS {
            word.fetch_and(!1, Relaxed);
        }
    });
    ns as f64 / f64::from(OPERATIONS)
}

/// Returns the nanoseconds for each entry of [`wide_read`].
pub fn wide_read_ns(entries: &mut [AtomicU64]) -> f64 {
    let nr = entries.len();
    least_ns(nr, || wide_read(entries))
}

/// Returns the nanoseconds for each entry of [`scalar_read`].
pub fn scalar_read_ns(entries: &[AtomicU64]) -> f64 {
    least_ns(entries.len(), || scalar_read(entries))
}

/// Returns the least of three times, for each of `nr` entries: a floor is the time without any
/// disturbance.
fn least_ns(nr: usize, mut read: impl FnMut() -> u64) -> f64 {
    let times = [(); 3].map(|()| {
        let (or, ns) = timed(&mut read);
        black_box(or);
        ns
    });
    times.into_iter().min().unwrap_or(0) as f64 / nr as f64
}

/// Returns the record of [`wide_read_ns`] over `bytes` of tables, with one sample for each round.
pub fn wide_read_record(bytes: usize, ns: &[f64]) -> Record {
    let floor = format!("{} read of {} MiB of tables", wide_read_name(), bytes >> 20);
    record(floor, "ns/entry", ns)
}

/// Returns the record of [`scalar_read_ns`] over `bytes` of tables, with one sample for each round.
pub fn scalar_read_record(bytes: usize, ns: &[f64]) -> Record {
    record(format!("scalar read of {} MiB of tables", bytes >> 20), "ns/entry", ns)
}

/// Returns the record of [`locked_operation_ns`], with one sample for each round.
pub fn locked_record(ns: &[f64]) -> Record {
    record("locked read-modify-write in L1".to_owned(), "ns", ns)
}

fn record(floor: String, unit: &str, ns: &[f64]) -> Record {
    Record {
        scenario: FLOORS.to_owned(),
        ground: Ground::Host,
        seed: 0,
        fields: [("floor".to_owned(), floor)].into(),
        variant: Labels::new(),
        metrics: vec![measured("time", unit, ns)],
    }
}

/// The floors, measured beside other cells.
#[derive(Debug)]
pub struct Floors {
    tables: Vec<AtomicU64>,
    reads: Vec<f64>,
    locked: Vec<f64>,
}

impl Floors {
    /// Allocates tables for the floors of `table_bytes` of page tables.
    pub fn new(table_bytes: usize) -> Self {
        let entries = table_bytes / size_of::<AtomicU64>() + LINE;
        // Not zero: pages that were never written would all be one page of zeros.
        let tables = repeat_with(|| AtomicU64::new(1)).take(entries).collect();
        Self { tables, reads: Vec::new(), locked: Vec::new() }
    }

    fn table_bytes(&self) -> usize {
        (self.tables.len() - LINE) * size_of::<AtomicU64>()
    }
}

impl Cell for Floors {
    fn sample(&mut self, _round: usize) {
        // Loads that straddle two lines would be no floor.
        let skip = self.tables.as_ptr().align_offset(LINE * size_of::<AtomicU64>());
        let tables = &mut self.tables[skip..];
        self.reads.push(wide_read_ns(tables));
        self.locked.push(locked_operation_ns());
    }

    fn records(&mut self) -> Vec<Record> {
        vec![wide_read_record(self.table_bytes(), &self.reads), locked_record(&self.locked)]
    }
}
