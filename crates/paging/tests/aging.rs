//! Aging walks through a table: every algorithm finds, returns and clears the same, compared with
//! one oracle that knows only single entries.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{
    Case, Decode, Event, FIRST_TABLE, Ground, Layout, Outside, PageKind, World, batch_len,
    each_small_case, gathered,
};
use pageout_paging::batch::{BatchFlags, YoungRun};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{
    Arm64_4K, Arm64_16K, Arm64_64K, Level, Prot, Riscv64, SmallArm2, SmallArm4, SmallRiscv,
    SmallX86, X86_64,
};
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{Env, Format, LockedTable, Pte, Rules, Run, Sound, VirtAddr};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;

const ASID: Asid = Asid(3);
const START: VirtAddr = VirtAddr::new(1 << 40);

fn addr<F: Decode>(i: usize) -> VirtAddr {
    START.add((i as u64) << F::PAGE_SHIFT)
}

/// A walk through one table.
#[derive(Clone, Debug)]
struct Walk {
    entries: Vec<Pte>,
    /// The entries to check: a VMA's part of the table, or a window.
    window: Range<usize>,
    /// The number of pages of a folio.
    folio: usize,
    /// True if every other folio is not the walk's to check, so that it skips them.
    foreign: bool,
    /// The secondary MMU's result, if there is one.
    secondary: Option<bool>,
}

/// A run that was checked: its first index, and the result.
type Step = (usize, YoungRun);

impl Walk {
    /// Returns the pages from `pte`'s to the end of its folio, or `None` for a folio that is not
    /// the walk's.
    fn in_folio<F: Decode>(&self, pte: Pte) -> Option<usize> {
        let frame = F::bits(pte).pfn as usize;
        let own = !self.foreign || (frame / self.folio).is_multiple_of(2);
        own.then_some(self.folio - frame % self.folio)
    }

    /// Returns the engine's steps.
    fn by<F: Decode>(&self, world: &World<F>, algorithm: YoungAlgorithm) -> Vec<Step> {
        world.reset(&self.entries);
        world.set_secondary(self.secondary);
        let env = Ground::<Sound, F>::new(world);
        let flush = FlushPolicy::uniform(YoungFlush::Sync);
        let check = YoungCheck { env: &env, algorithm, flush, asid: ASID };
        let table = env.table(FIRST_TABLE);
        let pt = LockedTable::lock(&env, FIRST_TABLE).prefetching(Some(table));
        let mut steps = Vec::new();
        let mut i = self.window.start;
        let secondary = self.secondary.is_some();
        let mut candidates = check.candidates(&pt, Run::between(i, self.window.end), secondary);
        while let Some((at, pte)) = candidates.next_candidate() {
            assert!((i..self.window.end).contains(&at), "{at} from {i} in {self:#?}");
            i = at + 1;
            if let Some(in_folio) = self.in_folio::<F>(pte) {
                let end = addr::<F>(self.window.end);
                let max_nr = Sound::max_batch::<F>(addr::<F>(at), in_folio, end);
                let run = check.walk_young_run(&pt, addr::<F>(at), pte, max_nr);
                steps.push((at, run));
                candidates.skip(run.nr);
                i = at + run.nr;
            } else {
                candidates.pass(at, pte);
            }
        }
        steps
    }

    /// Returns the steps that it must make, and the table afterwards.
    fn expected<F: Decode>(&self, algorithm: YoungAlgorithm) -> (Vec<Step>, Vec<Pte>) {
        let mut entries = self.entries.clone();
        let mut steps = Vec::new();
        let mut i = self.window.start;
        while i < self.window.end {
            let bits = F::bits(gathered::<F>(&entries, i));
            let candidate =
                bits.present && !bits.special && (bits.young || self.secondary.is_some());
            let in_folio = self.in_folio::<F>(F::read(entries[i], i));
            let (true, Some(in_folio)) = (candidate, in_folio) else {
                i += 1;
                continue;
            };
            let nr = match algorithm {
                YoungAlgorithm::PerEntry => 1,
                _ => {
                    let max_nr = in_folio.min(self.window.end - i);
                    batch_len::<F>(&entries, i, max_nr, BatchFlags::NONE)
                }
            };
            let all = || (i..i + nr).map(|k| F::bits(gathered::<F>(&entries, k)));
            let young = all().any(|bits| bits.young) || self.secondary == Some(true);
            let dirty = all().any(|bits| bits.dirty);
            steps.push((i, YoungRun { nr, young, dirty }));
            for k in i..i + nr {
                clear::<F>(&mut entries, k);
            }
            i += nr;
        }
        (steps, entries)
    }

    fn check<F: Decode>(&self, world: &World<F>) {
        for algorithm in YoungAlgorithm::ALL {
            let steps = self.by::<F>(world, algorithm);
            let (expected, entries) = self.expected::<F>(algorithm);
            assert_eq!(steps, expected, "{algorithm:?}: {self:#?}");
            for (i, pte) in entries.iter().enumerate() {
                assert_eq!(world.entry(i), *pte, "{algorithm:?}: entry {i} of {self:#?}");
            }
            world.with_events(|events| self.check_events::<F>(&steps, events));
        }
    }

    /// Checks that nothing was flushed, that no entry outside of the table was used, and that the
    /// secondary MMU was called for exactly each run.
    fn check_events<F: Decode>(&self, steps: &[Step], events: &[Event]) {
        let mut asked = steps.iter().filter(|_| self.secondary.is_some());
        for event in events {
            match event {
                Event::Notified { range, flush: false } => {
                    let (at, run) = asked.next().expect("one question a run");
                    assert_eq!(*range, addr::<F>(*at)..addr::<F>(at + run.nr), "{self:#?}");
                }
                Event::Cleared(_) | Event::Lock(_) | Event::Unlock(_) => {}
                event => panic!("{event:?} of {self:#?}"),
            }
        }
        assert_eq!(asked.next(), None, "{self:#?}");
    }
}

/// Makes entry `k` old, with the others of its block.
fn clear<F: Decode>(entries: &mut [Pte], k: usize) {
    let cont = F::bits(entries[k]).cont;
    let first = if cont { k / F::CONT_PTES * F::CONT_PTES } else { k };
    let nr = if cont { F::CONT_PTES } else { 1 };
    for pte in &mut entries[first..first + nr] {
        pte.0 &= !F::YOUNG;
    }
}

/// Returns the table of `case`, clean except for entry `dirty`, which is so in one of the format's
/// ways.
fn dirty_at<F: Decode>(case: &Case, dirty: usize, hardware: bool) -> Vec<Pte> {
    let change = |(i, pte): (usize, &Pte)| match F::bits(*pte).present {
        true if i == dirty && hardware => F::hardware_dirty(*pte).unwrap_or(*pte),
        true if i == dirty => F::mkdirty(*pte),
        true => F::mkclean(*pte),
        false => *pte,
    };
    case.entries.iter().enumerate().map(change).collect()
}

/// Tries every run of every small table as the window, or all of the table, with each place for a
/// dirty entry. Folios are of a block and of the table in turn, as are folios to skip and secondary
/// MMUs.
fn every_small_walk<F: Decode>() {
    let world = World::<F>::new(1);
    let mut turn = 0;
    let tried = each_small_case::<F>(|case, _| {
        turn += 1;
        let walk = Walk {
            entries: dirty_at::<F>(case, turn % 9, turn / 9 % 2 == 0),
            window: if turn % 5 == 0 { 0..F::PTES } else { case.run.clone() },
            folio: [F::CONT_PTES, F::PTES][turn / 5 % 2],
            foreign: turn % 7 == 0,
            secondary: [None, None, None, Some(false), Some(true)][turn / 3 % 5],
        };
        walk.check::<F>(&world);
        Ok(())
    });
    assert!(tried.is_ok_and(|tried| tried as usize == turn && turn >= 18_432));
}

#[test]
fn small_x86_all() {
    every_small_walk::<SmallX86>();
}

#[test]
fn small_arm_blocks_of_2_all() {
    every_small_walk::<SmallArm2>();
}

#[test]
fn small_arm_blocks_of_4_all() {
    every_small_walk::<SmallArm4>();
}

#[test]
fn small_riscv_all() {
    every_small_walk::<SmallRiscv>();
}

/// Returns two numbers of entries that a walk reads of a table in contiguous blocks, none of which
/// is its own to check. The first is if it knows that, the second if it does not.
fn read_of_foreign_blocks(algorithm: YoungAlgorithm, young: bool) -> [u64; 2] {
    let world = World::<Arm64_4K>::new(1);
    let case = Layout::folio(u64::MAX).case::<Arm64_4K>(0..Arm64_4K::PTES, |_| young);
    world.reset(&dirty_at::<Arm64_4K>(&case, usize::MAX, false));
    let env = Ground::<Sound, Arm64_4K>::new(&world);
    let check = YoungCheck { env: &env, algorithm, flush: FlushPolicy::ARM64, asid: ASID };
    let pt = LockedTable::lock(&env, FIRST_TABLE);
    [true, false].map(|passes| {
        let before = world.counts();
        let mut candidates = check.candidates(&pt, Run::between(0, Arm64_4K::PTES), false);
        while let Some((i, pte)) = candidates.next_candidate() {
            if passes {
                candidates.pass(i, pte);
            }
        }
        (world.counts() - before).entries_read()
    })
}

#[test]
fn kernels_read_a_foreign_block_for_each_of_its_entries_and_line_reads_it_once() {
    for algorithm in [YoungAlgorithm::PerEntry, YoungAlgorithm::Batched] {
        for young in [true, false] {
            assert_eq!(
                read_of_foreign_blocks(algorithm, young),
                [512 * (1 + 16); 2],
                "{algorithm:?}"
            );
        }
    }
    // It reads both ends of the part left, its first line twice, and the entry; of old ones, a line
    // at a time.
    let look = 2 + 8 + 8 + 1;
    assert_eq!(read_of_foreign_blocks(YoungAlgorithm::Line, true), [32 * look, 512 * look - 1]);
    assert_eq!(read_of_foreign_blocks(YoungAlgorithm::Line, false), [2 + 512; 2]);
}

/// A walk through a full-size table. Places are taken modulo the table.
#[derive(Clone, Debug)]
struct Plan {
    cont: u64,
    none: bool,
    swap_beside: bool,
    start: usize,
    nr: usize,
    whole: bool,
    young: Vec<usize>,
    all_young: bool,
    dirty: Vec<(usize, bool)>,
    others: Vec<(usize, usize)>,
    folio_order: u32,
    foreign: bool,
    secondary: Option<bool>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let place = || prop_oneof![0..8192_usize, 0..80_usize];
    let table = (
        prop_oneof![Just(0), Just(u64::MAX), any::<u64>()],
        prop::bool::weighted(0.1),
        any::<bool>(),
        place(),
        prop_oneof![1..8192_usize, 1..80_usize],
        any::<bool>(),
    );
    let bits = (
        prop::collection::vec(place(), 0..40),
        prop::bool::weighted(0.2),
        prop::collection::vec((place(), any::<bool>()), 0..6),
        prop::collection::vec((place(), 0..5_usize), 0..6),
    );
    let walk = (0..14_u32, prop::bool::weighted(0.3), any::<Option<bool>>());
    (table, bits, walk).prop_map(|(table, bits, walk)| Plan {
        cont: table.0,
        none: table.1,
        swap_beside: table.2,
        start: table.3,
        nr: table.4,
        whole: table.5,
        young: bits.0,
        all_young: bits.1,
        dirty: bits.2,
        others: bits.3,
        folio_order: walk.0,
        foreign: walk.1,
        secondary: walk.2,
    })
}

impl Plan {
    fn walk<F: Decode>(&self) -> Walk {
        let start = self.start % F::PTES;
        let run = start..(start + self.nr).min(F::PTES);
        let kind = if self.none { PageKind::ProtNone } else { PageKind::Present };
        let cont = if self.none { 0 } else { self.cont };
        let outside = if self.swap_beside { Outside::Swap } else { Outside::Folio };
        let young: BTreeSet<usize> = self.young.iter().map(|i| i % F::PTES).collect();
        let layout = Layout { cont, kind, outside };
        let case = layout.case::<F>(run.clone(), |i| self.all_young || young.contains(&i));
        let mut entries = dirty_at::<F>(&case, usize::MAX, false);
        for (at, hardware) in &self.dirty {
            let pte = &mut entries[at % F::PTES];
            if F::bits(*pte).present {
                *pte = if *hardware { F::hardware_dirty(*pte) } else { None }
                    .unwrap_or_else(|| F::mkdirty(*pte));
            }
        }
        for (at, other) in &self.others {
            let pte = &mut entries[at % F::PTES];
            if F::bits(*pte).present && !F::bits(*pte).cont {
                *pte = Self::other::<F>(*pte, *other);
            }
        }
        Walk {
            entries,
            window: if self.whole { 0..F::PTES } else { run },
            folio: (1 << self.folio_order).max(F::CONT_PTES),
            foreign: self.foreign,
            secondary: self.secondary,
        }
    }

    /// Returns an entry that may be in place of one for a page of its folio.
    fn other<F: Decode>(pte: Pte, number: usize) -> Pte {
        let young = |other| if F::bits(pte).young { F::mkyoung(other) } else { other };
        match number {
            0 => Pte::NONE,
            1 => F::mkspecial(pte),
            2 => F::mkuffd_wp(pte),
            3 => F::wrprotect(pte),
            _ => young(F::leaf(Level::Pte, F::pfn(pte), Prot::EXEC)),
        }
    }
}

macro_rules! random_walks {
    ($($name:ident: $format:ty, $cases:literal;)*) => {$(
        proptest! {
            #![proptest_config(ProptestConfig::with_cases($cases))]
            #[test]
            fn $name(plan in plan()) {
                plan.walk::<$format>().check::<$format>(&World::new(1));
            }
        }
    )*};
}

random_walks! {
    x86_64_random: X86_64, 1500;
    arm64_4k_random: Arm64_4K, 1500;
    riscv64_random: Riscv64, 1000;
    arm64_16k_random: Arm64_16K, 100;
    arm64_64k_random: Arm64_64K, 30;
}
