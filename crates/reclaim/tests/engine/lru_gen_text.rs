//! The text of the files of the multi-generational LRU, and the commands they take.

use crate::mglru_evict::{self, map_one, read_one};
use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::pte::SmallX86;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{CpuCtx, Errno, FolioFlags, Limits, MemcgId, MmId};
use pageout_uapi::lru_gen::{self, Command, Enabled};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

type W<'a> = World<'a, SmallX86>;

fn shown(world: &W<'_>, memcg: MemcgId, full: bool) -> String {
    let (mut text, cpu) = (String::new(), &mut CpuCtx::new());
    let engine = world.maps.on(&world.env, cpu, tuning());
    let generations = engine.lru_gen_generations(memcg, full).expect("it is online");
    lru_gen::show(&mut text, memcg.index().into(), "/a/b", [(0, generations)]).expect("a string");
    text
}

fn enable(world: &mut W<'_>, caps: LruGenCaps) {
    world.engine().set_lru_gen_caps(caps);
}

fn enabled(world: &W<'_>) -> String {
    let caps = world.maps.on(&world.env, &mut CpuCtx::new(), tuning()).lru_gen_enabled();
    Enabled::from(caps).to_string()
}

/// Makes a cgroup with three folios of four pages of a file, and one page of anonymous memory.
fn group(world: &mut W<'_>) -> MemcgId {
    let group = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    let (file, anon) = (world.file(), world.anon());
    let folios = [0, 4, 8].map(|index| world.folio(file, 2, index));
    let page = world.folio(anon, 0, 0);
    for id in folios.into_iter().chain([page]) {
        let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
        maps.on(env, cpu, tuning()).charge(id, group).expect("no limit");
        world.flag(id, FolioFlags::UPTODATE);
        world.engine().lru_add(id).expect("it lives");
    }
    group
}

const ROOM: Limits = Limits { memcgs: 1, ..LIMITS };

#[test]
fn generations_are_shown_as_kernels_show_them() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    enable(&mut world, LruGenCaps::all());
    let group = group(&mut world);
    world.env.task.now_ms.store(12_345, Relaxed);
    let text = "\
memcg 1 /a/b
 node     0
          0      12345          0          12 
          1      12345          0           0 
          2      12345          1           0 
          3      12345          0           0 
";
    assert_eq!(shown(&world, group, false), text);
    let empty = "memcg 0 /a/b\n node     0\n";
    assert!(shown(&world, MemcgId::ROOT, false).starts_with(empty));
}

#[test]
fn tiers_and_walks_are_shown_in_full() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    enable(&mut world, LruGenCaps::all());
    let group = group(&mut world);
    let text = shown(&world, group, true);
    let lines: Vec<&str> = text.lines().collect();
    let oldest = "          0          0          0          12 ";
    let protected = "                     3          0r          0e          0p          0r          \
        0e          0p";
    let nothing = "                     0          0x          0x          0x          0x          \
        0x          0x";
    let averages = "                     0          0R          0T          0x          0R          \
        0T          0x";
    let unwalked = "                                0x          0x          0x          0x";
    let walked = "                                0T          0Y          0F          0A";
    assert_eq!(lines.len(), 2 + 4 * 6);
    assert_eq!([lines[2], lines[6], lines[7]], [oldest, protected, unwalked]);
    assert_eq!([lines[9], lines[21], lines[25]], [nothing, averages, walked]);
}

#[test]
fn bits_that_are_no_part_are_ignored() {
    let caps = |text| LruGenCaps::from(Enabled::parse(text).expect("it is understood"));
    assert_eq!(["y", "n", "5", "8", "4294967295"].map(|text| caps(text).bits()), [7, 0, 5, 0, 7]);
}

#[test]
fn what_hardware_cannot_is_not_shown_as_enabled() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    assert_eq!(enabled(&world), "0x0000\n");
    enable(&mut world, LruGenCaps::all());
    assert_eq!(enabled(&world), "0x0003\n");
    world.env.mmu.software_af.store(true, Relaxed);
    assert_eq!(enabled(&world), "0x0001\n");
    assert_eq!(world.maps.lru_gen_caps(), LruGenCaps::all());
}

fn write(world: &mut W<'_>, text: &str) -> Result<(), Errno> {
    let engine = &mut world.engine();
    lru_gen::write(text, |command| engine.lru_gen_command(command))
}

#[test]
fn a_command_refused_changes_nothing() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    enable(&mut world, LruGenCaps::all());
    let group = group(&mut world);
    let before = shown(&world, group, true);
    let refused = [
        // No command at all.
        "",
        "\n",
        ",;\n ;",
        "\0+ 1 0 3",
        "junk",
        "+",
        "+ 1 0",
        "* 1 0 3",
        "+ 1 0 3 60 1 1",
        // Generations that do not exist yet, and eviction of the two youngest.
        "+ 1 0 4",
        "+ 1 0 18446744073709551615",
        "- 1 0 2",
        "- 1 0 3",
        // Cgroups, nodes and swappiness that do not exist.
        "+ 2 0 3",
        "+ 65535 0 3",
        "+ 65537 0 3",
        "- 18446744073709551615 0 0",
        "+ 1 1 3",
        "+ 1 4294967295 3",
        "+ 1 0 3 202",
        "+ 1 0 3 -1",
        "+ 1 0 3 maximum",
    ];
    for text in refused {
        assert_eq!(write(&mut world, text), Err(Errno::EINVAL), "{text:?}");
        assert_eq!(shown(&world, group, true), before, "{text:?}");
    }
}

/// Returns the youngest generation of a cgroup.
fn youngest(world: &W<'_>, memcg: MemcgId) -> u64 {
    let text = shown(world, memcg, false);
    let line = text.lines().last().expect("generations");
    line.split_whitespace().next().and_then(|seq| seq.parse().ok()).expect("a number")
}

#[test]
fn commands_of_one_write_are_done_up_to_the_first_refused() {
    let cases = [
        ("+ 1 0 3", 4, true),
        ("+1 0 3\n", 4, true),
        ("+ 1 0 0", 4, true),
        ("+ 1 4294967296 3", 4, true),
        ("+ 18446744073709551617 0 3", 4, true),
        ("+ 1 0 3 0 0", 4, true),
        ("+ 1 0 3 max 1", 4, true),
        ("+ 1 0 3 200", 4, true),
        ("+ 1 0 3,+ 1 0 4;+ 1 0 5\n+ 1 0 6", 7, true),
        (" , + 1 0 3 ;; \n", 4, true),
        ("+ 1 0 3, + 1 0 99, + 1 0 4", 4, false),
        ("+ 1 0 3;- 1 0 3;+ 1 0 4", 4, false),
        ("+ 1 0 3\0, + 1 0 99", 4, true),
        ("- 1 0 1 60 0", 3, true),
        ("- 0 0 1", 3, true),
    ];
    for (text, seq, done) in cases {
        let mut arena = Arena::new::<SmallX86>(&ROOM);
        let mut world: W<'_> = arena.world();
        enable(&mut world, LruGenCaps::all());
        let group = group(&mut world);
        let expected = if done { Ok(()) } else { Err(Errno::EINVAL) };
        assert_eq!(write(&mut world, text), expected, "{text:?}");
        assert_eq!(youngest(&world, group), seq, "{text:?}");
    }
}

/// Writes to `lru_gen`, and calls `meanwhile` in the middle, when the secondary MMU of a process is
/// first called.
fn write_with(world: &W<'_>, mm: MmId, text: &str, meanwhile: impl FnOnce()) -> Result<(), Errno> {
    let secondary = world.secondary(mm);
    secondary.asked();
    let held = secondary.young.lock().expect("no one panicked");
    thread::scope(|scope| {
        let (maps, env) = (&world.maps, &world.env);
        let write = move || {
            let cpu = &mut CpuCtx::new();
            let engine = &mut maps.on(env, cpu, tuning());
            lru_gen::write(text, |command| engine.lru_gen_command(command))
        };
        let writer = scope.spawn(write);
        while secondary.asked().is_empty() {
            assert!(!writer.is_finished(), "the secondary MMU is asked");
            thread::yield_now();
        }
        meanwhile();
        drop(held);
        writer.join().expect("no panic")
    })
}

#[test]
fn of_two_walks_that_share_an_iteration_one_opens_the_generation() {
    for text in ["+ 1 0 3", "+ 1 0 0 60 0", "+ 1 0 3, + 1 0 3, + 1 0 4"] {
        let mut arena = Arena::new::<SmallX86>(&mglru_evict::ROOM);
        let mut world: W<'_> = arena.world();
        enable(&mut world, LruGenCaps::all());
        let group = world.engine().add_memcg(MemcgId::ROOT).expect("room");
        let (mm, file) = (world.process(), world.file());
        world.engine().set_memcg(mm, group).expect("it lives");
        map_one(&mut world, mm, file, 0, group);
        world.attach(mm, []);
        let (maps, env) = (&world.maps, &world.env);
        let late = write_with(&world, mm, text, || {
            // There is no other process to walk: this walk reaches the end first.
            let command = Command::parse("+ 1 0 3").expect("it is understood");
            let first = maps.on(env, &mut CpuCtx::new(), tuning()).lru_gen_command(&command);
            assert_eq!(first, Ok(()));
        });
        assert_eq!(late, Err(Errno::EEXIST), "{text:?}");
        assert_eq!(youngest(&world, group), 4, "{text:?}: what follows is not done");
        assert_eq!(write(&mut world, "+ 1 0 4"), Ok(()), "the next is nobody else's");
        assert_eq!(youngest(&world, group), 5);
    }
}

#[test]
fn a_signal_ends_an_eviction_between_rounds() {
    let mut arena = Arena::new::<SmallX86>(&mglru_evict::ROOM);
    let mut world: W<'_> = arena.world();
    enable(&mut world, LruGenCaps::all());
    let group = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    let (mm, file) = (world.process(), world.file());
    map_one(&mut world, mm, file, 0, group);
    for index in 1..100 {
        read_one(&mut world, file, index, group);
    }
    world.attach(mm, []);
    let usage = |world: &W<'_>| world.maps.memcg(group).expect("it is online").usage();
    let signal = &world.env.task.signal;
    let done = write_with(&world, mm, "- 1 0 1, + 1 0 3", || signal.store(true, Relaxed));
    assert_eq!(done, Err(Errno::EINTR));
    assert_eq!(usage(&world), 100 - 64, "a round is finished");
    for (text, expected) in [
        ("- 1 0 1", Err(Errno::EINTR)),
        // The signal is checked before anything else but the command itself.
        ("- 1 0 1 60 0", Err(Errno::EINTR)),
        ("- 0 0 1", Err(Errno::EINTR)),
        ("- 1 0 2", Err(Errno::EINVAL)),
    ] {
        assert_eq!(write(&mut world, text), expected, "{text:?}");
        assert_eq!((usage(&world), youngest(&world, group)), (36, 3), "{text:?}");
    }
    assert_eq!(write(&mut world, "+ 1 0 3"), Ok(()), "a walk is not interrupted");
    signal.store(false, Relaxed);
    assert_eq!(write(&mut world, "- 1 0 1"), Ok(()));
    assert_eq!(usage(&world), 0);
}
