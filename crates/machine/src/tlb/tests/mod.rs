//! The TLB compared with a naive one, and the rules of the translations that it holds.

mod naive;
mod rules;
mod tables;

use super::{Found, LevelShape, Tlb, TlbShape, Walks};
use crate::Time;
use naive::{Line, Naive};
use pageout_paging::mmu::{Asid, Caps, Invalidate};
use pageout_paging::pte::{SmallArm2, SmallArm4, SmallRiscv, SmallX86};
use pageout_paging::{Format, Level};
use proptest::prelude::*;
use tables::{Map, PAGES, SPACES, Tables};

#[derive(Clone, Copy, Debug)]
enum Step {
    Access(Asid, u64, bool),
    MakeOld(Asid, u64),
    MakeYoung(Asid, u64),
    MakeTableOld(Asid),
    Map(Asid, u64, Map),
    MapBlock(Asid, u64, bool),
    Forget(Invalidate),
}

/// Two TLBs, each over tables of its own.
struct Pair<'a, F: Format> {
    tables: &'a [Tables<F>; 2],
    tlb: Tlb<'a, F>,
    naive: Naive,
    caps: Caps,
    now: Time,
}

impl<'a, F: Format> Pair<'a, F> {
    fn new(tables: &'a [Tables<F>; 2], shape: &TlbShape, caps: Caps) -> Self {
        let tlb = Tlb::new(shape, tables[0].all());
        Self { tables, tlb, naive: Naive::new(*shape), caps, now: Time::ZERO }
    }

    fn step(&mut self, step: Step) {
        self.now += Time::from_ps(7);
        match step {
            Step::Access(asid, page, store) => self.access(asid, page, store),
            Step::MakeOld(asid, page) => self.tables.iter().for_each(|t| t.make_old(asid, page)),
            Step::MakeYoung(asid, page) => {
                self.tables.iter().for_each(|t| t.make_young(asid, page));
            }
            Step::MakeTableOld(asid) => self.tables.iter().for_each(|t| t.make_table_old(asid)),
            Step::Map(asid, page, map) => self.tables.iter().for_each(|t| t.map(asid, page, map)),
            Step::MapBlock(asid, page, cont) => {
                self.tables.iter().for_each(|t| t.map_block(asid, page, cont));
            }
            Step::Forget(what) => {
                let removed = self.tlb.forget(what, self.now);
                assert_eq!(removed, self.naive.forget::<F>(what, self.now), "removed");
            }
        }
    }

    fn access(&mut self, asid: Asid, page: u64, store: bool) {
        let [ours, theirs] = self.tables;
        let (at, now) = (Tables::<F>::address(page), self.now);
        let found = self.tlb.find(asid, at, store, now);
        assert_eq!(found, self.naive.find(theirs, asid, page, store, now));
        if found == Found::Miss {
            let space = ours.space(asid, self.caps);
            let walk = self.tlb.walk(&space, at, store, now);
            let fault = walk.fault.map(|fault| {
                assert_eq!((fault.at, fault.store), (at, store));
                fault.kind
            });
            let made = walk.made_table_young.is_some();
            let naive = self.naive.walk(theirs, &space, page, store, now);
            assert_eq!((walk.levels, walk.changed, made, fault), naive);
        }
    }

    fn lines(&self) -> Vec<Line> {
        let held: Vec<_> = self.tlb.entries().collect();
        let first =
            |asid, start| held.iter().any(|e| e.level == 1 && e.asid == asid && e.start == start);
        let mut lines: Vec<Line> = held
            .iter()
            .map(|e| {
                let both = e.level == 2 && first(e.asid, e.start);
                let page = e.start.get() >> F::PAGE_SHIFT;
                let since = e.hides_since.filter(|_| !both).map(Time::ps);
                let (owner, pfn) = (e.asid.map(|asid| asid.0), e.pfn.map(|pfn| pfn.get()));
                (e.level, owner, page, e.nr_pages as u64, pfn, e.stores, since)
            })
            .collect();
        lines.sort_unstable();
        lines
    }

    /// Checks that both hold the same, have hidden the same and have left the same in the tables.
    fn check(&self) {
        assert_eq!(self.lines(), self.naive.lines());
        assert_eq!(self.tlb.hidden(), &self.naive.hidden);
        assert_eq!(self.tables[0].words(), self.tables[1].words());
    }
}

fn run<F: Format>(shape: &TlbShape, caps: Caps, steps: impl IntoIterator<Item = Step>) {
    let tables = [Tables::<F>::new(), Tables::<F>::new()];
    let mut pair = Pair::new(&tables, shape, caps);
    for step in steps {
        pair.step(step);
        pair.check();
    }
}

const fn level(sets: u16, ways: u16) -> LevelShape {
    LevelShape { sets, ways }
}

const PLAIN: TlbShape = TlbShape {
    l1: level(1, 2),
    l2: None,
    contiguous: false,
    coalesce: 1,
    caches_invalid: false,
    walk_cache: 0,
    page_drops: Walks::None,
};

fn shapes() -> impl Iterator<Item = TlbShape> {
    let l1s = [level(1, 1), level(1, 2), level(2, 1), level(2, 2)];
    l1s.into_iter().flat_map(|l1| {
        let l2s = [None, Some(level(1, 4)), Some(level(4, 1)), Some(level(2, 2))];
        l2s.map(|l2| TlbShape { l1, l2, ..PLAIN })
    })
}

/// Checks every string of `length` of these steps.
fn every<F: Format>(shape: &TlbShape, alphabet: &[Step], length: u32) {
    for mut number in 0..alphabet.len().pow(length) {
        let string = (0..length).map(|_| {
            let step = alphabet[number % alphabet.len()];
            number /= alphabet.len();
            step
        });
        run::<F>(shape, Caps::IDEAL, string);
    }
}

const A: Asid = Asid(0);
const B: Asid = Asid(1);

fn page(asid: Asid, page: u64) -> Invalidate {
    Invalidate::Range { asid, start: Tables::<SmallX86>::address(page), nr: 1, level: Level::Pte }
}

#[test]
fn every_short_string_of_accesses_hits_and_evicts_as_lists_do() {
    let loads = [0, 1, 2, 3, 8].map(|page| Step::Access(A, page, false));
    shapes().for_each(|shape| every::<SmallX86>(&shape, &loads, 5));
}

#[test]
fn every_short_string_with_invalidations_does_as_lists_do() {
    let alphabet = [
        Step::Access(A, 0, false),
        Step::Access(A, 1, true),
        Step::Access(A, 16, false),
        Step::Access(B, 1, false),
        Step::MakeOld(A, 1),
        Step::Forget(page(A, 1)),
        Step::Forget(Invalidate::AddressSpace(A)),
    ];
    let shapes = shapes().filter(|shape| shape.l1.entries() == 2);
    shapes.for_each(|shape| every::<SmallX86>(&shape, &alphabet, 4));
}

#[test]
fn every_short_string_with_blocks_and_runs_does_as_lists_do() {
    let alphabet = [
        Step::Access(A, 0, false),
        Step::Access(A, 1, true),
        Step::Access(A, 2, false),
        Step::MakeOld(A, 0),
        Step::MakeYoung(A, 1),
        Step::MapBlock(A, 0, true),
        Step::Forget(page(A, 1)),
    ];
    for (contiguous, coalesce) in [(true, 1), (false, 2), (true, 2)] {
        let shape = TlbShape { contiguous, coalesce, l2: Some(level(1, 2)), ..PLAIN };
        every::<SmallArm2>(&shape, &alphabet, 5);
        every::<SmallRiscv>(&TlbShape { caches_invalid: true, ..shape }, &alphabet, 4);
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let asid = || (0..SPACES).prop_map(Asid);
    let page = || 0..PAGES;
    let map = prop::sample::select(
        [Map::Nothing, Map::Read, Map::Write, Map::Elsewhere, Map::Global].as_slice(),
    );
    let range = (asid(), page(), 1_usize..20, any::<bool>()).prop_map(|(asid, page, nr, pmd)| {
        let level = if pmd { Level::Pmd } else { Level::Pte };
        let start = Tables::<SmallX86>::address(page);
        Invalidate::Range { asid, start, nr, level }
    });
    let forget = prop_oneof![
        8 => range,
        1 => asid().prop_map(Invalidate::AddressSpace),
        1 => Just(Invalidate::Everything),
    ];
    prop_oneof![
        30 => (asid(), page(), any::<bool>()).prop_map(|(a, p, s)| Step::Access(a, p, s)),
        5 => (asid(), page()).prop_map(|(asid, page)| Step::MakeOld(asid, page)),
        2 => (asid(), page()).prop_map(|(asid, page)| Step::MakeYoung(asid, page)),
        1 => asid().prop_map(Step::MakeTableOld),
        3 => (asid(), page(), map).prop_map(|(a, p, m)| Step::Map(a, p, m)),
        2 => (asid(), page(), any::<bool>()).prop_map(|(a, p, c)| Step::MapBlock(a, p, c)),
        3 => forget.prop_map(Step::Forget),
    ]
}

fn any_shape() -> impl Strategy<Value = TlbShape> {
    let any_level = || (0_u32..3, 1_u16..5).prop_map(|(sets, ways)| level(1 << sets, ways));
    let l2 = prop::option::of(any_level());
    let flags = any::<[bool; 2]>();
    let drops = prop::sample::select([Walks::None, Walks::ToPage, Walks::AddressSpace].as_slice());
    let walks = (0_u16..6, drops);
    (any_level(), l2, flags, 0_u32..4, walks).prop_map(|(l1, l2, flags, runs, walks)| {
        let l2 = l2.filter(|l2| l2.entries() >= l1.entries());
        let ([contiguous, caches_invalid], (walk_cache, page_drops)) = (flags, walks);
        TlbShape { l1, l2, contiguous, coalesce: 1 << runs, caches_invalid, walk_cache, page_drops }
    })
}

fn any_caps() -> impl Strategy<Value = Caps> {
    (any::<[bool; 3]>(), 0..3).prop_map(|([af, dirty, nonleaf], ideal)| match ideal {
        0 => Caps { hardware_af: af, hardware_dirty: dirty, nonleaf_af: nonleaf, ..Caps::IDEAL },
        _ => Caps { nonleaf_af: nonleaf, ..Caps::IDEAL },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn long_strings_do_as_lists_do(
        shape in any_shape(),
        caps in any_caps(),
        steps in prop::collection::vec(any_step(), 1..200),
        format in 0..4,
    ) {
        let steps = steps.into_iter();
        match format {
            0 => run::<SmallArm2>(&shape, caps, steps),
            1 => run::<SmallArm4>(&shape, caps, steps),
            2 => run::<SmallX86>(&shape, caps, steps),
            _ => run::<SmallRiscv>(&shape, caps, steps),
        }
    }
}
