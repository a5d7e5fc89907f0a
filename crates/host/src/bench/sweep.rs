//! A sweep: its entries, the number for each call, and the way to reach them.

use super::tables::SweepTables;
use crate::env::HostEnv;
use pageout_experiment::clock::timed;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::labels;
use pageout_paging::mmu::Asid;
use pageout_paging::walk::{Hit, LockWhen, MappedWalk, Match, RmapTarget, Span, spans};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{Env, Level, LockedTable, Pfn, VirtAddr, VirtRange};
use pageout_record::schema::Labels;
use std::hint::black_box;

/// The bytes of tables of the main sweep, which map 10 GiB.
pub(super) const SMALL_TABLES: usize = 20 << 20;
/// The bytes of tables that exceed a second-level cache by far.
pub(super) const LARGE_TABLES: usize = 200 << 20;

/// The code that checks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Checker {
    /// An algorithm.
    YoungAlgorithm(YoungAlgorithm),
    /// The helper for a single entry, called directly, as kernels do.
    Single,
    /// A read of the same tables without a check, word by word as kernels can.
    ScalarRead,
    /// The widest read of the same tables, without a check.
    WideRead,
}

/// The way in which entries are reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reached {
    /// Table by table, with one call of the helper for each folio.
    BySweep,
    /// Folio by folio, through the rmap walk that `folio_referenced` makes.
    ByWalk,
}

/// The parameters of a sweep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sweep {
    /// Entry format; arm64-4k entries are contiguous where folios are large enough.
    pub format: FormatName,
    /// Bytes of tables.
    pub table_bytes: usize,
    /// The number of pages of each folio, and of entries of each call.
    pub nr: usize,
    /// The share of young entries in per cent, chosen at random.
    pub young_percent: u8,
    /// The way in which entries are reached.
    pub reached: Reached,
}

impl Sweep {
    pub(super) const fn new(
        format: FormatName,
        nr: usize,
        young_percent: u8,
        reached: Reached,
    ) -> Self {
        Self { format, table_bytes: SMALL_TABLES, nr, young_percent, reached }
    }

    /// Returns the sweep over tables that no second-level cache holds.
    pub(super) const fn large() -> Self {
        Self { table_bytes: LARGE_TABLES, ..Self::new(FormatName::X86_64, 16, 0, Reached::BySweep) }
    }

    /// Returns every sweep, in the order of the table.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for format in FormatName::MAIN {
            for (nr, reached, shares) in [
                (16, Reached::BySweep, &[0, 1, 50, 100][..]),
                (16, Reached::ByWalk, &[0, 50, 100]),
                (1, Reached::BySweep, &[0, 100]),
                // One call for each table: compared with 16, it shows the cost of calls besides
                // their reads.
                (512, Reached::BySweep, &[0]),
            ] {
                all.extend(shares.iter().map(|young| Self::new(format, nr, *young, reached)));
            }
        }
        all.push(Self::large());
        all
    }

    /// Returns the code that checks in this sweep: every algorithm; the single helper, if a call
    /// checks one entry; and the reads that are its floors, if the sweep only reads old entries.
    pub(super) fn ways(&self) -> Vec<Checker> {
        let single = (self.nr == 1).then_some(Checker::Single);
        let floor = self.reached == Reached::BySweep && self.nr == 16 && self.young_percent == 0;
        let floor = floor && self.format == FormatName::X86_64;
        let reads = [Checker::ScalarRead, Checker::WideRead].into_iter().filter(|_| floor);
        YoungAlgorithm::ALL
            .into_iter()
            .map(Checker::YoungAlgorithm)
            .chain(single)
            .chain(reads)
            .collect()
    }

    pub(super) fn labels(&self) -> Labels {
        let reached = match self.reached {
            Reached::BySweep => "sweep",
            Reached::ByWalk => "rmap walk",
        };
        labels([
            ("format", self.format.name().to_owned()),
            ("tables", format!("{}MiB", self.table_bytes >> 20)),
            ("nr", self.nr.to_string()),
            ("young", format!("{}%", self.young_percent)),
            ("reached", reached.to_owned()),
        ])
    }

    /// Returns the nanoseconds for each entry of one sweep over `tables`, whose young bits are set
    /// up before.
    pub(super) fn time(&self, tables: &mut SweepTables, by: Checker, seed: u64) -> f64 {
        with_format!(self.format, F => self.time_in::<F>(tables, by, seed))
    }

    fn time_in<F: Arch>(&self, tables: &mut SweepTables, by: Checker, seed: u64) -> f64 {
        let range = tables.fill::<F>(self.nr);
        tables.make_young::<F>(self.young_percent, seed);
        let entries = tables.entries();
        let (env, root) = tables.env::<F>();
        let algorithm = match by {
            Checker::YoungAlgorithm(algorithm) => algorithm,
            Checker::Single => YoungAlgorithm::PerEntry,
            Checker::ScalarRead => return tables.scalar_read_ns(),
            Checker::WideRead => return tables.wide_read_ns(),
        };
        let flush = self.format.flush_policy();
        let check = YoungCheck { env: &env, algorithm, flush, asid: Asid(0) };
        let (young, ns) = timed(|| match (self.reached, by) {
            (Reached::BySweep, Checker::Single) => {
                sweep(&check, root, range, self.nr, |pt, addr| {
                    check.ptep_test_and_clear_young(pt, addr)
                })
            }
            (Reached::BySweep, _) => sweep(&check, root, range, self.nr, |pt, addr| {
                check.test_and_clear_young_ptes(pt, addr, self.nr)
            }),
            (Reached::ByWalk, _) => walk(&check, root, range, self.nr),
        });
        black_box(young);
        ns as f64 / entries as f64
    }
}

/// Calls `helper` for every `nr` entries of `range`; returns the number of calls that found one
/// young.
#[inline(never)] // a loop of its own for every helper, whatever else is compiled beside it
fn sweep<'e, F: Arch>(
    check: &YoungCheck<'e, HostEnv<'e, F>>,
    root: Pfn,
    range: VirtRange,
    nr: usize,
    helper: impl Fn(&LockedTable<'e, HostEnv<'e, F>>, VirtAddr) -> bool,
) -> u64 {
    let env = check.env;
    let mut young = 0;
    for span in spans(env, root, range) {
        let Span::Ptes { frame, ahead, range } = span else {
            continue;
        };
        let ahead = ahead.map(|frame| env.table(frame));
        let pt = LockedTable::lock(env, frame).prefetching(ahead);
        let mut addr = range.start;
        while addr < range.end {
            young += u64::from(helper(&pt, addr));
            addr = addr.add((nr as u64) << F::PAGE_SHIFT);
        }
    }
    young
}

/// Walks to every folio of `nr` pages in `range` as `folio_referenced` does; returns the number of
/// young ones.
#[inline(never)] // as above
fn walk<'e, F: Arch>(
    check: &YoungCheck<'e, HostEnv<'e, F>>,
    root: Pfn,
    range: VirtRange,
    nr: usize,
) -> u64 {
    let folio_bytes = (nr as u64) << F::PAGE_SHIFT;
    let mut young = 0;
    let mut start = range.start;
    while start < range.end {
        let target = RmapTarget {
            root,
            range: start..start.add(folio_bytes),
            pfn: Pfn::new(start.get() >> F::PAGE_SHIFT),
            nr_pages: nr,
            matches: Match::Mapped,
            lock: LockWhen::Plausible,
            getter: check.algorithm.getter(),
        };
        let mut walk = MappedWalk::new(check.env, target);
        let mut referenced = false;
        while let Some(Hit::Pte(addr, pte)) = walk.next_hit() {
            let left = nr - (addr.get() - start.get()) as usize / F::PAGE_SIZE as usize;
            let table_left = F::PTES - F::index(Level::Pte, addr);
            let max_nr = left.min(table_left);
            let (nr, found) = check.clear_flush_young_run(walk.locked(), addr, pte, max_nr);
            referenced |= found;
            walk.skip(nr);
        }
        young += u64::from(referenced);
        start = start.add(folio_bytes);
    }
    young
}
