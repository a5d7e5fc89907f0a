//! A process on several threads: stores, advice, protection and children at once. Accounting is
//! exact afterwards; debug builds check the order of locks on the way.

use crate::cpu::ROOM;
use crate::world::{Arena, pages, tuning};
use pageout_paging::Format;
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_paging::walk::TableFrames;
use pageout_reclaim::{Access, Advice, CpuCtx, Fault, VmFlags};
use std::thread::scope;

const RW: VmFlags = crate::cpu::RW;
const ROUNDS: u64 = 300;

fn a_busy_process_leaves_nothing_behind<F: Format>() {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..24, 2);
    let (maps, env) = (&world.maps, &world.env);
    scope(|threads| {
        for seed in 0..2 {
            threads.spawn(move || {
                let cpu = &mut CpuCtx::new();
                for round in 0..8 * ROUNDS {
                    let addr = crate::world::page::<F>((round * 7 + seed * 11) % 24);
                    let access = if round % 3 == 0 { Access::Read } else { Access::Write };
                    let fault = maps.on(env, cpu, tuning()).handle_fault(mm, addr, access);
                    assert!(matches!(fault, Fault::Done(_) | Fault::BadAddress), "{fault:?}");
                }
            });
        }
        threads.spawn(move || {
            let cpu = &mut CpuCtx::new();
            for round in 0..ROUNDS {
                let range = pages::<F>(round % 5..18 + round % 7);
                let advice = [Advice::PageOut, Advice::Free, Advice::Cold, Advice::DontNeed];
                let advice = advice[round as usize % 4];
                maps.on(env, cpu, tuning()).madvise(mm, &range, advice).expect("good advice");
                let prot = if round % 2 == 0 { VmFlags::READ } else { RW };
                maps.on(env, cpu, tuning()).mprotect(mm, &pages::<F>(3..9), prot).expect("room");
            }
        });
        threads.spawn(move || {
            let (cpu, mut supply) = (&mut CpuCtx::new(), &env.hardware.tables);
            for _ in 0..ROUNDS / 2 {
                let root = supply.take().expect("a root table");
                let child = maps.on(env, cpu, tuning()).fork(mm, root, Asid(1)).expect("room");
                maps.on(env, cpu, tuning()).exit_mm(child).expect("it lives");
                supply.give_back(root);
            }
        });
    });
    world.exit(mm);
    world.all_is_free_but(0);
}

#[test]
fn small_arm64() {
    a_busy_process_leaves_nothing_behind::<SmallArm4>();
}

#[test]
fn small_x86() {
    a_busy_process_leaves_nothing_behind::<SmallX86>();
}
