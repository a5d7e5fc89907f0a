//! Loads that wait for one another: in the first cache, in the second, far away; and on more and
//! more pages, until no TLB has their translations.
//!
//! The pages of TLB measurements are never written, so all of them are the kernel's one page of
//! zeroes: their data stay in the first cache however many there are, and what grows is the price
//! of translation. Hardware that merges neighbours finds none to merge.

use super::area::{Pages, area, page_size};
use super::effort::Effort;
use super::figure::median;
use super::rounds::Rounds;
use memmap2::MmapMut;
use pageout_experiment::clock::timed;
use std::hint::black_box;
use std::io;

/// Bytes between loads that share no line.
const LINE: usize = 64;

/// Loads a repetition: long against reading the clock, short against a time slice.
const LOADS: usize = 16_384;

/// The same where each takes long.
const COLD_LOADS: usize = 2048;

/// Pages touched in turn: the first within any first TLB level, the last beyond any second one.
pub(super) const PAGES: [usize; 15] =
    [8, 16, 32, 48, 64, 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 16_384];

/// Pages beyond the first TLB level of any CPU we know, and within the second.
pub(super) const SECOND_LEVEL: usize = 256;

/// Where two levels of tables are read, the leaf entries are so many pages apart: each has a line
/// of tables for itself.
const ENTRIES_OF_A_LINE: usize = LINE / 8;

/// Bytes of a set that the second cache holds and the first does not.
const SECOND_CACHE: usize = 256 << 10;

/// What loads took, a value each round, in nanoseconds a load.
#[derive(Debug, Default)]
pub(super) struct Loads {
    /// In the first cache, each waiting for the one before.
    pub(super) near: Vec<f64>,
    /// In the first cache, none waiting.
    pub(super) free: Vec<f64>,
    /// In the second cache.
    pub(super) second_cache: Vec<f64>,
    /// Over memory of so many bytes, on huge pages if there are any.
    pub(super) far: Vec<f64>,
    /// What it takes more to go from page to page, for each of [`PAGES`].
    pub(super) translation: [Vec<f64>; PAGES.len()],
    /// The same where each leaf entry is on a line of its own, and these lines are far.
    pub(super) far_leaf: Vec<f64>,
}

impl Loads {
    /// What translations took for one of [`PAGES`].
    pub(super) fn over(&self, pages: usize) -> &[f64] {
        let index = PAGES.iter().position(|n| *n == pages).expect("one of the measured");
        &self.translation[index]
    }
}

/// Loads in an order.
struct Path {
    /// Numbers of lines.
    order: Vec<u32>,
    /// Where the next repetition begins.
    next: usize,
}

impl Path {
    /// Over lines in random order.
    fn new(lines: impl Iterator<Item = usize>, random: &mut fastrand::Rng) -> Self {
        let mut order: Vec<_> = lines.map(|n| u32::try_from(n).expect("below 256 GiB")).collect();
        random.shuffle(&mut order);
        Self { order, next: 0 }
    }

    /// Over so many lines, one each `stride` pages, at all places in a page.
    fn across_pages(count: usize, stride: usize, random: &mut fastrand::Rng) -> Self {
        let lines = page_size() / LINE;
        Self::new((0..count).map(|n| n * stride * lines + n % lines), random)
    }

    /// Time of a load, after one turn that warms what can be warm.
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

    /// Time of a load of the next ones, which nothing has warmed.
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

/// Nanoseconds of each of so many, by this thread's CPU time: what others do on the CPU is not in
/// it.
pub(super) fn own_ns(count: usize, work: impl FnOnce()) -> f64 {
    let ((), ns) = timed(work);
    ns as f64 / count as f64
}

/// Loads a byte of each line; where to load from is known once the last load is complete, the first
/// of them once `loaded` is. All bytes are zero.
#[inline(never)]
fn follow(memory: &[u8], lines: &[u32], mut loaded: usize) -> usize {
    for line in lines {
        loaded = usize::from(memory[*line as usize * LINE + loaded]);
    }
    loaded
}

/// The same loads, none waiting for another.
#[inline(never)]
fn gather(memory: &[u8], lines: &[u32]) {
    let or = lines.iter().fold(0, |or, line| or | memory[*line as usize * LINE]);
    black_box(or);
}

/// Measures loads.
///
/// # Errors
/// The kernel's, if it refuses memory.
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
    // Faults once, so that no repetition does.
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

/// Memory of zeroes of its own.
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

/// The most pages whose translations a level of the TLB still has: a page more costs more than
/// half of what it costs well beyond, `pages` being such a place.
pub(super) fn reach(translation: &[(usize, f64)], before: f64, beyond: f64) -> Option<usize> {
    let half = f64::midpoint(before, beyond);
    let within = translation.iter().take_while(|(_, ns)| *ns < half).last()?;
    Some(within.0)
}

/// Medians of what translations took, by pages.
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
