//! Threads of two processes use shared memory while others reclaim it, move it to other frames and
//! switch the lists. When all are done, each page is in one place, and all can be freed.

use crate::cpu::{ROOM, SHARED};
use crate::crowd::{Users, mixed};
use crate::migrate::Anywhere;
use crate::world::{Arena, page, tuning};
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_paging::{Format, Pfn};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{Access, Counter, CpuCtx, Fault, Frames, Limits, MemcgId, MmId, SwapSlot};

const ROUNDS: u64 = if cfg!(miri) { 20 } else { 4000 };
const PAGES: u64 = 48;

// tidy: long function: five threads that borrow from one scope
fn crowd<F: Format>(order: u8) {
    let mut arena = Arena::new::<F>(&Limits { frames: 128, slots: 128, ..ROOM });
    let mut world = arena.world::<F>();
    let shmem = world.shmem_of(order);
    let processes: [MmId; 2] = [0, 1].map(|_| {
        let mm = world.process();
        world.vma(mm, 0..PAGES, SHARED, shmem, 0);
        mm
    });
    let (maps, env) = (&world.maps, &world.env);
    let users = Users::new(2);
    std::thread::scope(|scope| {
        for (seed, mm) in (1..).zip(processes) {
            let users = &users;
            scope.spawn(move || {
                let (cpu, _user) = (&mut CpuCtx::new(), users.one());
                for n in 0..ROUNDS {
                    let access = if n % 3 == 0 { Access::Write } else { Access::Read };
                    let at = page::<F>(mixed(n * 7 + seed) % PAGES);
                    let mut fault = || maps.on(env, cpu, tuning()).handle_fault(mm, at, access);
                    let mut became = fault();
                    // A folio that reclaim is writing to swap is waited for.
                    while let Fault::Pending(_) = became {
                        std::thread::yield_now();
                        became = fault();
                    }
                    assert!(matches!(became, Fault::Done(_)), "{became:?}");
                }
            });
        }
        scope.spawn(|| {
            let cpu = &mut CpuCtx::new();
            while users.are_running() {
                maps.on(env, cpu, tuning()).try_to_free_pages();
                std::thread::yield_now();
            }
        });
        scope.spawn(|| {
            let (cpu, all) = (&mut CpuCtx::new(), Pfn::new(0)..Pfn::new(128));
            while users.are_running() {
                maps.on(env, cpu, tuning()).migrate_range(all.clone(), &mut Anywhere(env));
                std::thread::yield_now();
            }
        });
        scope.spawn(|| {
            let (cpu, mut caps) = (&mut CpuCtx::new(), LruGenCaps::empty());
            while users.are_running() {
                caps ^= LruGenCaps::CORE;
                maps.on(env, cpu, tuning()).set_lru_gen_caps(caps);
                std::thread::yield_now();
            }
        });
    });
    let slots = (0..128).map(SwapSlot);
    let swapped: Vec<_> =
        slots.filter_map(|slot| maps.slot_shmem(slot).expect("in range")).collect();
    let mut resident = 0;
    for index in 0..PAGES {
        let found = maps
            .on(env, &mut world.cpu, tuning())
            .filemap_get_folio(shmem, index)
            .expect("it lives");
        found.into_iter().for_each(|id| {
            maps.on(env, &mut world.cpu, tuning()).release(id, 1).expect("the caller has it");
            resident += 1;
        });
        let places = usize::from(found.is_some())
            + swapped.iter().filter(|place| **place == (shmem, index)).count();
        assert!(places <= 1, "page {index} is in one place");
    }
    let vmstat = maps.memcg(MemcgId::ROOT).expect("it is online").vmstat();
    assert_eq!(vmstat.get(Counter::NrShmem), resident);
    processes.into_iter().for_each(|mm| world.exit(mm));
    world.end_shmem(shmem);
    assert_eq!(world.env.free_pages(), 128);
    assert_eq!(world.maps.free_slots(), 128);
    assert_eq!(world.maps.memcg(MemcgId::ROOT).expect("it is online").usage(), 0);
}

#[test]
fn nothing_is_lost_in_a_crowd_of_single_pages() {
    crowd::<SmallX86>(0);
    crowd::<SmallArm4>(0);
}

#[test]
fn nothing_is_lost_in_a_crowd_of_large_folios() {
    crowd::<SmallX86>(2);
    crowd::<SmallArm4>(2);
}
