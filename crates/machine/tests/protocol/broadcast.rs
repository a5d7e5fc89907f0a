//! Invalidations that hardware broadcasts: barriers, buffers, identifiers, prices.

use crate::ground::{Ground, arm64, asid, at, held, hidden, page, pages};
use pageout_machine::platform::{BroadcastPrices, InvalidationPrices};
use pageout_machine::{CoreId, Machine, Setup, Task, TaskSpec, Time, Transfer};
use pageout_paging::mmu::{Barrier, Invalidate};
use pageout_paging::pte::Arm64_4K;
use pageout_paging::tlb::YoungFlush;
use pageout_paging::{Format, Mmu, Table};

type F = Arm64_4K;

const NS: Time = Time::from_ns(1);

fn prices(machine: &Machine<'_, F>) -> BroadcastPrices {
    match machine.prices().invalidation {
        InvalidationPrices::Broadcast(prices) => prices,
        InvalidationPrices::Ipi(_) => unreachable!("arm64 broadcasts"),
    }
}

/// Returns the time that something takes of a task's core.
fn takes(task: &Task<'_, '_, F>, act: impl FnOnce()) -> Time {
    let begun = task.now();
    act();
    task.now() - begun
}

/// Returns a setup whose cores hold back `hold` invalidations.
fn holding(cores: u16, hold: u16) -> Setup {
    arm64(cores, |shape| shape.hold = hold)
}

fn use_page(ground: &Ground<F>, task: &Task<'_, '_, F>, i: usize) {
    ground.load(task, 0);
    task.access(at::<F>(i), false).expect("mapped");
}

/// Lets the task's core see everything that was to come by `other`'s time and long after.
fn catch_up(task: &Task<'_, '_, F>, other: &Task<'_, '_, F>) {
    task.spend((other.now() + NS * 100_000).since(task.now()));
    task.cond_resched();
}

#[test]
fn what_was_issued_takes_effect_by_itself_where_nothing_is_held_back() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(holding(2, 0));
    let (aging, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    use_page(&ground, &program, 3);
    program.spend(NS * 10_000);
    aging.spend(program.now());
    assert!(ground.age(&aging, 0, 3, YoungFlush::Nosync));
    let issued = aging.now();
    program.spend(issued.since(program.now()));
    program.access(at::<F>(3), false).expect("mapped");
    assert_eq!(hidden(&machine), 1, "it is on its way");
    program.spend(prices(&machine).propagation);
    program.access(at::<F>(3), false).expect("mapped");
    assert_eq!(hidden(&machine), 1, "it has arrived");
    let ended = machine.report().hidden;
    assert_eq!(ended.ended(), 1);
    assert!(ended.longest() <= prices(&machine).propagation + NS, "{}", ended.longest());
}

#[test]
fn a_held_back_invalidation_hides_until_its_issuer_s_barrier_and_no_other() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(holding(3, 8));
    let tasks = [0, 1, 2].map(|core| machine.alone(CoreId(core)));
    let [aging, program, other] = &tasks;
    use_page(&ground, program, 3);
    aging.spend(program.now());
    assert!(ground.age(aging, 0, 3, YoungFlush::Nosync));
    for round in 1..=3 {
        catch_up(program, aging);
        program.access(at::<F>(3), false).expect("mapped");
        assert_eq!(hidden(&machine), round);
        // Barriers of other cores, the program's included, with something of their own to wait for.
        for core in [other, program] {
            catch_up(core, program);
            core.invalidate(page(0, 100));
            core.barrier(Barrier::Complete);
        }
    }
    assert_eq!(held(&machine, 1, 0), [3], "only the issuer's barrier completes it");
    catch_up(aging, program);
    aging.barrier(Barrier::Complete);
    catch_up(program, aging);
    program.access(at::<F>(3), false).expect("mapped");
    assert_eq!(hidden(&machine), 3);
    assert!(ground.is_young(0, 3));
}

#[test]
fn a_held_back_invalidation_hides_until_the_buffer_overflows() {
    let hold = 8;
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(holding(3, hold));
    let tasks = [0, 1, 2].map(|core| machine.alone(CoreId(core)));
    let [aging, program, other] = &tasks;
    use_page(&ground, program, 3);
    aging.spend(program.now());
    assert!(ground.age(aging, 0, 3, YoungFlush::Nosync));
    for i in 1..=usize::from(hold) {
        assert_eq!(held(&machine, 1, 0), [3], "{i} are held");
        catch_up(other, aging);
        other.invalidate(page(0, 100 + i));
        catch_up(program, other);
    }
    assert_eq!(held(&machine, 1, 0), [0_usize; 0], "the oldest was applied");
}

#[test]
fn the_issuer_s_context_switch_completes_what_it_issued() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(holding(2, 8));
    let program = |task: &Task<'_, '_, F>| {
        use_page(&ground, task, 3);
        task.wait_until(NS * 50_000);
        assert_eq!(held(task.machine(), 1, 0), [3], "held back");
        task.wait_until(NS * 150_000);
        assert_eq!(held(task.machine(), 1, 0), [0_usize; 0], "completed by the issuer's switch");
    };
    let aging = |task: &Task<'_, '_, F>| {
        task.spend(NS * 20_000);
        assert!(ground.age(task, 0, 3, YoungFlush::Nosync));
        task.spend(NS * 80_000);
        task.wait_until(NS * 200_000);
    };
    machine.run(vec![
        TaskSpec::new("aging", aging).on(CoreId(0)),
        TaskSpec::new("program", program).on(CoreId(1)),
    ]);
}

#[test]
fn a_barrier_takes_longer_with_cores_and_with_what_is_outstanding() {
    let cost = |cores: u16, issued: usize| {
        let ground = Ground::<F>::new(1);
        let machine = ground.machine(holding(cores, 0));
        let task = machine.alone(CoreId(0));
        ground.load(&task, 0);
        (0..issued).for_each(|i| task.invalidate(page(0, i)));
        takes(&task, || task.barrier(Barrier::Complete))
    };
    let ground = Ground::<F>::new(1);
    let p = prices(&ground.machine(holding(1, 0)));
    assert_eq!(cost(1, 0), p.dsb_idle);
    assert_eq!(cost(100, 0), p.dsb_idle, "nothing was issued");
    for cores in [1, 2, 32, 256] {
        for issued in [1, 2, 16] {
            let under_way = p.propagation.ps() / p.tlbi_issue.ps().max(1) + 1;
            let outstanding = (issued as u64).min(under_way);
            let price = p.dsb_base
                + p.dsb_per_core * u64::from(cores - 1)
                + p.dsb_per_outstanding * outstanding;
            assert_eq!(cost(cores, issued), price.max(p.propagation), "{cores}, {issued}");
        }
    }
    assert!(cost(256, 1) > cost(2, 1));
    assert!(cost(32, 3) > cost(32, 1));
}

#[test]
fn a_barrier_waits_for_device_accesses_of_its_own_core_where_told() {
    for waits in [false, true] {
        let ground = Ground::<F>::new(1);
        let machine = ground.machine(arm64(2, |shape| shape.waits_for_devices = waits));
        let (here, elsewhere) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
        ground.load(&here, 0);
        elsewhere.io(Transfer { bytes: 4096, write: true });
        let free = takes(&here, || here.barrier(Barrier::Complete));
        assert_eq!(free, prices(&machine).dsb_idle, "another core's access");
        for issue in [false, true] {
            here.device_access();
            let done = here.now() + prices(&machine).device_access;
            if issue {
                here.invalidate(page(0, 1));
            }
            here.barrier(Barrier::Complete);
            assert_eq!(here.now() >= done, waits, "{} of {done}", here.now());
            here.spend(prices(&machine).device_access);
        }
    }
}

#[test]
fn invalidations_take_time_of_the_cores_that_receive_them() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(holding(2, 0));
    let p = prices(&machine);
    let victim_took = std::cell::Cell::new(Time::ZERO);
    let victim = |task: &Task<'_, '_, F>| {
        let begun = task.now();
        for _ in 0..1000 {
            task.spend(NS * 100);
            task.cond_resched();
        }
        victim_took.set(task.now() - begun);
    };
    let issuer = |task: &Task<'_, '_, F>| {
        ground.load(task, 0);
        task.spend(NS * 10_000);
        (0..100).for_each(|i| task.invalidate(page(0, i)));
        task.barrier(Barrier::Complete);
    };
    let report =
        machine.run(vec![TaskSpec::new("victim", victim), TaskSpec::new("issuer", issuer)]);
    let taken = p.snoop * 100 + p.dsb_snoop;
    assert_eq!(victim_took.get(), NS * 100_000 + taken);
    assert_eq!(report.cores[0].stolen, taken);
    assert_eq!(report.cores[1].stolen, Time::ZERO);
}

/// Jetson AGX Xavier's cores buffer invalidations (linux-arm-kernel, 2018): what they take, they
/// take when they are applied.
#[test]
fn a_held_back_invalidation_takes_time_when_it_is_applied() {
    let (hold, issued) = (8, 20);
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(holding(2, hold));
    let p = prices(&machine);
    let (issuer, victim) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    ground.load(&issuer, 0);
    let stolen = || machine.report().cores.iter().map(|core| core.stolen).collect::<Vec<_>>();
    let overflowed = u64::from(issued - hold);
    for (issue, applied) in [(hold, 0), (issued - hold, overflowed)] {
        (0..issue).for_each(|i| issuer.invalidate(page(0, usize::from(i))));
        catch_up(&victim, &issuer);
        assert_eq!(stolen(), [Time::ZERO, p.snoop * applied]);
    }
    issuer.spend(victim.now().since(issuer.now()));
    issuer.barrier(Barrier::Complete);
    assert_eq!(stolen(), [Time::ZERO, p.snoop * u64::from(issued) + p.dsb_snoop]);
}

/// Barriers of several cores go through one interconnect (Arm CCN-502 TRM, 100052, 2.7), which
/// begins one after the other.
#[test]
fn barriers_at_once_wait_for_the_interconnect_and_one_core_s_own_do_not() {
    let ends = |cores: u16, times: usize| {
        let ground = Ground::<F>::new(1);
        let machine = ground.machine(holding(32, 0));
        let ends = std::cell::RefCell::new(Vec::new());
        let issuer = |task: &Task<'_, '_, F>| {
            ground.load(task, 0);
            task.wait_until(NS * 50_000);
            let begun = task.now();
            for _ in 0..times {
                task.invalidate(page(0, 1));
                task.barrier(Barrier::Complete);
            }
            ends.borrow_mut().push(task.now() - begun);
        };
        let tasks = (0..cores).map(|core| TaskSpec::new("issuer", issuer).on(CoreId(core)));
        machine.run(tasks.collect());
        (prices(&machine), ends.into_inner())
    };
    let (p, alone) = ends(1, 1);
    let price = p.dsb_base + p.dsb_per_core * 31 + p.dsb_per_outstanding;
    // One core's barriers don't wait for each other.
    let serial = p.dsb_serial.min(price);
    assert_eq!(alone, [p.tlbi_issue + price]);
    assert_eq!(ends(1, 3).1, [(p.tlbi_issue + price) * 3]);
    for cores in [2, 4, 16] {
        let (_, ends) = ends(cores, 1);
        // What others' invalidations and barriers take of a core meanwhile comes on top.
        let taken = (p.snoop + p.dsb_snoop) * u64::from(cores - 1);
        for (before, end) in (0..).zip(&ends) {
            let waited = alone[0] + serial * before;
            assert!((waited..=waited + taken).contains(end), "{before} of {cores}: {end}");
        }
    }
}

/// A DSB ISHST costs what is left of the own core's last TLBI, and little without one. Work between
/// dense TLBIs is hidden behind their latency.
#[test]
fn a_barrier_before_a_tlbi_waits_for_the_one_before() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(holding(32, 0));
    let p = prices(&machine);
    let latency = p.dsb_base + p.dsb_per_core * 31 + p.dsb_per_outstanding;
    let task = machine.alone(CoreId(0));
    ground.load(&task, 0);
    assert_eq!(takes(&task, || task.barrier(Barrier::Publish)), p.dsb_idle);
    for work in [Time::ZERO, NS * 100, latency * 2] {
        task.barrier(Barrier::Complete);
        task.invalidate(page(0, 1));
        task.spend(work);
        let left = latency.since(work.min(latency)).max(p.dsb_idle);
        assert_eq!(takes(&task, || task.barrier(Barrier::Publish)), left, "{work}");
        task.outlast_invalidations();
        assert_eq!(takes(&task, || task.barrier(Barrier::Publish)), p.dsb_idle);
        // All of it is over then, for a DSB ISH too.
        assert_eq!(takes(&task, || task.barrier(Barrier::Complete)), p.dsb_idle);
    }
}

#[test]
fn a_range_is_as_many_instructions_as_it_is_encoded_in() {
    for (ranges, nr, instructions) in
        [(true, 16, 1), (true, 37, 2), (false, 16, 16), (true, 1, 1), (false, 1, 1)]
    {
        let ground = Ground::<F>::new(1);
        let machine = ground.machine(arm64(2, |shape| shape.range_operations = ranges));
        let (task, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
        ground.load(&program, 0);
        (0..40).for_each(|i| program.access(at::<F>(i), false).expect("mapped"));
        task.spend(program.now());
        let issue = takes(&task, || task.invalidate(pages(0, 2, nr)));
        assert_eq!(issue, prices(&machine).tlbi_issue * instructions);
        task.barrier(Barrier::Complete);
        let left = held(&machine, 1, 0);
        assert!(left.iter().all(|i| !(2..2 + nr).contains(i)), "{left:?} without {nr} from 2 on");
        assert_eq!(machine.report().counts.broadcasts, instructions);
    }
}

#[test]
fn identifiers_run_out_and_every_core_flushes_at_its_next_switch() {
    let ground = Ground::<F>::new(300);
    let machine = ground.machine(arm64(2, |shape| shape.asid_bits = 8));
    let (one, two) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    use_page(&ground, &two, 3);
    for space in 0..255 {
        ground.load(&one, space);
        one.access(at::<F>(1), false).expect("mapped");
    }
    assert_eq!(machine.report().counts.rollovers, 0, "255 fit in 8 bits, 0 being none");
    assert!(!held(&machine, 0, 254).is_empty());
    ground.load(&one, 255);
    assert_eq!(machine.report().counts.rollovers, 1);
    assert!(machine.held(CoreId(0)).is_empty(), "the core that rolled over flushed");
    assert_eq!(held(&machine, 1, 0), [3], "what runs elsewhere keeps its identifier and entries");
    ground.load(&two, 1);
    assert!(machine.held(CoreId(1)).is_empty(), "and flushes at its next switch");
    let full = machine.report().counts.local_full;
    ground.load(&two, 0);
    ground.load(&one, 2);
    assert_eq!(machine.report().counts.local_full, full, "once a generation");
    // Given so far: 254 and 0, which ran when it began; then 255, 1 and 2.
    for space in 3..253 {
        ground.load(&one, space);
    }
    ground.load(&one, 254);
    assert_eq!(machine.report().counts.rollovers, 1, "250 more fit");
    ground.load(&one, 253);
    assert_eq!(machine.report().counts.rollovers, 2);
}

#[test]
fn no_switch_flushes() {
    let ground = Ground::<F>::new(3);
    let machine = ground.machine(holding(1, 0));
    let task = machine.alone(CoreId(0));
    use_page(&ground, &task, 3);
    for space in [1, 2, 0] {
        ground.load(&task, space);
        assert_eq!(held(&machine, 0, 0), [3]);
    }
}

#[test]
fn a_whole_address_space_and_everything_go_everywhere() {
    for what in [Invalidate::AddressSpace(asid(0)), Invalidate::Everything] {
        let ground = Ground::<F>::new(2);
        let machine = ground.machine(holding(3, 0));
        let tasks = [0, 1, 2].map(|core| machine.alone(CoreId(core)));
        for (space, task) in [(0, 0), (0, 1), (1, 2)] {
            ground.load(&tasks[task], space);
            tasks[task].access(at::<F>(1), true).expect("mapped");
        }
        tasks[0].spend(NS * 10_000);
        tasks[0].invalidate(what);
        tasks[0].barrier(Barrier::Complete);
        assert_eq!((held(&machine, 0, 0).len(), held(&machine, 1, 0).len()), (0, 0));
        let other = usize::from(what != Invalidate::Everything);
        assert_eq!(held(&machine, 2, 1).len(), other);
    }
}

#[test]
fn a_local_invalidation_is_done_at_once_and_nowhere_else() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(holding(2, 8));
    let (one, two) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    use_page(&ground, &one, 3);
    use_page(&ground, &two, 3);
    one.invalidate_local(page(0, 3));
    catch_up(&two, &one);
    assert_eq!(held(&machine, 0, 0), [0_usize; 0]);
    assert_eq!(held(&machine, 1, 0), [3]);
}

#[test]
fn an_old_entry_is_never_held_and_a_young_flush_skipped_changes_no_content() {
    let ground = Ground::<F>::new(1);
    let frames = |machine: &Machine<'_, F>| {
        let entries = machine.held(CoreId(1)).into_iter();
        entries.map(|entry| (entry.start, entry.pfn)).collect::<Vec<_>>()
    };
    for how in [YoungFlush::Sync, YoungFlush::Nosync, YoungFlush::None] {
        let machine = ground.machine(holding(2, 8));
        let (aging, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
        use_page(&ground, &program, 3);
        aging.spend(program.now());
        ground.age(&aging, 0, 3, how);
        catch_up(&program, &aging);
        program.access(at::<F>(3), false).expect("mapped");
        for (start, pfn) in frames(&machine) {
            let i = (start.get() >> 12) as usize;
            let pte = ground.tables().table(ground.leaves(0)).load(i);
            assert_eq!(pfn, Some(F::pfn(pte)), "{how:?}: what is held maps what the table maps");
        }
        assert!(!frames(&machine).is_empty());
    }
}
