//! Aging of a guest by its second stage: hardware sets the accessed flags of stage 2 or EPT, and
//! the engine's walks and reclaim read and clear them through a notifier.
//!
//! The guest's memory is a range of the monitor's address space, which the engine reclaims like any
//! other. Its second stage has tables, permissions and contiguous blocks of its own.

use super::guest_tables::{BLOCK, ROM, SecondStage, entries};
use super::machine::{Hardware, address};
use super::stage2::Stage2;
use super::system::{START, System, boot};
use core::fmt::Write as _;
use core::ops::Range;
use pageout_paging::pte::Arm64_4K;
use pageout_paging::{Format, Pfn};
use pageout_reclaim::mglru::{LruGenCaps, MAX_NR_GENS};
use pageout_reclaim::{Access, MemcgId, MmId, ReclaimRequest};

/// The pages of the guest, in folios of one contiguous block.
const PAGES: u64 = 512;
const ORDER: u8 = Arm64_4K::CONT_SHIFT as u8;
/// The pages of which the guest uses one a block in every round.
const HOT: Range<u64> = 0..192;
const ROUNDS: u64 = 4;
/// The pages that reclaim is asked for after the rounds.
const WANTED: u64 = 128;

type Monitor<'e, 'm> = System<'e, 'm, Arm64_4K>;

/// Uses a page as the guest does. A stage 2 fault on a page that is not mapped makes the monitor
/// bring its block into memory and map it. Returns false if the guest may not do this to the page.
fn guest_uses(
    monitor: &mut Monitor<'_, '_>,
    stage: &SecondStage<'_>,
    (mm, page): (MmId, u64),
    access: Access,
) -> bool {
    let mut pfn = stage.walk(page, access);
    if pfn.is_none() && !Stage2::is_valid(stage.entry(page)) {
        let first = page / BLOCK * BLOCK;
        let frames = (first..first + BLOCK).map(|k| monitor.touch(mm, START + k, Access::Write));
        let frames: Vec<Pfn> = frames.collect();
        stage.map(page, frames[0]);
        pfn = stage.walk(page, access);
    }
    let word = pfn.map(|pfn| monitor.machine.word(pfn).get());
    assert!(word.is_none_or(|word| word == START + page), "the guest reaches its own page");
    pfn.is_some()
}

/// Returns the pages in memory, and those of them that are hot.
fn in_memory(monitor: &Monitor<'_, '_>, mm: MmId) -> [u64; 2] {
    let root = monitor.maps.mm(mm).expect("it lives").root();
    let entry = |page| monitor.machine.entry(root, address::<Arm64_4K>(START + page));
    let is_there = |page: &u64| Arm64_4K::is_valid(entry(*page));
    [(0..PAGES).filter(is_there).count() as u64, HOT.filter(is_there).count() as u64]
}

/// The figures of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    /// The pages in the two youngest generations, before reclaim.
    pub(crate) young: u64,
    pub(crate) evicted: u64,
    pub(crate) evicted_hot: u64,
    /// The invalidations of the second stage's TLB: by aging, and by reclaim.
    pub(crate) invalidations: [u64; 2],
    /// The contiguous blocks mapped in the second stage after all.
    pub(crate) blocks: usize,
}

pub(crate) fn run(ages: bool) -> Counts {
    let entries = entries();
    let stage = SecondStage::new(&entries, ages);
    let hardware = Hardware { second: Some(&stage), ..Hardware::PLAIN };
    boot::<Arm64_4K, _>(PAGES as usize, hardware, |monitor| {
        monitor.engine().set_lru_gen_caps(LruGenCaps::CORE | LruGenCaps::MM_WALK);
        let mm = monitor.spawn(MemcgId::ROOT, PAGES, ORDER);
        for page in (0..PAGES).step_by(BLOCK as usize) {
            assert!(guest_uses(monitor, &stage, (mm, page), Access::Read));
        }
        for round in 0..ROUNDS {
            for first in HOT.step_by(BLOCK as usize) {
                let (page, is_rom) = (first + 5 * round % BLOCK, ROM.contains(&first));
                assert_eq!(guest_uses(monitor, &stage, (mm, page), Access::Exec), is_rom);
                assert_eq!(guest_uses(monitor, &stage, (mm, page), Access::Write), !is_rom);
            }
            monitor.age();
        }
        let aging = stage.invalidations.replace(0);
        let max = monitor.maps.lru_gen_seqs(MemcgId::ROOT).expect("it is online").0;
        let size = |seq: u64| {
            let generation = seq as usize % MAX_NR_GENS;
            monitor.maps.lru_gen_size(MemcgId::ROOT, generation, 0, 0).expect("it is online") as u64
        };
        let young = size(max) + size(max - 1);
        let request = ReclaimRequest::of(WANTED * Arm64_4K::PAGE_SIZE);
        monitor.engine().memory_reclaim(MemcgId::ROOT, request).expect("there is enough");
        let [left, hot] = in_memory(monitor, mm);
        let is_cont = |page: &u64| Stage2::is_cont(stage.entry(*page));
        let blocks = (0..PAGES).step_by(BLOCK as usize).filter(is_cont);
        Counts {
            young,
            evicted: PAGES - left,
            evicted_hot: HOT.end - hot,
            invalidations: [aging, stage.invalidations.get()],
            blocks: blocks.count(),
        }
    })
}

pub(crate) fn text() -> String {
    let mut text = String::from(
        "young bits of    young  evicted  of them hot  TLBIs: aging, reclaim  blocks\n",
    );
    for (name, ages) in [("the monitor", false), ("the guest too", true)] {
        let Counts { young, evicted, evicted_hot, invalidations: [aging, reclaim], blocks } =
            run(ages);
        let _ = writeln!(
            text,
            "{name:<14}{young:>8}{evicted:>9}{evicted_hot:>13}{aging:>14}{reclaim:>9}{blocks:>8}"
        );
    }
    text
}
