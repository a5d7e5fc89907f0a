//! Several CPUs fault leaves in, split them, share them with children, move, protect and reclaim
//! them, all at once. In the end nothing is in use.

use crate::cpu::{ROOM, RW};
use crate::crowd::{Users, mixed};
use crate::formats::every_algorithm;
use crate::world::{Arena, World, aging, page, pages, tuning};
use pageout_paging::Format;
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{
    Access, Advice, Counter, CpuCtx, Frames, Limits, MemcgId, NewVma, PmdLeaves, Thp, Tuning,
    VmFlags,
};
use std::sync::Barrier;

const LIMITS: Limits = Limits { folios: 256, slots: 50, ..ROOM };
const ROUNDS: u64 = if cfg!(miri) { 20 } else { 400 };
const TIMES: u64 = if cfg!(miri) { 2 } else { 15 };
/// The number of leaves of anonymous memory, and of a file after them.
const LEAVES: u64 = 4;

/// Runs several times, each with an address space that has no page tables yet: those it gets stay.
fn crowd<F: Format>(algorithm: YoungAlgorithm) {
    let splits: u64 = (0..TIMES).map(|_| once::<F>(algorithm)).sum();
    assert!(splits > 0, "leaves are split");
}

/// Returns the number of leaves that were split.
// tidy: long function: five threads that borrow from one scope
fn once<F: Format>(algorithm: YoungAlgorithm) -> u64 {
    let n = F::PTES as u64;
    let tuning = Tuning {
        aging: aging(algorithm),
        thp: Thp::Always,
        pmd_leaves: PmdLeaves::WhereTheyFit,
        ..tuning()
    };
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world: World<'_, F> = arena.world();
    let (mm, file) = (world.process(), world.file_of(F::TABLE_SHIFT as u8));
    let anon = world.anon_at(mm, 0..LEAVES * n, 0);
    world.vma(mm, LEAVES * n..2 * LEAVES * n, RW | VmFlags::SHARED, file, 0);
    let (maps, env) = (&world.maps, &world.env);
    let (users, start) = (Users::new(2), Barrier::new(5));
    std::thread::scope(|scope| {
        for seed in [1, 2] {
            let (users, start) = (&users, &start);
            scope.spawn(move || {
                let (cpu, _user) = (&mut CpuCtx::new(), users.one());
                start.wait();
                for k in 0..ROUNDS {
                    let at = mixed(k * 7 + seed);
                    let access = if at.is_multiple_of(3) { Access::Write } else { Access::Read };
                    let addr = page::<F>(at / 4 % (2 * LEAVES * n));
                    let _ = maps.on(env, cpu, tuning).handle_fault(mm, addr, access);
                }
            });
        }
        scope.spawn(|| {
            let cpu = &mut CpuCtx::new();
            start.wait();
            while users.are_running() {
                maps.on(env, cpu, tuning).try_to_free_pages();
                std::thread::yield_now();
            }
        });
        scope.spawn(|| {
            let cpu = &mut CpuCtx::new();
            start.wait();
            while users.are_running() {
                let root = env.alloc_table().expect("tables enough");
                let forked = maps.on(env, cpu, tuning).fork(mm, root, Asid(1));
                if let Ok(child) = forked {
                    let first = page::<F>(1);
                    let _ = maps.on(env, cpu, tuning).handle_fault(child, first, Access::Write);
                    maps.on(env, cpu, tuning).exit_mm(child).expect("it lives");
                }
                env.free_table(root);
            }
        });
        scope.spawn(|| {
            let cpu = &mut CpuCtx::new();
            let (away, mut k) = (pages::<F>(2 * LEAVES * n..(2 * LEAVES + 1) * n), 0);
            start.wait();
            while users.are_running() {
                k += 1;
                let first = mixed(k) % LEAVES * n;
                let (part, whole) =
                    (pages::<F>(first + 1..first + 3), pages::<F>(first..first + n));
                let engine = &mut maps.on(env, cpu, tuning);
                let range = if k % 2 == 0 { &part } else { &whole };
                let _ = match mixed(k) / 64 % 5 {
                    0 => engine.mprotect(mm, range, VmFlags::READ),
                    1 => engine.madvise(mm, range, Advice::DontNeed),
                    2 => engine.madvise(mm, range, Advice::PageOut),
                    3 => engine.mlock(mm, range).and_then(|()| engine.munlock(mm, range)),
                    _ => {
                        engine.mremap(mm, &whole, &pages::<F>(2 * LEAVES * n..(2 * LEAVES + 1) * n))
                    }
                };
                let _ = engine.munmap_range(mm, &away);
                let _ = engine.mprotect(mm, &whole, RW);
                let (range, pgoff) = (whole, first);
                let _ = engine.mmap(&NewVma { mm, range, flags: RW, mapping: anon, pgoff });
            }
        });
    });
    let vmstat = maps.memcg(MemcgId::ROOT).expect("it is online").vmstat();
    let splits = vmstat.get(Counter::ThpSplitPmd);
    world.exit(mm);
    assert_eq!((world.tables.in_use(), world.maps.tables_in_reserve()), (0, 0), "page tables");
    for index in 0..LEAVES * n {
        if let Some(id) = world.engine().filemap_get_folio(file, index).expect("it lives") {
            world.engine().filemap_remove_folio(id).expect("nothing else uses it");
            world.engine().release(id, 2).expect("the caller has it");
        }
    }
    while world.env.free_pages() < LIMITS.frames {
        let freed = world.engine().try_to_free_pages();
        assert!(freed > 0, "what only the swap cache holds is reclaimed");
    }
    assert_eq!(world.maps.free_slots(), LIMITS.slots);
    splits
}

#[test]
fn nothing_is_left_of_leaves_on_small_x86() {
    every_algorithm(crowd::<SmallX86>);
}

#[test]
fn nothing_is_left_of_leaves_on_small_arm64() {
    every_algorithm(crowd::<SmallArm4>);
}
