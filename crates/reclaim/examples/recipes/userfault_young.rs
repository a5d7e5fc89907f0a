//! Young bits without hardware's: a virtual machine monitor (VMM) samples its guest's uses by
//! faults, and the engine ages by what it finds.
//!
//! The guest reaches its memory through a second stage whose accessed bits the host cannot read.
//! The monitor unmaps a folio there when the engine asks if it was used. The guest's next access
//! faults to the monitor, as by userfaultfd, which maps the folio again. So a folio that is mapped
//! was used since the last question.

use super::machine::Hardware;
use super::system::{START, System, boot};
use core::cell::RefCell;
use core::fmt::Write as _;
use pageout_paging::mmu::Caps;
use pageout_paging::pte::X86_64;
use pageout_paging::{Format, Notifier, Pfn, VirtAddr, VirtRange};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{Access, MemcgId, MmId};
use std::collections::BTreeMap;

const FRAMES: usize = 96;
/// The pages of the guest, those it uses in every round, and others that it uses in each round.
const PAGES: u64 = 160;
const HOT: u64 = 48;
const OTHERS: u64 = 16;
const ROUNDS: u64 = 24;
/// The orders of folios that the table compares.
const ORDERS: [u8; 2] = [0, 2];

/// The monitor's second stage: the frames of the guest's pages that are mapped.
#[derive(Default)]
pub(crate) struct Sampler {
    mapped: RefCell<BTreeMap<u64, Pfn>>,
    /// True if the monitor unmaps pages to learn of uses. Otherwise it answers that none was used.
    samples: bool,
}

fn pages(range: &VirtRange) -> core::ops::Range<u64> {
    range.start.get() >> X86_64::PAGE_SHIFT..range.end.get() >> X86_64::PAGE_SHIFT
}

impl Notifier for Sampler {
    fn clear_flush_young(&self, range: VirtRange) -> bool {
        self.clear_young(range)
    }

    /// Unmaps the pages, as MADV_DONTNEED of a mapping of shared memory does. On hardware the flush
    /// of the second stage's TLB comes with it.
    fn clear_young(&self, range: VirtRange) -> bool {
        let mut mapped = self.mapped.borrow_mut();
        let unmap = |young, page| mapped.remove(&page).is_some() | young;
        self.samples && pages(&range).fold(false, unmap)
    }

    fn test_young(&self, addr: VirtAddr) -> bool {
        self.samples && self.mapped.borrow().contains_key(&(addr.get() >> X86_64::PAGE_SHIFT))
    }

    /// Unmaps pages whose entries the engine takes out.
    fn invalidate(&self, range: VirtRange) {
        let mut mapped = self.mapped.borrow_mut();
        pages(&range).for_each(|page| {
            mapped.remove(&page);
        });
    }
}

type Monitor<'e, 'm> = System<'e, 'm, X86_64>;

/// Stores to a page as the guest does. The monitor handles its fault by mapping the folio of `nr`
/// pages that the engine has in the monitor's address space, and reads it from swap if needed.
/// Returns true if the guest faulted.
fn guest_store(
    monitor: &mut Monitor<'_, '_>,
    sampler: &Sampler,
    (mm, page, nr): (MmId, u64, u64),
) -> bool {
    let faults = !sampler.mapped.borrow().contains_key(&page);
    if faults {
        let first = page / nr * nr;
        let map = |page| (page, monitor.touch(mm, page, Access::Write));
        let mapped: Vec<_> = (first..first + nr).map(map).collect();
        sampler.mapped.borrow_mut().extend(mapped);
    }
    let pfn = sampler.mapped.borrow()[&page];
    let word = monitor.machine.word(pfn);
    assert_eq!(word.replace(page), page, "the guest reaches its own page");
    faults
}

/// The occasions at which the engine asks for uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Never: the monitor samples nothing.
    Never,
    /// Before reclaim takes a page (the classic LRU).
    AtReclaim,
    /// At reclaim, and of every page in each round (generations, by walks of page tables).
    EachRound,
}

/// The counts of a run, without the first round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    /// The pages read from swap: those the guest uses in every round, and the others.
    pub(crate) hot_reads: u64,
    pub(crate) other_reads: u64,
    /// The guest's faults on pages that were in memory: the price of sampling.
    pub(crate) samples: u64,
}

pub(crate) fn run(asks: Asks, order: u8) -> Counts {
    let sampler = Sampler { samples: asks != Asks::Never, ..Sampler::default() };
    let hardware = Hardware { second: Some(&sampler), caps: Caps::IDEAL, sets_bits: true };
    boot::<X86_64, _>(FRAMES, hardware, |monitor| {
        if asks == Asks::EachRound {
            monitor.engine().set_lru_gen_caps(LruGenCaps::CORE | LruGenCaps::MM_WALK);
        }
        let mm = monitor.spawn(MemcgId::ROOT, PAGES, order);
        let mut counts = Counts { hot_reads: 0, other_reads: 0, samples: 0 };
        for round in 0..ROUNDS {
            let others = (0..OTHERS).map(|k| HOT + (round * OTHERS + k) % (PAGES - HOT));
            for page in (0..HOT).chain(others) {
                let (reads, faults) = (monitor.major, monitor.minor);
                let sampled = guest_store(monitor, &sampler, (mm, START + page, 1 << order));
                if round > 0 {
                    let read = monitor.major - reads;
                    *if page < HOT { &mut counts.hot_reads } else { &mut counts.other_reads } +=
                        read;
                    counts.samples += u64::from(sampled && read == 0 && monitor.minor == faults);
                }
            }
            if asks == Asks::EachRound {
                monitor.age();
            }
        }
        counts
    })
}

/// The rows of the table.
pub(crate) const ROWS: [(&str, Asks); 3] = [
    ("no young bits", Asks::Never),
    ("asked at reclaim", Asks::AtReclaim),
    ("asked each round", Asks::EachRound),
];

pub(crate) fn text() -> String {
    let heads = ["hot read", "others read", "samples"];
    let mut text = format!(
        "{:<18}{:>6}{:>10}{:>13}{:>9}\n",
        "sampling", "pages", heads[0], heads[1], heads[2]
    );
    for (name, asks) in ROWS {
        for order in ORDERS {
            let Counts { hot_reads, other_reads, samples } = run(asks, order);
            let pages = 1 << order;
            let _ =
                writeln!(text, "{name:<18}{pages:>6}{hot_reads:>10}{other_reads:>13}{samples:>9}");
        }
    }
    text
}
