//! Counts of a child that is this test itself: the parent and the child are one program, with one
//! thread, as ptrace has it.

use pageout_steps::{Classes, Regions, count};
use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const CHILD: &str = "PAGEOUT_STEPS_TEST";

/// The regions of a child that ends well, and a child that fails.
const COUNTS: &str = "counts";
const FAILS: &str = "fails";

fn main() {
    match std::env::var(CHILD).as_deref() {
        Ok(COUNTS) => child(),
        Ok(_) => {
            let _regions = Regions::begin().unwrap();
            std::process::exit(3);
        }
        Err(_) if cfg!(all(target_os = "linux", target_arch = "x86_64")) => {
            regions_are_counted_to_the_instruction();
            a_child_that_fails_is_an_error();
        }
        Err(_) => {}
    }
}

/// Regions: nothing, 10 and 20 turns of one atomic, lines of a page.
fn child() {
    let regions = Regions::begin().unwrap();
    let atomic = AtomicU64::new(0);
    let turns = |n| (0..n).for_each(|_| _ = black_box(&atomic).fetch_add(1, Relaxed));
    let page = vec![1_u8; 4096];
    regions.count(|| ()).unwrap();
    regions.count(|| turns(black_box(10))).unwrap();
    regions.count(|| turns(black_box(20))).unwrap();
    let lines = || (0..page.len()).step_by(64).map(|at| u64::from(black_box(&page)[at])).sum();
    println!("{}", regions.count::<u64>(lines).unwrap());
}

fn counted(what: &str) -> Result<(String, Vec<Classes>), pageout_steps::StepError> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    count(command.env(CHILD, what), &mut |_| ())
}

fn regions_are_counted_to_the_instruction() {
    let (printed, regions) = counted(COUNTS).unwrap();
    assert_eq!(printed, "64\n");
    let [nothing, ten, twenty, page] = regions[..] else { panic!("four regions: {regions:?}") };
    assert!(nothing.instructions < 20 && nothing.atomics == 0, "{nothing:?}");
    assert_eq!((ten.atomics, twenty.atomics), (10, 20));
    let each = twenty.instructions - ten.instructions;
    assert!(each.is_multiple_of(10) && each >= 20, "ten turns more: {ten:?}, {twenty:?}");
    assert!((64..80).contains(&page.lines), "{page:?}");
    let (_, again) = counted(COUNTS).unwrap();
    let instructions = |all: &[Classes]| all.iter().map(|of| of.instructions).collect::<Vec<_>>();
    assert_eq!(instructions(&again), instructions(&regions), "the same to the instruction");
}

fn a_child_that_fails_is_an_error() {
    let error = counted(FAILS).unwrap_err().to_string();
    assert!(error.contains("ended early"), "{error}");
}
