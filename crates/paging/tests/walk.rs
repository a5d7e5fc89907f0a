//! Descent, spans, and the steps of rmap walks.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{BASE, Event, FIRST_TABLE, Ground, World};
use pageout_paging::contig::Getter;
use pageout_paging::pte::{Prot, SmallArm4, SmallX86, SwapEntry, SwapKind};
use pageout_paging::walk::{
    Descent, Hit, LockWhen, MappedWalk, Match, RmapTarget, Span, TableFrames, descend, make_table,
    spans,
};
use pageout_paging::{Env, Format, Level, Pfn, Pte, Sound, Table, VirtAddr, VirtRange};
use std::cell::Cell;

const ROOT: Pfn = FIRST_TABLE;
/// The number of pages that one PTE table maps here. A PMD table maps eight times as many, and so
/// on.
const PTES: u64 = 8;

const TABLES: u64 = 40;

/// An address space in tables of 8.
struct Space<F> {
    world: World<F>,
    tables: Cell<u64>,
}

fn page(number: u64) -> VirtAddr {
    VirtAddr::new(number << 12)
}

fn pages(range: std::ops::Range<u64>) -> VirtRange {
    page(range.start)..page(range.end)
}

impl<F: Format> Space<F> {
    fn new() -> Self {
        Self { world: World::new(TABLES as usize), tables: Cell::new(1) }
    }

    fn env(&self) -> Ground<'_, Sound, F> {
        Ground::new(&self.world)
    }

    /// Returns the frame of the table of `level` for page `number`, made if it is missing.
    fn table(&self, number: u64, level: Level) -> Pfn {
        let mut frames = FIRST_TABLE.add(self.tables.get())..FIRST_TABLE.add(TABLES);
        let made = make_table(&self.env(), ROOT, page(number), level, &mut frames);
        self.tables.set(frames.start.offset_from(FIRST_TABLE));
        made.expect("no leaf in the way")
    }

    fn set(&self, number: u64, level: Level, pte: Pte) {
        let table = self.env().table(self.table(number, level));
        table.set(F::index(level, page(number)), pte);
    }

    /// Maps page `number` to the folio's page of that number.
    fn map(&self, number: u64) {
        let leaf = F::leaf(Level::Pte, BASE.add(number), Prot::READ);
        self.set(number, Level::Pte, leaf);
    }

    /// Returns the target of a walk for the folio whose page n, of `nr_pages`, is page n of the
    /// address space.
    fn target(&self, range: std::ops::Range<u64>, nr_pages: usize) -> RmapTarget {
        RmapTarget {
            root: ROOT,
            range: pages(range),
            pfn: BASE,
            nr_pages,
            matches: Match::Mapped,
            lock: LockWhen::Plausible,
            getter: Getter::Contpte,
        }
    }

    /// Returns the pages that the walk hits, and the table locks taken, all of them released.
    fn walk(&self, target: RmapTarget) -> (Vec<u64>, Vec<Pfn>) {
        let env = self.env();
        let before = self.world.events().len();
        let mut walk = MappedWalk::new(&env, target);
        let mut hits = Vec::new();
        while let Some(hit) = walk.next_hit() {
            let (Hit::Pte(addr, _) | Hit::Pmd(addr)) = hit;
            hits.push(addr.get() >> 12);
        }
        let events = self.world.events().split_off(before);
        let locks = events.chunks(2).map(|pair| match pair {
            [Event::Lock(lock), Event::Unlock(unlock)] if lock == unlock => *lock,
            _ => panic!("one lock at a time, each released: {events:?}"),
        });
        (hits, locks.collect())
    }
}

#[test]
fn absent_upper_levels_are_stepped_over() {
    let space = Space::<SmallX86>::new();
    let mapped = [5, PTES, 64 + 3, 512 + 1, 4095];
    for number in mapped {
        space.map(number);
    }
    let before = space.world.counts().loads;
    let (hits, locks) = space.walk(space.target(0..4096, 4096));
    assert_eq!(hits, mapped);
    assert_eq!(locks.len(), mapped.len());
    // 4096 pages are not read one by one: only five tables of 8 and the path to them are.
    assert!(space.world.counts().loads - before < 200);
}

#[test]
fn crossing_a_table_drops_its_lock_and_says_so() {
    let space = Space::<SmallX86>::new();
    (4..20).for_each(|number| space.map(number));
    let tables = [4, 8, 16].map(|number| space.table(number, Level::Pte));
    let (hits, locks) = space.walk(space.target(4..20, 20));
    assert_eq!(hits, (4..20).collect::<Vec<_>>());
    assert_eq!(locks, tables);

    let env = space.env();
    let mut walk = MappedWalk::new(&env, space.target(4..20, 20));
    for number in 4..20 {
        let leaf = SmallX86::leaf(Level::Pte, BASE.add(number), Prot::READ);
        assert_eq!(walk.next_hit(), Some(Hit::Pte(page(number), leaf)));
        assert_eq!(walk.crossed_table(), number >= 8, "page {number}");
        let locked = walk.locked().table().load(number as usize % 8);
        assert_eq!(locked, leaf);
    }
    assert_eq!(walk.next_hit(), None);
    assert_eq!(walk.next_hit(), None);
}

#[test]
fn ending_at_a_table_s_end_crosses_nothing() {
    let space = Space::<SmallX86>::new();
    (4..8).for_each(|number| space.map(number));
    space.map(8);
    let env = space.env();
    let mut walk = MappedWalk::new(&env, space.target(4..8, 64));
    assert_eq!(std::iter::from_fn(|| walk.next_hit()).count(), 4);
    assert!(!walk.crossed_table());
}

#[test]
fn a_table_without_a_match_is_not_locked_unless_always() {
    let space = Space::<SmallX86>::new();
    // Another folio's pages are in the first table, nothing is in the second, and ours are in the
    // third.
    for number in 0..8 {
        let other = SmallX86::leaf(Level::Pte, BASE.add(1000 + number), Prot::READ);
        space.set(number, Level::Pte, other);
    }
    let first = space.table(0, Level::Pte);
    let second = space.table(8, Level::Pte);
    space.map(18);
    let third = space.table(18, Level::Pte);
    assert_eq!(space.walk(space.target(0..24, 24)), (vec![18], vec![third]));
    let mut always = space.target(0..24, 24);
    always.lock = LockWhen::Always;
    assert_eq!(space.walk(always), (vec![18], vec![first, second, third]));
}

/// Between hits there may be tables without a match. After the last hit the walk crosses into no
/// further table.
#[test]
fn passing_a_table_without_a_match_crosses_it() {
    let space = Space::<SmallX86>::new();
    let other = SmallX86::leaf(Level::Pte, BASE.add(1000), Prot::READ);
    space.set(3, Level::Pte, other);
    space.map(8);
    space.set(16, Level::Pte, other);
    let env = space.env();
    let crossed = |range, hits| {
        let mut walk = MappedWalk::new(&env, space.target(range, 64));
        assert_eq!(std::iter::from_fn(|| walk.next_hit()).count(), hits);
        walk.crossed_table()
    };
    assert!(crossed(0..9, 1), "before the hit");
    assert!(crossed(0..24, 1), "and stays so");
    assert!(!crossed(8..16, 1), "in one table");
    assert!(!crossed(0..8, 0), "the only table");
    assert!(crossed(0..16, 1) && crossed(8..24, 1));
}

#[test]
fn only_the_folio_s_pages_within_the_range_match() {
    let space = Space::<SmallX86>::new();
    (0..16).for_each(|number| space.map(number));
    // The folio is pages 3 to 9 of those mapped; the range ends before it does.
    let mut target = space.target(0..8, 7);
    target.pfn = BASE.add(3);
    assert_eq!(space.walk(target.clone()).0, [3, 4, 5, 6, 7]);
    target.range = pages(0..16);
    assert_eq!(space.walk(target.clone()).0, (3..10).collect::<Vec<_>>());
    target.range = pages(5..5);
    assert_eq!(space.walk(target).0, [0; 0]);
}

#[test]
fn prot_none_pages_match() {
    let space = Space::<SmallX86>::new();
    space.set(2, Level::Pte, SmallX86::leaf(Level::Pte, BASE.add(2), Prot::NONE));
    assert_eq!(space.walk(space.target(0..8, 8)).0, [2]);
}

/// Makes one entry of each kind that holds a frame, for our folio's pages 0 to 5, and one of a swap
/// slot.
fn special_entries<F: Format>() -> Space<F> {
    let space = Space::<F>::new();
    space.map(0);
    let kinds = [
        SwapKind::DevicePrivate,
        SwapKind::DeviceExclusive,
        SwapKind::Migration,
        SwapKind::Hwpoison,
        SwapKind::Device(2),
    ];
    for (number, kind) in (1..).zip(kinds) {
        let swap = SwapEntry::new(kind, BASE.get() + number).expect("it fits");
        space.set(number, Level::Pte, F::swap(swap));
    }
    space
}

#[test]
fn device_entries_match_as_mapped_and_migration_entries_in_their_mode() {
    fn both<F: Format>() {
        let space = special_entries::<F>();
        let mapped = space.target(0..8, 8);
        assert_eq!(space.walk(mapped.clone()).0, [0, 1, 2]);
        let migration = RmapTarget { matches: Match::Migration, ..mapped };
        assert_eq!(space.walk(migration.clone()).0, [3]);
        let of_another_folio = RmapTarget { pfn: BASE.add(4), ..migration };
        assert_eq!(space.walk(of_another_folio).0, [0; 0]);
    }
    both::<SmallX86>();
    both::<SmallArm4>();
}

#[test]
fn a_pmd_leaf_is_one_hit_and_the_last() {
    let space = Space::<SmallX86>::new();
    let leaf = SmallX86::leaf(Level::Pmd, BASE, Prot::READ);
    space.set(8, Level::Pmd, leaf);
    let pmd_table = space.table(8, Level::Pmd);
    let target = space.target(8..16, 8);
    assert_eq!(space.walk(target.clone()), (vec![8], vec![pmd_table]));
    // A page after the leaf is none of this folio's, even if it lies in the range.
    space.map(17);
    let longer = space.target(8..24, 24);
    assert_eq!(space.walk(longer.clone()).0, [8]);
    // A walk for migration entries, or for another folio, steps over the leaf.
    let migration = RmapTarget { matches: Match::Migration, ..target };
    assert_eq!(space.walk(migration).0, [0; 0]);
    let another = RmapTarget { pfn: BASE.add(17), nr_pages: 1, ..longer };
    assert_eq!(space.walk(another).0, [17]);
}

#[test]
fn skip_counts_entries_as_visited() {
    let space = Space::<SmallX86>::new();
    (0..24).for_each(|number| space.map(number));
    let env = space.env();
    let mut walk = MappedWalk::new(&env, space.target(0..24, 24));
    let mut hits = Vec::new();
    // It skips 3 of the first table, its last 5, all 8 of the next, then one by one.
    for nr in [3, 5, 8, 1, 7] {
        let Some(Hit::Pte(addr, _)) = walk.next_hit() else { panic!("a hit after {hits:?}") };
        hits.push(addr.get() >> 12);
        walk.skip(nr);
    }
    assert_eq!(hits, [0, 3, 8, 16, 17]);
    assert_eq!(walk.next_hit(), None);
}

#[test]
fn hits_are_read_by_the_walk_s_getter() {
    let space = Space::<SmallArm4>::new();
    for number in 0..4 {
        let leaf = SmallArm4::leaf(Level::Pte, BASE.add(number), Prot::WRITE);
        let pte = SmallArm4::mkcont(leaf);
        space.set(number, Level::Pte, if number == 3 { SmallArm4::mkyoung(pte) } else { pte });
    }
    for (getter, young) in [(Getter::Contpte, true), (Getter::Raw, false)] {
        let env = space.env();
        let target = RmapTarget { getter, ..space.target(0..4, 4) };
        let Some(Hit::Pte(_, pte)) = MappedWalk::new(&env, target).next_hit() else {
            panic!("page 0 is mapped")
        };
        assert_eq!(SmallArm4::is_young(pte), young, "{getter:?}");
    }
}

#[test]
fn descent_says_where_it_ended() {
    let space = Space::<SmallX86>::new();
    let at = |number| descend(&space.env(), ROOT, page(number));
    assert_eq!(at(0), Descent::Absent(Level::Pgd));
    let pud = space.table(0, Level::Pud);
    assert_eq!(at(0), Descent::Absent(Level::Pud));
    let pmd = space.table(0, Level::Pmd);
    assert_eq!(at(0), Descent::Absent(Level::Pmd));
    let pte = space.table(0, Level::Pte);
    assert_eq!(at(0), Descent::PteTable(pte, pmd));
    space.set(8, Level::Pmd, SmallX86::leaf(Level::Pmd, BASE, Prot::READ));
    assert_eq!(at(8), Descent::PmdLeaf(pmd));
    assert_eq!(space.table(0, Level::Pud), pud);
}

/// A supply of one frame. While it supplies it, another CPU fills the entry that the table was for.
struct Rival<'s> {
    space: &'s Space<SmallX86>,
    first: Pte,
    given_back: Option<Pfn>,
}

impl TableFrames for Rival<'_> {
    fn take(&mut self) -> Option<Pfn> {
        let pmd = self.space.table(0, Level::Pmd);
        self.space.env().table(pmd).set(SmallX86::index(Level::Pmd, page(0)), self.first);
        Some(FIRST_TABLE.add(20))
    }

    fn give_back(&mut self, frame: Pfn) {
        assert_eq!(self.given_back.replace(frame), None);
    }
}

#[test]
fn of_two_cpus_that_make_a_table_one_gives_its_frame_back() {
    let theirs = FIRST_TABLE.add(21);
    let leaf = SmallX86::leaf(Level::Pmd, BASE, Prot::READ);
    for (first, made) in [(SmallX86::table(theirs), Some(theirs)), (leaf, None)] {
        let space = Space::<SmallX86>::new();
        space.table(0, Level::Pmd);
        let mut rival = Rival { space: &space, first, given_back: None };
        assert_eq!(make_table(&space.env(), ROOT, page(0), Level::Pte, &mut rival), made);
        assert_eq!(rival.given_back, Some(FIRST_TABLE.add(20)));
    }
}

#[test]
fn make_table_makes_what_misses_and_no_more() {
    let space = Space::<SmallX86>::new();
    let env = space.env();
    let frames = |from| FIRST_TABLE.add(from)..FIRST_TABLE.add(3);
    let none = FIRST_TABLE..FIRST_TABLE;
    // Three tables are needed and there are two: those two stay.
    assert_eq!(make_table(&env, ROOT, page(0), Level::Pte, &mut frames(1)), None);
    assert_eq!(descend(&env, ROOT, page(0)), Descent::Absent(Level::Pmd));
    let pmd = make_table(&env, ROOT, page(0), Level::Pmd, &mut none.clone());
    assert_eq!(pmd, Some(FIRST_TABLE.add(2)));
    let pte = FIRST_TABLE.add(3);
    let made = make_table(&env, ROOT, page(0), Level::Pte, &mut (pte..pte.add(1)));
    assert_eq!(made, Some(pte));
    assert_eq!(make_table(&env, ROOT, page(7), Level::Pte, &mut none.clone()), Some(pte));
    // A leaf is in the way of a table below it, but not of its own level's table.
    space.set(8, Level::Pmd, SmallX86::leaf(Level::Pmd, BASE, Prot::READ));
    let mut plenty = FIRST_TABLE.add(4)..FIRST_TABLE.add(9);
    assert_eq!(make_table(&env, ROOT, page(8), Level::Pte, &mut plenty), None);
    assert_eq!(make_table(&env, ROOT, page(8), Level::Pmd, &mut plenty), pmd);
    assert_eq!(make_table(&env, ROOT, page(8), Level::Pgd, &mut plenty), Some(ROOT));
}

#[test]
fn spans_name_tables_leaves_and_what_lies_ahead() {
    let space = Space::<SmallX86>::new();
    let first = space.table(0, Level::Pte);
    let second = space.table(8, Level::Pte);
    space.set(16, Level::Pmd, SmallX86::leaf(Level::Pmd, BASE, Prot::READ));
    let pmd = space.table(16, Level::Pmd);
    let far = space.table(600, Level::Pte);
    let found: Vec<Span> = spans(&space.env(), ROOT, pages(3..602)).collect();
    let ptes = |frame, ahead, range| Span::Ptes { frame, ahead, range: pages(range) };
    let leaf = Span::PmdLeaf { frame: pmd, range: pages(16..24) };
    let expected = [
        ptes(first, Some(second), 3..8),
        ptes(second, None, 8..16),
        leaf,
        ptes(far, None, 600..602),
    ];
    assert_eq!(found, expected);
    assert_eq!(spans(&space.env(), ROOT, pages(24..600)).count(), 0);
    assert_eq!(spans(&space.env(), ROOT, pages(5..5)).count(), 0);
    let inside: Vec<Span> = spans(&space.env(), ROOT, pages(2..5)).collect();
    assert_eq!(inside, [ptes(first, Some(second), 2..5)]);
}

#[test]
fn spans_end_at_the_top_of_the_address_space() {
    let space = Space::<SmallX86>::new();
    let top = VirtAddr::new(u64::MAX);
    assert_eq!(spans(&space.env(), ROOT, VirtAddr::new(u64::MAX << 12)..top).count(), 0);
}
