//! Walks of page tables: their visits, counts, clears and promotions.

use crate::formats::on_every_format;
use crate::world::{Arena, LIMITS, World, aging, tuning};
use pageout_paging::pte::{Arm64_4K, SmallArm4, SmallX86, X86_64};
use pageout_paging::walk::pmd_table;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Level, Pfn, Table};
use pageout_reclaim::mglru::{LruGenCaps, MmStats};
use pageout_reclaim::{
    FolioId, Limits, Lock, LruList, MappingId, MemcgId, MmId, Recency, Tuning, VmFlags,
};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Limits with room for filters too.
pub(crate) const FILTERS: Limits = Limits { filters: 2, memcgs: 2, ..LIMITS };

impl<F: Format> World<'_, F> {
    /// Uses generations and walks page tables, but not by the bits of upper levels.
    pub(crate) fn use_generations(&mut self) {
        self.set_caps(LruGenCaps::CORE | LruGenCaps::MM_WALK);
    }

    pub(crate) fn set_caps(&mut self, caps: LruGenCaps) {
        self.engine().set_lru_gen_caps(caps);
    }

    /// Ages a cgroup from generation `seq` on. Returns true if that opened one.
    pub(crate) fn age_memcg(
        &mut self,
        memcg: MemcgId,
        seq: u64,
        swappiness: u8,
        force: bool,
        algorithm: YoungAlgorithm,
    ) -> bool {
        self.tuned(Tuning { aging: aging(algorithm), ..tuning() })
            .try_to_inc_max_seq(memcg, seq, swappiness, force)
            .expect("it is online")
    }

    /// Ages the root cgroup, with only the processes that ran. Returns the walk's counts.
    pub(crate) fn age(&mut self, seq: u64, algorithm: YoungAlgorithm) -> MmStats {
        let before = self.maps.mm_stats(MemcgId::ROOT).expect("it is online");
        assert!(self.age_memcg(MemcgId::ROOT, seq, 60, false, algorithm), "opens {}", seq + 1);
        let after = self.maps.mm_stats(MemcgId::ROOT).expect("it is online");
        MmStats {
            leaf_total: after.leaf_total - before.leaf_total,
            leaf_young: after.leaf_young - before.leaf_young,
            nonleaf_found: after.nonleaf_found - before.nonleaf_found,
            nonleaf_added: after.nonleaf_added - before.nonleaf_added,
        }
    }

    /// Makes a folio on the list of the oldest generation.
    pub(crate) fn listed(&mut self, mapping: MappingId, order: u8, index: u64) -> FolioId {
        let folio = self.folio(mapping, order, index);
        self.engine().lru_add(folio).expect("it lives");
        folio
    }

    pub(crate) fn recency(&self, folio: FolioId) -> Recency {
        self.maps.folio(folio).expect("it lives").recency()
    }

    pub(crate) fn generation(&self, folio: FolioId) -> Option<usize> {
        self.recency(folio).generation()
    }

    /// Makes folios of one order that a process maps from page `at.start` on, all on the list.
    pub(crate) fn mapped(
        &mut self,
        mm: MmId,
        file: MappingId,
        order: u8,
        at: Range<u64>,
    ) -> Vec<FolioId> {
        let vma = self.vma(mm, at.clone(), VmFlags::READ, file, at.start);
        let each = at.step_by(1 << order).collect::<Vec<_>>().into_iter();
        let folios: Vec<_> = each.map(|index| self.listed(file, order, index)).collect();
        folios.iter().for_each(|folio| self.map(vma, *folio));
        folios
    }
}

/// Returns the lock of a page table.
fn lock_of<'a, F>(world: &World<'a, F>, table: Pfn) -> &'a Lock {
    world.env.hardware.tables.lock(table)
}

/// Returns the young entries that an algorithm counts if `page` of the folio at `of` was touched.
/// They are all of the run that begins with the page or with its contiguous block, or those of one
/// check.
fn counted<F: Format>(
    world: &World<'_, F>,
    mm: MmId,
    of: Range<u64>,
    page: u64,
    by: YoungAlgorithm,
) -> u64 {
    let block = if F::is_cont(world.entry(mm, page)) { F::CONT_PTES as u64 } else { 1 };
    match by {
        YoungAlgorithm::PerEntry => 1,
        YoungAlgorithm::Batched | YoungAlgorithm::Line => of.end - page / block * block,
    }
}

fn what_was_used_twice_is_promoted_and_what_was_not_is_left<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    world.use_generations();
    let (mm, anon) = (world.process(), world.anon());
    let folios = world.mapped(mm, anon, 2, 0..16);
    let small = world.mapped(mm, anon, 0, 16..18);
    let young = |world: &World<'_, F>| {
        let of = |at: Range<u64>, page| counted(world, mm, at, page, algorithm);
        of(0..4, 1) + of(8..12, 11) + of(16..17, 16)
    };
    let sizes = |world: &World<'_, F>| {
        let size = |list| world.maps.lru_size(MemcgId::ROOT, list).expect("it is online");
        (size(LruList::ActiveAnon), size(LruList::InactiveAnon))
    };
    let (used, others) = ([folios[0], folios[2], small[0]], [folios[1], folios[3], small[1]]);
    let seen = Recency::REFERENCED.union(Recency::WORKINGSET);
    // New anonymous memory is in the second youngest generation.
    assert!(folios.iter().chain(&small).all(|folio| world.generation(*folio) == Some(2)));
    for (seq, mark, generation, size) in
        [(3, Recency::REFERENCED, 2, (0, 18)), (4, Recency::WORKINGSET, 0, (9, 9))]
    {
        world.maps.lru_gen_use_mm(mm).expect("it lives");
        [1, 11, 16].into_iter().for_each(|page| world.touch(mm, page));
        world.forget();
        let stats = world.age(seq, algorithm);
        assert_eq!((stats.leaf_total, stats.leaf_young), (18, young(&world)));
        assert_eq!(world.young(mm, 0..18), []);
        assert_eq!(world.env.mmu.invalidations(), [], "nothing is flushed");
        for folio in used {
            let recency = world.recency(folio);
            assert!(recency.contains(mark), "{recency:?}");
            assert_eq!(recency.generation(), Some(generation));
        }
        for folio in others {
            assert!(!world.recency(folio).intersects(seen));
            assert_eq!(world.generation(folio), Some(2));
        }
        assert_eq!(sizes(&world), size, "the two youngest count as active");
    }
}

fn a_table_is_locked_once_for_all_vmas_in_it<F: Format>(algorithm: YoungAlgorithm) {
    let n = F::PTES as u64;
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    for at in [n..n + 2, n + 3..n + 4, n + 6..n + 7, 2 * n + 1..2 * n + 2] {
        world.mapped(mm, file, 0, at);
    }
    let tables = [n, 2 * n + 1].map(|page| world.pte_table(mm, page));
    world.touch(mm, n + 3);
    world.forget();
    let stats = world.age(3, algorithm);
    assert_eq!(tables.map(|table| world.locked(table)), [1, 1]);
    assert_eq!((stats.leaf_total, stats.leaf_young), (5, 1), "pages of VMAs alone count");
    assert_eq!(stats.nonleaf_found, 2);
}

on_every_format!(
    what_was_used_twice_is_promoted_and_what_was_not_is_left,
    a_table_is_locked_once_for_all_vmas_in_it,
);

#[test]
fn absent_tables_count_one_leaf_entry_each() {
    let n = SmallX86::PTES as u64;
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    // Of two PMD tables the second does not exist: its range has no entries to count.
    let vma = world.vma(mm, 0..2 * n * n, VmFlags::READ, file, 0);
    let folio = world.listed(file, 0, n + 1);
    world.map(vma, folio);
    let stats = world.age(3, YoungAlgorithm::Batched);
    assert_eq!(stats.leaf_total, n - 1 + n);
}

#[test]
fn vmas_whose_accesses_do_not_matter_are_passed() {
    let flags = |more| VmFlags::READ | more;
    let plain = flags(VmFlags::empty());
    // (flags, true for a file's VMA, swappiness, true if it is walked)
    for (flags, is_file, swappiness, walked) in [
        (plain, true, 60, true),
        (plain, false, 60, true),
        (VmFlags::WRITE, true, 60, true),
        (VmFlags::EXEC, true, 60, true),
        (VmFlags::empty(), true, 60, false),
        (flags(VmFlags::SEQ_READ), true, 60, false),
        (flags(VmFlags::RAND_READ), true, 60, false),
        (flags(VmFlags::NOREUSE), true, 60, false),
        (flags(VmFlags::LOCKED), true, 60, false),
        (flags(VmFlags::LOCKED), false, 60, false),
        (plain, true, 0, true),
        (plain, false, 0, false),
        (plain, true, 200, true),
        (plain, true, 201, false),
        (plain, false, 201, true),
    ] {
        let mut arena = Arena::new::<SmallX86>(&LIMITS);
        let mut world = arena.world::<SmallX86>();
        world.use_generations();
        let mm = world.process();
        let mapping = if is_file { world.file() } else { world.anon() };
        let vma = world.vma(mm, 3..5, flags, mapping, 3);
        let folio = world.listed(mapping, 0, 3);
        world.map(vma, folio);
        world.touch(mm, 3);
        assert!(world.age_memcg(MemcgId::ROOT, 3, swappiness, false, YoungAlgorithm::Line));
        let stats = world.maps.mm_stats(MemcgId::ROOT).expect("it is online");
        let expected = if walked { (2, 1) } else { (0, 0) };
        let what = format!("{flags:?}, file {is_file}, swappiness {swappiness}");
        assert_eq!((stats.leaf_total, stats.leaf_young), expected, "{what}");
        assert_eq!(world.young(mm, 3..5).len(), usize::from(!walked), "{what}");
    }
}

#[test]
fn only_folios_in_the_cgroups_generations_are_asked() {
    let mut arena = Arena::new::<SmallX86>(&FILTERS);
    let mut world = arena.world::<SmallX86>();
    world.use_generations();
    let memcg = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    let (mm, file) = (world.process(), world.file());
    world.engine().set_memcg(mm, memcg).expect("it lives");
    let vma = world.vma(mm, 0..3, VmFlags::READ, file, 0);
    let [ours, theirs, isolated] = [0, 1, 2].map(|index| world.folio(file, 0, index));
    for (folio, to) in [(ours, memcg), (theirs, MemcgId::ROOT), (isolated, memcg)] {
        world.engine().charge(folio, to).expect("no limit");
        if folio != isolated {
            world.engine().lru_add(folio).expect("it lives");
        }
        world.map(vma, folio);
    }
    (0..3).for_each(|page| world.touch(mm, page));
    assert!(world.age_memcg(memcg, 3, 60, false, YoungAlgorithm::Batched));
    assert_eq!(world.young(mm, 0..3), [1, 2]);
    let stats = world.maps.mm_stats(memcg).expect("it is online");
    assert_eq!((stats.leaf_total, stats.leaf_young), (3, 1));
    assert_eq!(world.maps.mm_stats(MemcgId::ROOT).expect("it is online"), MmStats::default());
}

#[test]
fn dirty_entries_found_young_make_their_folio_dirty() {
    for (is_file, becomes) in [(true, true), (false, false)] {
        let mut arena = Arena::new::<SmallX86>(&LIMITS);
        let mut world = arena.world::<SmallX86>();
        world.use_generations();
        let mm = world.process();
        let mapping = if is_file { world.file() } else { world.anon() };
        let [used, old] = world.mapped(mm, mapping, 1, 0..4)[..] else { panic!("two folios") };
        [1, 3].into_iter().for_each(|page| world.change(mm, page, SmallX86::mkdirty));
        world.touch(mm, 0);
        world.age(3, YoungAlgorithm::Batched);
        let is_dirty = |folio| {
            let guard = world.maps.folio(folio).expect("it lives").try_lock();
            guard.expect("no one holds it").is_dirty()
        };
        let dirty = [used, old].map(is_dirty);
        assert_eq!(dirty, [becomes, false], "anonymous memory without a slot is dirty anyway");
    }
}

#[test]
fn a_leaf_counts_once_and_is_cleared_under_the_lock_of_its_table() {
    for algorithm in YoungAlgorithm::ALL {
        let mut arena = Arena::new::<SmallArm4>(&LIMITS);
        let mut world = arena.world::<SmallArm4>();
        world.use_generations();
        let (mm, anon) = (world.process(), world.anon());
        let vma = world.vma(mm, 8..32, VmFlags::READ, anon, 8);
        let leaves = [8, 16, 24].map(|index| world.listed(anon, 3, index));
        leaves.into_iter().for_each(|leaf| world.map_pmd(vma, leaf));
        let (table, ..) = world.place(mm, 8).expect("mapped");
        for seq in [3, 4] {
            world.maps.lru_gen_use_mm(mm).expect("it lives");
            [8, 24].into_iter().for_each(|page| world.touch(mm, page));
            world.forget();
            let stats = world.age(seq, algorithm);
            assert_eq!((stats.leaf_total, stats.leaf_young), (3, 2));
            assert_eq!(world.locked(table), 1);
            assert_eq!(world.young(mm, 8..32), []);
        }
        assert_eq!(leaves.map(|leaf| world.generation(leaf)), [Some(0), Some(2), Some(0)]);
        // The table's lock is taken: the leaves are left for another time.
        world.maps.lru_gen_use_mm(mm).expect("it lives");
        world.touch(mm, 8);
        let guard = lock_of(&world, table).try_write().expect("it is free");
        assert_eq!(world.age(5, algorithm).leaf_young, 0);
        drop(guard);
        assert!(!world.young(mm, 8..9).is_empty());
    }
}

#[test]
fn a_table_locked_by_someone_else_counts_as_worth_walking() {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    world.mapped(mm, file, 0, 0..4);
    world.touch(mm, 0);
    let lock = lock_of(&world, world.pte_table(mm, 0));
    let guard = lock.try_write().expect("it is free");
    let stats = world.age(3, YoungAlgorithm::Batched);
    drop(guard);
    let expected = MmStats { nonleaf_found: 1, nonleaf_added: 1, ..MmStats::default() };
    assert_eq!(stats, expected);
    assert_eq!(world.young(mm, 0..4), [0]);
}

/// Makes a process that maps two tables: all of the first in folios of 16 pages, and two pages of
/// the second.
fn dense_and_sparse<F: Format>(world: &mut World<'_, F>) -> MmId {
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    let n = F::PTES as u64;
    let vma = world.vma(mm, 0..2 * n, VmFlags::READ, file, 0);
    for index in (0..n).step_by(16).chain([n]) {
        let folio = world.listed(file, 4, index);
        world.map(vma, folio);
    }
    mm
}

const DENSE: Limits = Limits { folios: 64, ..FILTERS };

#[test]
fn tables_are_entered_that_were_worth_it_last_time() {
    let n = X86_64::PTES as u64;
    let mut arena = Arena::new::<X86_64>(&DENSE);
    let mut world = arena.world::<X86_64>();
    let mm = dense_and_sparse(&mut world);
    let mut age = |seq, dense: bool, force| {
        world.maps.lru_gen_use_mm(mm).expect("it lives");
        (0..n).filter(|_| dense).for_each(|page| world.touch(mm, page));
        world.touch(mm, n);
        let before = world.maps.mm_stats(MemcgId::ROOT).expect("it is online");
        assert!(world.age_memcg(MemcgId::ROOT, seq, 60, force, YoungAlgorithm::Line));
        let after = world.maps.mm_stats(MemcgId::ROOT).expect("it is online");
        let found = after.nonleaf_found - before.nonleaf_found;
        (found, after.nonleaf_added - before.nonleaf_added)
    };
    assert_eq!(age(3, true, false), (2, 1), "a new address space is walked through");
    assert_eq!(age(4, true, false), (1, 1), "the dense one is in the filter");
    assert_eq!(age(5, false, false), (1, 0), "it was entered, but is worth it no more");
    assert_eq!(age(6, true, false), (0, 0), "nothing is in the filter");
    assert_eq!(age(7, true, true), (2, 1), "forced");
    assert_eq!(age(8, true, false), (1, 1));
}

#[test]
fn per_entry_finds_contiguous_tables_not_worth_it_and_batches_do() {
    for (algorithm, worth) in
        [(YoungAlgorithm::PerEntry, 0), (YoungAlgorithm::Batched, 1), (YoungAlgorithm::Line, 1)]
    {
        let n = Arm64_4K::PTES as u64;
        let mut arena = Arena::new::<Arm64_4K>(&DENSE);
        let mut world = arena.world::<Arm64_4K>();
        let mm = dense_and_sparse(&mut world);
        assert!(Arm64_4K::is_cont(world.entry(mm, 0)));
        (0..n).for_each(|page| world.touch(mm, page));
        let stats = world.age(3, algorithm);
        let young = if worth == 0 { n / 16 } else { n };
        assert_eq!((stats.leaf_young, stats.nonleaf_added), (young, worth), "{algorithm:?}");
    }
}

#[test]
fn missing_filters_name_every_table() {
    let mut arena = Arena::new::<X86_64>(&Limits { filters: 0, ..DENSE });
    let mut world = arena.world::<X86_64>();
    let mm = dense_and_sparse(&mut world);
    for seq in 3..6 {
        world.maps.lru_gen_use_mm(mm).expect("it lives");
        assert_eq!(world.age(seq, YoungAlgorithm::Line).nonleaf_found, 2);
    }
}

#[test]
fn tables_behind_old_entries_are_passed_where_hardware_marks_them() {
    let page = SmallX86::PTES as u64;
    // (switched on, done by hardware, mirrored by a secondary MMU, true if the table is skipped)
    for (on, hardware, mirrored, passed) in [
        (true, true, false, true),
        (false, true, false, false),
        (true, false, false, false),
        (true, true, true, false),
    ] {
        let mut arena = Arena::new::<SmallX86>(&LIMITS);
        let mut world = arena.world::<SmallX86>();
        let mut caps = LruGenCaps::all();
        caps.set(LruGenCaps::NONLEAF_YOUNG, on);
        world.set_caps(caps);
        world.env.mmu.nonleaf_af.store(hardware, Relaxed);
        let (mm, file) = (world.process(), world.file());
        world.mapped(mm, file, 0, page..page + 4);
        if mirrored {
            world.attach(mm, []);
        }
        let mut found = Vec::new();
        for seq in 3..7 {
            world.maps.lru_gen_use_mm(mm).expect("it lives");
            if seq == 6 {
                // Hardware walks through the entry.
                let addr = crate::world::page::<SmallX86>(page);
                let table =
                    pmd_table(&world.env, world.maps.mm(mm).expect("it lives").root(), addr);
                let table = world.env.hardware.table::<SmallX86>(table.expect("mapped"));
                let i = SmallX86::index(Level::Pmd, addr);
                table.set(i, SmallX86::mkyoung_table(table.load(i)));
            }
            found.push(world.age(seq, YoungAlgorithm::Batched).nonleaf_found);
        }
        // The first walk is forced, and leaves the entry as it was made: young.
        assert_eq!(found, if passed { [1, 1, 0, 1] } else { [1, 1, 1, 1] });
    }
}

#[test]
fn what_only_a_secondary_mmu_used_is_found() {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    world.mapped(mm, file, 0, 0..4);
    world.attach(mm, [2]);
    let stats = world.age(3, YoungAlgorithm::Line);
    assert_eq!((stats.leaf_total, stats.leaf_young), (4, 1));
    assert_eq!(world.secondary(mm).asked().len(), 4, "each present page");
}

#[test]
fn a_walk_that_pauses_finds_what_one_that_does_not_finds() {
    let walk = |pauses: bool| {
        let mut arena = Arena::new::<SmallX86>(&LIMITS);
        let mut world = arena.world::<SmallX86>();
        world.use_generations();
        let (mm, file) = (world.process(), world.file());
        let vma = world.vma(mm, 3..400, VmFlags::READ, file, 0);
        world.mapped(mm, file, 0, 450..451);
        for index in [0, 60, 61, 200, 396] {
            let folio = world.listed(file, 0, index);
            world.map(vma, folio);
            world.touch(mm, 3 + index);
        }
        world.env.mmu.need_resched.store(pauses, Relaxed);
        let stats = world.age(3, YoungAlgorithm::Batched);
        assert_eq!(world.young(mm, 0..512), []);
        (stats, holds(&world, 5))
    };
    let (stats, nr) = walk(false);
    assert_eq!((stats.leaf_young, nr), (5, 1));
    assert_eq!(walk(true), (stats, 6), "a pause after each PMD table");
}

/// Returns the number of times that the walk of one process held its mmap lock. A walk checks if
/// others wait for the CPU at the end of each PMD table, and after each hold.
fn holds<F>(world: &World<'_, F>, pmd_tables: u64) -> u64 {
    world.env.mmu.resched_asked.load(Relaxed) - pmd_tables
}

#[test]
fn a_walk_pauses_when_it_has_moved_as_many_folios_as_are_handed_in_at_once() {
    const BATCH: u64 = 4096;
    const MANY: Limits = Limits { frames: 4200, folios: 4200, ..LIMITS };
    for (moved, nr) in [(BATCH - 1, 1), (BATCH, 2)] {
        let mut arena = Arena::new::<X86_64>(&MANY);
        let mut world = arena.world::<X86_64>();
        world.use_generations();
        let (mm, anon) = (world.process(), world.anon());
        let folios = world.mapped(mm, anon, 0, 0..moved);
        // This page is in a second PMD table.
        let next = 1 << 18;
        world.mapped(mm, anon, 0, next..next + 1);
        // The first use marks the folios, and the second moves them.
        for (seq, generation, nr) in [(3, 2, 1), (4, 0, nr)] {
            world.maps.lru_gen_use_mm(mm).expect("it lives");
            (0..moved).for_each(|page| world.touch(mm, page));
            world.env.mmu.resched_asked.store(0, Relaxed);
            let stats = world.age(seq, YoungAlgorithm::Batched);
            assert_eq!((stats.leaf_young, holds(&world, 2)), (moved, nr));
            assert_eq!(world.generation(folios[0]), Some(generation));
        }
    }
}

#[test]
fn nothing_is_walked_where_that_is_off_or_hardware_does_not_help() {
    for (caps, software) in [(LruGenCaps::CORE, false), (LruGenCaps::all(), true)] {
        let mut arena = Arena::new::<SmallX86>(&LIMITS);
        let mut world = arena.world::<SmallX86>();
        world.set_caps(caps);
        world.env.mmu.software_af.store(software, Relaxed);
        let (mm, file) = (world.process(), world.file());
        world.mapped(mm, file, 0, 0..4);
        world.touch(mm, 1);
        for seq in [3, 4, 5] {
            assert_eq!(world.age(seq, YoungAlgorithm::Batched), MmStats::default());
            assert!(
                !world.age_memcg(MemcgId::ROOT, seq, 60, true, YoungAlgorithm::Batched),
                "open by now"
            );
        }
        assert_eq!(world.young(mm, 0..4), [1]);
    }
}

#[test]
fn lazily_freed_memory_written_again_is_dirty() {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    world.use_generations();
    let (mm, anon) = (world.process(), world.anon());
    let folio = world.mapped(mm, anon, 0, 0..1)[0];
    let guard = world.maps.folio(folio).expect("it lives").try_lock().expect("no one holds it");
    assert!(world.engine().lazyfree(&guard, folio).expect("it lives"));
    drop(guard);
    world.change(mm, 0, |pte| SmallX86::mkdirty(SmallX86::mkyoung(pte)));
    world.age(3, YoungAlgorithm::Batched);
    assert!(
        world.maps.folio(folio).expect("it lives").try_lock().expect("no one holds it").is_dirty()
    );
}
