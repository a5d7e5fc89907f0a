//! Random sequences of operations and accesses on one table, against an oracle with one entry for
//! each page. The state of each page must be equal after each step. Young and dirty may be wider
//! than the accessed page, but only within a contiguous block; and only whole, aligned, uniform
//! blocks are contiguous.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{Access, BASE, Bits, Decode, FIRST_TABLE, Ground, World, gathered};
use pageout_paging::contig::{
    AccessFlags, Getter, get_and_clear_ptes, set_access_flags, set_pte, set_ptes, wrprotect_ptes,
};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{
    Arm64_4K, Level, Prot, Riscv64, SmallArm2, SmallArm4, SmallRiscv, SmallX86,
};
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{Env, LockedTable, Pfn, Pte, Sound, VirtAddr};
use proptest::prelude::*;
use std::ops::Range;

const ASID: Asid = Asid(7);
const START: VirtAddr = VirtAddr::new(1 << 40);

/// A step. Places are taken modulo the table, and lengths are cut to the operation's limits.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Maps absent pages, as a range or one by one.
    Map {
        at: usize,
        nr: usize,
        write: bool,
        singly: bool,
    },
    Take {
        at: usize,
        nr: usize,
    },
    WrProtect {
        at: usize,
        nr: usize,
    },
    Grant {
        at: usize,
        flags: AccessFlags,
    },
    Young {
        at: usize,
        nr: usize,
        algorithm: YoungAlgorithm,
        walk: bool,
    },
    /// Accesses a page, which hardware may mark in entry `via` of its block.
    Access {
        at: usize,
        via: usize,
        write: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (at, nr) = (0..64_usize, prop_oneof![3 => 1..9_usize, 1 => 1..65_usize]);
    let flags = prop_oneof![
        Just(AccessFlags::Young),
        Just(AccessFlags::YoungDirty),
        Just(AccessFlags::YoungDirtyWrite),
    ];
    let algorithms = prop::sample::select(YoungAlgorithm::ALL.to_vec());
    prop_oneof![
        3 => (at.clone(), nr.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(at, nr, write, singly)| Step::Map { at, nr, write, singly }),
        1 => (at.clone(), nr.clone()).prop_map(|(at, nr)| Step::Take { at, nr }),
        1 => (at.clone(), nr.clone()).prop_map(|(at, nr)| Step::WrProtect { at, nr }),
        2 => (at.clone(), flags).prop_map(|(at, flags)| Step::Grant { at, flags }),
        2 => (at.clone(), nr, algorithms, any::<bool>())
            .prop_map(|(at, nr, algorithm, walk)| Step::Young { at, nr, algorithm, walk }),
        3 => (at, any::<usize>(), any::<bool>())
            .prop_map(|(at, via, write)| Step::Access { at, via, write }),
    ]
}

/// A bit that contiguous blocks may widen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Bit {
    /// True if it was set for this very page.
    must: bool,
    /// True if it was set for a page that shared a block with this one.
    may: bool,
}

impl Bit {
    const SET: Self = Self { must: true, may: true };

    fn allows(self, found: bool) -> bool {
        if found { self.may } else { !self.must }
    }

    fn or(self, other: Self) -> Self {
        Self { must: self.must | other.must, may: self.may | other.may }
    }
}

/// A mapped page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Page {
    write: bool,
    young: Bit,
    dirty: Bit,
}

/// The table, and its expected state. The first `boundary` pages belong to one folio, the others to
/// another. Its frames follow at once, or (`shift`) after a gap of one that misaligns them.
struct Model<F> {
    world: World<F>,
    pages: Vec<Option<Page>>,
    boundary: usize,
    shift: u64,
}

impl<F: Decode> Model<F> {
    /// The number of entries used: the whole table if it is small.
    const USED: usize = if F::PTES < 64 { F::PTES } else { 64 };

    fn new(boundary: usize, shift: u64) -> Self {
        let boundary = boundary % (Self::USED + 1);
        Self { world: World::new(1), pages: vec![None; Self::USED], boundary, shift }
    }

    fn folio(&self, i: usize) -> (Range<usize>, Pfn) {
        match i < self.boundary {
            true => (0..self.boundary, BASE),
            false => (self.boundary..Self::USED, BASE.add(self.shift)),
        }
    }

    fn pfn(&self, i: usize) -> Pfn {
        self.folio(i).1.add(i as u64)
    }

    fn addr(i: usize) -> VirtAddr {
        START.add((i as u64) << F::PAGE_SHIFT)
    }

    /// Returns at most `nr` entries from `at` on for all of which `wanted` holds.
    fn run(at: usize, nr: usize, wanted: impl Fn(usize) -> bool) -> Range<usize> {
        let at = at % Self::USED;
        let end = (at + nr).min(Self::USED);
        at..(at..end).find(|i| !wanted(*i)).unwrap_or(end)
    }

    fn entries(&self) -> Vec<Pte> {
        (0..F::PTES).map(|i| self.world.entry(i)).collect()
    }

    /// Returns the pages that share their young and dirty bits with page `i`, in the current table.
    fn shared(&self, i: usize) -> Range<usize> {
        let start = i - i % F::CONT_PTES;
        if F::is_cont(self.world.entry(i)) { start..start + F::CONT_PTES } else { i..i + 1 }
    }

    fn take_step(&mut self, step: Step) {
        match step {
            Step::Map { at, nr, write, singly } => {
                let folio = self.folio(at % Self::USED).0;
                let absent = |i: usize| self.pages[i].is_none() && folio.contains(&i);
                self.map(Self::run(at, nr, absent), write, singly);
            }
            Step::Take { at, nr } => self.take(Self::run(at, nr, |i| self.pages[i].is_some())),
            Step::WrProtect { at, nr } => {
                self.wrprotect(Self::run(at, nr, |i| self.pages[i].is_some()));
            }
            Step::Grant { at, flags } => self.grant(at % Self::USED, flags),
            Step::Young { at, nr, algorithm, walk } => {
                let folio = self.folio(at % Self::USED).0;
                let present = |i: usize| self.pages[i].is_some() && folio.contains(&i);
                self.young(Self::run(at, nr, present), algorithm, walk);
            }
            Step::Access { at, via, write } => self.access(at % Self::USED, via, write),
        }
        self.widen();
        self.check();
    }

    fn map(&mut self, run: Range<usize>, write: bool, singly: bool) {
        let env = Ground::<Sound, F>::new(&self.world);
        let pt = LockedTable::lock(&env, FIRST_TABLE);
        let prot = Prot { write, ..Prot::READ };
        let leaf = |i: usize| F::leaf(Level::Pte, self.pfn(i), prot);
        let (pages, base) = self.folio(run.start);
        let frames = base.add(pages.start as u64)..base.add(pages.end as u64);
        if singly {
            for i in run.clone() {
                set_pte(&env, &pt, ASID, Self::addr(i), leaf(i), &frames);
            }
        } else {
            set_ptes::<F, _>(pt.table(), run.start, leaf(run.start), run.len());
        }
        let page = Page { write, young: Bit::default(), dirty: Bit::default() };
        self.pages[run].fill(Some(page));
    }

    fn take(&mut self, run: Range<usize>) {
        if run.is_empty() {
            return;
        }
        let env = Ground::<Sound, F>::new(&self.world);
        let pt = LockedTable::lock(&env, FIRST_TABLE);
        let taken = get_and_clear_ptes(&env, &pt, ASID, Self::addr(run.start), run.len());
        let Bits { young, dirty, pfn, .. } = F::bits(taken);
        assert_eq!(pfn, self.pfn(run.start).get());
        let (any_young, any_dirty) = self.any(run.clone());
        assert!(any_young.allows(young) && any_dirty.allows(dirty), "{taken:?} was taken out");
        self.pages[run].fill(None);
    }

    /// Returns the young and dirty bits of any page of `run`.
    fn any(&self, run: Range<usize>) -> (Bit, Bit) {
        let pages = self.pages[run].iter().flatten();
        pages
            .fold(<(Bit, Bit)>::default(), |any, page| (any.0.or(page.young), any.1.or(page.dirty)))
    }

    fn wrprotect(&mut self, run: Range<usize>) {
        if run.is_empty() {
            return;
        }
        let env = Ground::<Sound, F>::new(&self.world);
        let pt = LockedTable::lock(&env, FIRST_TABLE);
        wrprotect_ptes(&env, &pt, ASID, Self::addr(run.start), run.len());
        self.pages[run].iter_mut().flatten().for_each(|page| page.write = false);
    }

    fn grant(&mut self, i: usize, flags: AccessFlags) {
        let Some(page) = &mut self.pages[i] else { return };
        let env = Ground::<Sound, F>::new(&self.world);
        let pt = LockedTable::lock(&env, FIRST_TABLE);
        set_access_flags(&env, &pt, ASID, Self::addr(i), flags);
        assert!(!set_access_flags(&env, &pt, ASID, Self::addr(i), flags), "granted already");
        page.young = Bit::SET;
        if flags != AccessFlags::Young {
            page.dirty = Bit::SET;
        }
        page.write |= flags == AccessFlags::YoungDirtyWrite;
    }

    fn young(&mut self, run: Range<usize>, algorithm: YoungAlgorithm, walk: bool) {
        if run.is_empty() {
            return;
        }
        let env = Ground::<Sound, F>::new(&self.world);
        let pt = LockedTable::lock(&env, FIRST_TABLE);
        let flush = FlushPolicy::uniform(YoungFlush::Nosync);
        let check = YoungCheck { env: &env, algorithm, flush, asid: ASID };
        let young = if walk {
            let (mut i, mut young) = (run.start, false);
            while i < run.end {
                let pte = algorithm.getter().get::<F, _>(env.table(FIRST_TABLE), i);
                let (done, any) = check.clear_flush_young_run(&pt, Self::addr(i), pte, run.end - i);
                (i, young) = (i + done, young | any);
            }
            young
        } else {
            check.test_and_clear_young_ptes(&pt, Self::addr(run.start), run.len())
        };
        assert!(self.any(run.clone()).0.allows(young), "young of {run:?}: {young}");
        for i in run {
            for k in self.shared(i) {
                self.pages[k].as_mut().expect("a block is mapped whole").young = Bit::default();
            }
        }
    }

    fn access(&mut self, i: usize, via: usize, write: bool) {
        let block = self.shared(i);
        let Some(page) = &mut self.pages[i] else { return };
        if write && !page.write {
            return;
        }
        let entry = block.start + via % block.len();
        self.world.plan(&[Access { before: 0, entry, write }], 0);
        self.world.settle();
        page.young = Bit::SET;
        if write {
            page.dirty = Bit::SET;
        }
    }

    /// Allows each page the bits that another page of its block has.
    fn widen(&mut self) {
        for i in 0..Self::USED {
            let block = self.shared(i);
            let (young, dirty) = self.any(block);
            if let Some(page) = &mut self.pages[i] {
                page.young.may |= young.may;
                page.dirty.may |= dirty.may;
            }
        }
    }

    fn check(&self) {
        let entries = self.entries();
        for (i, page) in self.pages.iter().enumerate() {
            let raw = F::read(entries[i], i);
            let bits = F::bits(gathered::<F>(&entries, i));
            let Some(page) = page else {
                assert!(raw.is_none(), "entry {i} is {raw:?}");
                continue;
            };
            assert_eq!((bits.pfn, bits.write), (self.pfn(i).get(), page.write), "entry {i}");
            assert!(page.young.allows(bits.young), "entry {i} young: {}", bits.young);
            assert!(page.dirty.allows(bits.dirty), "entry {i} dirty: {}", bits.dirty);
            let read = Getter::Contpte.get::<F, _>(self.world.table(FIRST_TABLE), i);
            assert_eq!(read, gathered::<F>(&entries, i), "entry {i}");
            if bits.cont {
                self.check_block(&entries, i, bits);
            }
        }
        assert!(entries[Self::USED..].iter().all(|pte| pte.is_none()));
    }

    fn check_block(&self, entries: &[Pte], i: usize, bits: Bits) {
        let block = self.shared(i);
        assert_eq!(bits.pfn % F::CONT_PTES as u64, (i - block.start) as u64, "aligned at {i}");
        let folio = self.folio(i).0;
        assert!(folio.start <= block.start && block.end <= folio.end, "one folio at {i}");
        for k in block {
            let other = F::bits(F::read(entries[k], k));
            let same = (other.cont, other.write, other.rest) == (true, bits.write, bits.rest);
            assert!(same, "entry {k} differs from entry {i}");
        }
    }
}

fn run<F: Decode>(boundary: usize, shift: u64, steps: &[Step]) {
    let mut model = Model::<F>::new(boundary, shift);
    steps.iter().for_each(|step| model.take_step(*step));
}

macro_rules! sequences {
    ($($name:ident: $format:ty;)*) => {proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]
        $(
            #[test]
            fn $name(
                boundary in 0..65_usize,
                shift in 0..2_u64,
                steps in prop::collection::vec(step(), 1..80),
            ) {
                run::<$format>(boundary, shift, &steps);
            }
        )*
    }};
}

sequences! {
    small_x86: SmallX86;
    small_arm_blocks_of_2: SmallArm2;
    small_arm_blocks_of_4: SmallArm4;
    small_riscv: SmallRiscv;
    arm64_4k: Arm64_4K;
    riscv64: Riscv64;
}
