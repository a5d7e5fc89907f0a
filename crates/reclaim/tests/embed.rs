//! The examples for embedders run, and find the uses and values of their processes.

#[path = "../examples/embed.rs"]
mod example;
#[path = "../examples/kernel.rs"]
mod kernel;
#[path = "../examples/reclaim.rs"]
mod reclaim;

use pageout_reclaim::FolioRef::{Activate, Keep, Reclaim};
use pageout_reclaim::Refs::Vmas;
use pageout_reclaim::{Fault, OutOfMemory};

#[test]
fn the_example_decides_by_what_was_used() {
    let (rounds, invalidations) = example::run();
    let unused = (Vmas(0), Reclaim);
    let first = [unused, (Vmas(1), Keep), (Vmas(2), Activate), (Vmas(1), Activate)];
    let second = [unused, (Vmas(1), Activate), unused, unused];
    assert_eq!(rounds, [first, second]);
    assert_eq!(invalidations, 5, "one a block that was used, in each process");
    example::main();
}

#[test]
fn what_processes_stored_is_found_whoever_reclaimed_it_meanwhile() {
    let outcome = reclaim::run();
    assert_eq!(outcome.loads, (4 * 2 + 3 * 3) * 2 * 56, "two words a page of each process");
    assert!(outcome.reclaimed >= 16 && outcome.free >= 48 && outcome.interrupts > 0);
    assert!(outcome.evicted > 0, "{}", outcome.generations);
    let youngest = outcome.generations.lines().last().expect("generations");
    let nothing = youngest.split_whitespace().skip(2).collect::<Vec<_>>();
    assert_eq!(nothing, ["0", "0"], "the youngest was opened before the last eviction");
    let stat = |name: &str| {
        let of = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok();
        outcome.stat.lines().find_map(of).expect("a line of memory.stat")
    };
    for name in ["pgsteal_kswapd", "pgsteal_direct", "pgsteal_proactive", "pgmajfault"] {
        assert!(stat(name) > 0, "{name}: {}", outcome.stat);
    }
    for name in ["pswpout", "workingset_refault_anon", "workingset_refault_file"] {
        assert!(stat(name) > 0, "{name}: {}", outcome.stat);
    }
    reclaim::main();
}

#[test]
fn a_process_with_twice_the_memory_there_is_finds_what_it_stored() {
    let pages = 0x200..0x200 + 100;
    let report = kernel::run(pages.clone()).expect("swap has room for all");
    assert_eq!(report.found, 2 * (pages.end - pages.start));
    assert!(report.faults > 3 * report.found / 2, "hardly a page stayed");
    assert_eq!(kernel::run(0..400).err(), Some(Fault::OutOfMemory(OutOfMemory::Frames)));
    kernel::main();
}

#[test]
fn the_smallest_kernel_is_short() {
    let text = include_str!("../examples/kernel.rs");
    let (_, own) = text.split_once("const LIMITS").expect("what follows the imports");
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    assert!(own.lines().filter(code).count() < 120);
}
