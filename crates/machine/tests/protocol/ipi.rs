//! Invalidations by interrupts: the cores that are interrupted or spared, and the time it takes.

use crate::ground::{Ground, asid, at, held, hidden, page, pages, riscv, x86};
use pageout_machine::platform::{InvalidationPrices, IpiPrices};
use pageout_machine::{CoreId, Machine, Setup, Task, TaskSpec, Time};
use pageout_paging::mmu::{Barrier, Invalidate};
use pageout_paging::pte::{Riscv64, X86_64};
use pageout_paging::tlb::YoungFlush;
use pageout_paging::{Format, Mmu};

type F = X86_64;

const US: Time = Time::from_ns(1000);
const NONE: [usize; 0] = [];

fn prices<F: Format>(machine: &Machine<'_, F>) -> IpiPrices {
    match machine.prices().invalidation {
        InvalidationPrices::Ipi(prices) => prices,
        InvalidationPrices::Broadcast(_) => unreachable!("x86 and riscv interrupt"),
    }
}

fn tagged(cores: u16) -> Setup {
    x86(cores, |shape| assert_eq!(shape.tag_slots, 6, "as Linux"))
}

fn use_page<F: Format>(ground: &Ground<F>, task: &Task<'_, '_, F>, space: u32, i: usize) {
    ground.load(task, space);
    task.access(at::<F>(i), false).expect("mapped");
}

fn flush<F: Format>(task: &Task<'_, '_, F>, what: Invalidate) {
    task.barrier(Barrier::Publish);
    task.invalidate(what);
    task.barrier(Barrier::Complete);
}

/// Lets program tasks on cores 1 and up use page 3 of `spaces` in turn, then spend their time in
/// user mode. The task of core 0 acts at 100 µs, after which they end.
fn with_programs<F: Format>(
    ground: &Ground<F>,
    machine: &Machine<'_, F>,
    spaces: &[u32],
    act: impl Fn(&Task<'_, '_, F>),
) {
    let mut tasks = vec![
        TaskSpec::new("acts", |task: &Task<'_, '_, F>| {
            task.wait_until(US * 100);
            act(task);
        })
        .on(CoreId(0)),
    ];
    for (i, space) in spaces.iter().enumerate() {
        let program = move |task: &Task<'_, '_, F>| {
            use_page(ground, task, *space, 3);
            while task.now() < US * 200 {
                task.spend(US);
                task.cond_resched();
            }
        };
        let program = TaskSpec::new(format!("program {i}"), program);
        tasks.push(program.on(CoreId(i as u16 + 1)));
    }
    machine.run(tasks);
}

#[test]
fn cores_that_run_the_address_space_are_interrupted_and_no_others() {
    let ground = Ground::<F>::new(3);
    let machine = ground.machine(tagged(6));
    with_programs(&ground, &machine, &[0, 0, 1, 0], |task| flush(task, page(0, 3)));
    let report = machine.report();
    assert_eq!((report.counts.rounds, report.counts.interrupts), (1, 3));
    for (core, left) in [(1, 0), (2, 0), (3, 1), (4, 0)] {
        assert_eq!(held(&machine, core, 0).len() + held(&machine, core, 1).len(), left, "{core}");
    }
}

/// The case is a forked child before it runs: reclaim finds its entries through the reverse map.
#[test]
fn an_address_space_that_no_core_loaded_has_no_one_to_tell() {
    for setup in [tagged(3), riscv(3)] {
        let ground = Ground::<F>::new(2);
        let machine = ground.machine(setup);
        with_programs(&ground, &machine, &[0, 0], |task| {
            flush(task, page(1, 3));
            flush(task, Invalidate::AddressSpace(asid(1)));
            task.defer(asid(1));
            flush(task, Invalidate::Everything);
            // The address space runs, and is interrupted from then on.
            use_page(&ground, task, 1, 3);
            flush(task, page(1, 3));
            assert_eq!(held(task.machine(), 0, 1), NONE);
        });
        assert_eq!(machine.report().counts.rounds, 1, "for everything");
    }
}

#[test]
fn a_round_takes_sending_the_way_the_handler_and_the_acknowledgement() {
    for targets in [1, 3] {
        let ground = Ground::<F>::new(1);
        let machine = ground.machine(tagged(6));
        let spaces = vec![0; targets];
        with_programs(&ground, &machine, &spaces, |task| {
            let p = prices(task.machine());
            let begun = task.now();
            flush(task, pages(0, 0, 5));
            // The last interrupt is sent after the others, so its answer is the last to come.
            let sent = p.ipi_send * targets as u64;
            let handled = p.ipi_latency + p.ipi_handler + p.flush_entry * 5 + p.ipi_ack;
            assert_eq!(task.now() - begun, sent + handled);
        });
        let p = prices(&machine);
        let report = machine.report();
        let stolen: Time = report.cores.iter().map(|core| core.stolen).sum();
        assert_eq!(stolen, (p.ipi_handler + p.flush_entry * 5) * targets as u64);
    }
}

#[test]
fn interrupts_take_time_of_the_interrupted() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(tagged(2));
    let took = std::cell::Cell::new(Time::ZERO);
    let victim = |task: &Task<'_, '_, F>| {
        ground.load(task, 0);
        let begun = task.now();
        for _ in 0..1000 {
            task.spend(US);
            task.cond_resched();
        }
        took.set(task.now() - begun);
    };
    let issuer = |task: &Task<'_, '_, F>| {
        task.spend(US * 100);
        (0..10).for_each(|i| flush(task, page(0, i)));
    };
    let report =
        machine.run(vec![TaskSpec::new("victim", victim), TaskSpec::new("issuer", issuer)]);
    let p = prices(&machine);
    assert_eq!(took.get(), US * 1000 + (p.ipi_handler + p.flush_entry) * 10);
    assert_eq!(report.cores[0].stolen, (p.ipi_handler + p.flush_entry) * 10);
}

#[test]
fn an_idle_core_is_lazy_is_spared_and_flushes_before_it_goes_on() {
    for lazy in [true, false] {
        let ground = Ground::<F>::new(1);
        let machine = ground.machine(x86(2, |shape| shape.lazy = lazy));
        let sleeper = |task: &Task<'_, '_, F>| {
            use_page(&ground, task, 0, 3);
            task.wait_until(US * 500);
            assert_eq!(held(task.machine(), 1, 0), NONE, "nothing survives the flush");
            task.access(at::<F>(3), false).expect("mapped");
        };
        let flusher = |task: &Task<'_, '_, F>| {
            ground.load(task, 0);
            task.spend(US * 100);
            task.cond_resched();
            assert_eq!(held(task.machine(), 1, 0), [3]);
            flush(task, page(0, 3));
            let left: &[usize] = if lazy { &[3] } else { &[] };
            assert_eq!(held(task.machine(), 1, 0), left);
        };
        let report = machine.run(vec![
            TaskSpec::new("flusher", flusher).on(CoreId(0)),
            TaskSpec::new("sleeper", sleeper).on(CoreId(1)),
        ]);
        assert_eq!(report.counts.interrupts, u64::from(!lazy));
        assert_eq!(report.counts.spared_lazy, u64::from(lazy));
    }
}

#[test]
fn a_lazy_core_that_missed_nothing_keeps_what_it_has() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(tagged(2));
    machine.run(vec![TaskSpec::new("sleeper", |task: &Task<'_, '_, F>| {
        use_page(&ground, task, 0, 3);
        task.wait_until(US * 500);
        assert_eq!(held(task.machine(), 0, 0), [3]);
    })]);
}

#[test]
fn entries_under_a_tag_survive_a_switch_unless_a_flush_was_missed() {
    for flushed in [false, true] {
        let ground = Ground::<F>::new(2);
        let machine = ground.machine(tagged(2));
        let (other, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
        use_page(&ground, &program, 0, 3);
        ground.load(&program, 1);
        other.spend(program.now());
        if flushed {
            flush(&other, page(0, 3));
            assert_eq!(machine.report().counts.interrupts, 0, "it runs something else");
        }
        program.spend(other.now());
        ground.load(&program, 0);
        let left: &[usize] = if flushed { &[] } else { &[3] };
        assert_eq!(held(&machine, 1, 0), left);
    }
}

#[test]
fn the_seventh_address_space_takes_a_tag_and_its_entries() {
    let ground = Ground::<F>::new(8);
    let machine = ground.machine(tagged(1));
    let task = machine.alone(CoreId(0));
    // A page of its own for each, so that none takes another's place in the TLB.
    let page_of = |space: u32| 3 + space as usize;
    for space in 0..6 {
        use_page(&ground, &task, space, page_of(space));
    }
    for space in 0..6 {
        assert_eq!(held(&machine, 0, space), [page_of(space)], "six have tags");
    }
    use_page(&ground, &task, 6, page_of(6));
    assert_eq!(held(&machine, 0, 0), NONE, "the first in turn lost its own");
    assert_eq!(held(&machine, 0, 1), [page_of(1)]);
    use_page(&ground, &task, 0, page_of(0));
    assert_eq!(held(&machine, 0, 1), NONE, "the next in turn gives way to it");
    assert_eq!(held(&machine, 0, 6), [page_of(6)]);
}

#[test]
fn without_tags_a_switch_flushes_all() {
    let ground = Ground::<F>::new(2);
    let machine = ground.machine(x86(2, |shape| shape.tag_slots = 0));
    let (aging, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    use_page(&ground, &program, 0, 3);
    aging.spend(program.now());
    ground.age(&aging, 0, 3, YoungFlush::None);
    program.spend(US);
    program.access(at::<F>(3), false).expect("mapped");
    assert_eq!(hidden(&machine), 1);
    ground.load(&program, 1);
    assert!(machine.held(CoreId(1)).is_empty());
    use_page(&ground, &program, 0, 3);
    assert_eq!(hidden(&machine), 1, "the switch is the bound");
    assert!(ground.is_young(0, 3));
}

#[test]
fn clearing_the_young_bit_without_a_flush_moves_no_generation() {
    let ground = Ground::<F>::new(2);
    let machine = ground.machine(tagged(2));
    let (aging, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    use_page(&ground, &program, 0, 3);
    for round in 1..=4 {
        aging.spend(US);
        ground.age(&aging, 0, 3, YoungFlush::None);
        use_page(&ground, &program, 1, 3);
        use_page(&ground, &program, 0, 3);
        assert_eq!(hidden(&machine), round, "switches away and back are no bound");
    }
}

#[test]
fn riscv_does_as_x86() {
    let ground = Ground::<Riscv64>::new(2);
    let machine = ground.machine(riscv(6));
    with_programs(&ground, &machine, &[0, 0, 1], |task| {
        assert!(ground.age(task, 0, 3, YoungFlush::None));
        flush(task, page(0, 3));
    });
    assert_eq!(machine.report().counts.interrupts, 2);
    assert_eq!(held(&machine, 1, 0), NONE);
    assert_eq!(held(&machine, 3, 1), [3]);
}

#[test]
fn above_the_ceiling_the_address_space_is_flushed() {
    for (nr, full) in [(33, 0), (34, 1)] {
        let ground = Ground::<F>::new(1);
        let machine = ground.machine(tagged(1));
        let task = machine.alone(CoreId(0));
        use_page(&ground, &task, 0, 100);
        let full_before = machine.report().counts.local_full;
        flush(&task, pages(0, 0, nr));
        let counts = machine.report().counts;
        assert_eq!(counts.local_full - full_before, full);
        assert_eq!(counts.local_entries, if full == 1 { 0 } else { 33 });
        assert_eq!(held(&machine, 0, 0).is_empty(), full == 1);
    }
}

#[test]
fn cores_that_left_an_address_space_leave_its_set_once_a_second() {
    let ground = Ground::<F>::new(2);
    let machine = ground.machine(tagged(2));
    let (flusher, other) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    use_page(&ground, &other, 0, 3);
    ground.load(&other, 1);
    ground.load(&flusher, 0);
    let interrupts = |after: Time| {
        flusher.spend(after);
        let before = machine.report().counts.interrupts;
        flush(&flusher, page(0, 3));
        machine.report().counts.interrupts - before
    };
    assert_eq!(interrupts(US), 0);
    assert!(flusher.remote(asid(0)), "the set still has it");
    assert_eq!(interrupts(US * 2_000_000), 1);
    assert_eq!(machine.report().counts.trimmed, 1);
    assert!(!flusher.remote(asid(0)));
    assert_eq!(interrupts(US * 2_000_000), 0);
}

#[test]
fn a_deferred_flush_is_one_round_and_leaves_no_entry() {
    let ground = Ground::<F>::new(3);
    let machine = ground.machine(tagged(6));
    with_programs(&ground, &machine, &[0, 1, 2, 1], |task| {
        for i in [3, 3, 4] {
            task.defer(asid(0));
            task.defer(asid(1));
            assert_eq!(held(task.machine(), 1, 0), [3], "{i} waits");
        }
        flush(task, Invalidate::Everything);
        assert_eq!(held(task.machine(), 1, 0), NONE);
        assert_eq!(held(task.machine(), 2, 1), NONE);
        assert_eq!(held(task.machine(), 4, 1), NONE);
        assert_eq!(held(task.machine(), 3, 2), [3], "nothing of it was put off");
    });
    let counts = machine.report().counts;
    assert_eq!((counts.rounds, counts.interrupts), (1, 3));
}

#[test]
fn a_deferred_flush_reaches_who_switched_away_meanwhile() {
    let ground = Ground::<F>::new(2);
    let machine = ground.machine(tagged(2));
    let (reclaim, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    use_page(&ground, &program, 0, 3);
    reclaim.spend(program.now());
    reclaim.defer(asid(0));
    program.spend(US);
    ground.load(&program, 1);
    assert_eq!(held(&machine, 1, 0), [3], "under another tag");
    reclaim.spend(US);
    flush(&reclaim, Invalidate::Everything);
    program.spend(US * 100);
    ground.load(&program, 0);
    assert_eq!(held(&machine, 1, 0), NONE, "no entry survives to be used");
}

#[test]
fn everything_without_a_deferral_is_everything() {
    let ground = Ground::<F>::new(2);
    let machine = ground.machine(tagged(4));
    with_programs(&ground, &machine, &[0, 1], |task| {
        flush(task, Invalidate::Everything);
        assert_eq!(held(task.machine(), 1, 0), NONE);
        assert_eq!(held(task.machine(), 2, 1), NONE);
    });
}

#[test]
fn nothing_is_remote_for_the_only_core() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(tagged(2));
    let (one, two) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    assert!(!one.remote(asid(0)), "unknown so far");
    ground.load(&one, 0);
    assert!(!one.remote(asid(0)));
    assert!(two.remote(asid(0)));
    ground.load(&two, 0);
    assert!(one.remote(asid(0)));
}

#[test]
fn rounds_of_several_cores_at_once_all_end() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(tagged(16));
    let tasks = (0..16_u16).map(|i| {
        let ground = &ground;
        TaskSpec::new(format!("task {i}"), move |task: &Task<'_, '_, F>| {
            ground.load(task, 0);
            for k in 0..50 {
                task.access(at::<F>(k), false).expect("mapped");
                flush(task, page(0, k));
                let me = held(task.machine(), i, 0);
                assert!(!me.contains(&k), "flushed here too");
            }
        })
        .on(CoreId(i))
    });
    let report = machine.run(tasks.collect());
    assert!(report.counts.rounds > 16 * 40, "{:?}", report.counts);
    assert!(report.counts.interrupts > report.counts.rounds * 12, "{:?}", report.counts);
}
