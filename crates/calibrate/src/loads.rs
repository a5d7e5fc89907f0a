//! Loads that depend on one another: in the first cache, in the second, far away; and on more and
//! more pages, until no TLB has their translations.
//!
//! The pages of TLB measurements are never written, so all of them are the kernel's one page of
//! zeroes. Their data stay in the first cache however many pages there are, so that only the price
//! of translation grows. Hardware that merges neighbours finds none to merge.

use super::area::{Pages, area, page_size};
use super::effort::Effort;
use super::figure::median;
use super::rounds::Rounds;
use memmap2::MmapMut;
use pageout_experiment::clock::timed;
use std::hint::black_box;
use std::io;

/// The bytes of a line: loads this far apart share no line.
const LINE: usize = 64;

/// The number of loads in a repetition, which takes long compared with reading the clock, and is
/// short compared with a time slice.
const LOADS: usize = 16_384;

/// The number of loads in a repetition if each load takes long.
const COLD_LOADS: usize = 2048;

/// The numbers of pages touched: the first fits any first TLB level, the last no second one.
pub(super) const PAGES: [usize; 15] =
    [8, 16, 32, 48, 64, 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 16_384];

/// A number of pages beyond the first TLB level of any CPU we know, and within the second.
pub(super) const SECOND_LEVEL: usize = 256;

/// The distance in pages between accesses whose leaf entries are on different lines of the tables,
/// so that two levels of tables are read.
const ENTRIES_OF_A_LINE: usize = LINE / 8;

/// The bytes of memory that the second cache holds and the first does not.
const SECOND_CACHE: usize = 256 << 10;

/// The times of loads, a value for each round, in nanoseconds for each load.
#[derive(Debug, Default)]
pub(super) struct Loads {
    /// Loads in the first cache, each dependent on the one before.
    pub(super) near: Vec<f64>,
    /// Independent loads in the first cache.
    pub(super) free: Vec<f64>,
    /// Dependent loads in the second cache.
    pub(super) second_cache: Vec<f64>,
    /// Dependent loads over memory of [`Effort::far_bytes`], on huge pages if there are any.
    pub(super) far: Vec<f64>,
    /// The additional time of going from page to page, for each of [`PAGES`].
    pub(super) translation: [Vec<f64>; PAGES.len()],
    /// The same if each leaf entry is on its own line, and these lines are far.
    pub(super) far_leaf: Vec<f64>,
}

impl Loads {
    /// Returns the times of translation for one of [`PAGES`].
    pub(super) fn over(&self, pages: usize) -> &[f64] {
        let index = PAGES.iter().position(|n| *n == pages).expect("one of the measured");
        &self.translation[index]
    }
}

/// A sequence of loads.
struct Path {
    /// The numbers of the lines to load from.
    order: Vec<u32>,
    /// The index in `order` at which the next repetition begins.
    next: usize,
}

impl Path {
    /// Makes a path over lines in random order.
    fn new(lines: impl Iterator<Item = usize>, random: &mut fastrand::Rng) -> Self {
        let mut order: Vec<_> = lines.map(|n| u32::try_from(n).expect("below 256 GiB")).collect();
        random.shuffle(&mut order);
        Self { order, next: 0 }
    }

    /// Makes a path over `count` lines, one for each `stride` pages, at changing offsets in a page.
    fn across_pages(count: usize, stride: usize, random: &mut fastrand::Rng) -> Self {
        let lines = page_size() / LINE;
        Self::new((0..count).map(|n| n * stride * lines + n % lines), random)
    }

    /// Returns the time of a load, after one turn that warms the caches and TLBs.
    fn warm_ns(&self, memory: &[u8]) -> f64 {
        let mut loaded = follow(memory, &self.order, 0);
        let turns = (LOADS / self.order.len()).max(1);
        own_ns(turns * self.order.len(), || {
            for _ in 0..turns {
                loaded = follow(memory, &self.order, loaded);
            }
            black_box(loaded);
        })
    }

    /// Returns the time of a load of the next ones, which no earlier load has warmed.
    fn cold_ns(&mut self, memory: &[u8]) -> f64 {
        if self.next + COLD_LOADS > self.order.len() {
            self.next = 0;
        }
        let loads = &self.order[self.next..][..COLD_LOADS];
        self.next += COLD_LOADS;
        own_ns(COLD_LOADS, || {
            black_box(follow(memory, loads, 0));
        })
    }
}

/// Returns the nanoseconds of each of `count` operations of `work`, by this thread's CPU time,
/// which leaves out other threads on the CPU.
pub(super) fn own_ns(count: usize, work: impl FnOnce()) -> f64 {
    let ((), ns) = timed(work);
    ns as f64 / count as f64
}

/// Loads a byte of each line. The address of each load depends on the value of the load before,
/// that of the first on `loaded`. All bytes are zero.
#[inline(never)]
fn follow(memory: &[u8], lines: &[u32], mut loaded: usize) -> usize {
    for line in lines {
        loaded = usize::from(memory[*line as usize * LINE + loaded]);
    }
    loaded
}

/// Loads a byte of each line, independently of one another.
#[inline(never)]
fn gather(memory: &[u8], lines: &[u32]) {
    let or = lines.iter().fold(0, |or, line| or | memory[*line as usize * LINE]);
    black_box(or);
}

/// Measures loads.
///
/// # Errors
/// The kernel's error, if it refuses memory.
pub(super) fn measure(effort: &Effort, rounds: Rounds<'_>) -> io::Result<Loads> {
    let mut random = fastrand::Rng::with_seed(1);
    let most = PAGES[PAGES.len() - 1];
    let pages = area(most * page_size(), Pages::Small)?;
    let sparse = area(effort.sparse_entries * ENTRIES_OF_A_LINE * page_size(), Pages::Small)?;
    let far = filled(effort.far_bytes)?;

    let first = Path::new(0..page_size() / LINE, &mut random);
    let second = Path::new(0..SECOND_CACHE / LINE, &mut random);
    let mut away = Path::new(0..effort.far_bytes / LINE, &mut random);
    let across = PAGES.map(|n| Path::across_pages(n, 1, &mut random));
    let mut apart = Path::across_pages(effort.sparse_entries, ENTRIES_OF_A_LINE, &mut random);
    // These loads fault, so that no repetition does.
    black_box(follow(&pages, &across[PAGES.len() - 1].order, 0));
    black_box(follow(&sparse, &apart.order, 0));

    let mut loads = Loads::default();
    for _ in rounds {
        let near = first.warm_ns(&pages);
        loads.near.push(near);
        loads.free.push(free_ns(&pages, &first.order));
        loads.second_cache.push(second.warm_ns(&far));
        loads.far.push(away.cold_ns(&far));
        for (path, more) in across.iter().zip(&mut loads.translation) {
            more.push(path.warm_ns(&pages) - near);
        }
        loads.far_leaf.push(apart.cold_ns(&sparse) - near);
    }
    Ok(loads)
}

/// Maps memory with its own pages of zeroes.
fn filled(bytes: usize) -> io::Result<MmapMut> {
    let mut memory = area(bytes, Pages::Huge)?;
    for byte in memory.iter_mut().step_by(page_size()) {
        *byte = 0;
    }
    Ok(memory)
}

fn free_ns(memory: &[u8], lines: &[u32]) -> f64 {
    let turns = LOADS / lines.len();
    own_ns(turns * lines.len(), || {
        for _ in 0..turns {
            gather(memory, lines);
        }
    })
}

/// Returns the largest number of pages in `translation` whose translations a level of the TLB still
/// has: those whose time is below the middle between `before`, within the level, and `beyond`.
pub(super) fn reach(translation: &[(usize, f64)], before: f64, beyond: f64) -> Option<usize> {
    let half = f64::midpoint(before, beyond);
    let within = translation.iter().take_while(|(_, ns)| *ns < half).last()?;
    Some(within.0)
}

/// Returns the medians of the times of translation, by pages.
pub(super) fn curve(loads: &Loads) -> Vec<(usize, f64)> {
    PAGES.iter().zip(&loads.translation).map(|(pages, ns)| (*pages, median(ns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_through_each_line_once() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut lines = Path::across_pages(200, 8, &mut random).order;
        lines.sort_unstable();
        let of_a_page = (page_size() / LINE) as u32;
        for (n, line) in (0..).zip(&lines) {
            assert_eq!(*line / of_a_page, n * 8, "page");
            assert_eq!(*line % of_a_page, n % of_a_page, "line in the page");
        }
    }

    #[test]
    fn reach_is_where_half_of_the_rise_is_done() {
        let curve = [(16, 0.0), (64, 0.1), (128, 1.9), (512, 2.1), (2048, 6.0), (8192, 22.0)];
        assert_eq!(reach(&curve, 0.0, 2.1), Some(64));
        assert_eq!(reach(&curve, 2.1, 22.0), Some(2048));
        assert_eq!(reach(&curve, -5.0, -3.0), None);
    }
}
