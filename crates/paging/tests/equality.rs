//! The algorithms of young checks return the same, clear the same and flush the entries they
//! cleared: all are compared with one oracle.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{
    Call, Case, Counterexample, Decode, Expected, Op, World, case_numbers, check_call,
    each_edge_case, each_small_case, random_case,
};
use pageout_paging::Sound;
use pageout_paging::pte::{
    Arm64_4K, Arm64_16K, Arm64_64K, Riscv64, SmallArm2, SmallArm4, SmallRiscv, SmallX86, X86_64,
};
use pageout_paging::tlb::YoungFlush;

const FLUSHES: [YoungFlush; 3] = [YoungFlush::Sync, YoungFlush::Nosync, YoungFlush::None];

/// Does every check by every algorithm, under each of `flushes`.
fn check_all<F: Decode>(
    world: &World<F>,
    case: &Case,
    expected: &Expected,
    flushes: &[YoungFlush],
) -> Result<(), Box<Counterexample>> {
    flushes
        .iter()
        .flat_map(|flush| Call::all(*flush))
        .try_for_each(|call| check_call::<Sound, F>(world, case, expected, call))
}

fn every_small_case<F: Decode>(cases: u64) {
    let world = World::<F>::new(1);
    let tried = each_small_case::<F>(|case, expected| check_all(&world, case, expected, &FLUSHES));
    assert_eq!(tried.unwrap_or_else(|wrong| panic!("{wrong}")), cases);
}

/// The number of runs in a table of 8, patterns of young bits, and states next to the run.
const SMALL: u64 = 36 * 256 * 2;

#[test]
fn small_x86_all() {
    every_small_case::<SmallX86>(SMALL * 2);
}

#[test]
fn small_arm_blocks_of_2_all() {
    every_small_case::<SmallArm2>(SMALL * 17);
}

#[test]
fn small_arm_blocks_of_4_all() {
    every_small_case::<SmallArm4>(SMALL * 5);
}

#[test]
fn small_riscv_all() {
    every_small_case::<SmallRiscv>(SMALL * 5);
}

fn every_edge_case<F: Decode>() {
    let world = World::<F>::new(1);
    let nosync = [YoungFlush::Nosync];
    let tried = each_edge_case::<F>(|case, expected| check_all(&world, case, expected, &nosync));
    let tried = tried.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(tried > 50_000, "{tried} cases");
}

#[test]
fn riscv64_edges() {
    every_edge_case::<Riscv64>();
}

#[test]
fn x86_64_edges() {
    every_edge_case::<X86_64>();
}

#[test]
fn arm64_4k_edges() {
    every_edge_case::<Arm64_4K>();
}

/// Does one of the three checks for each case, by every algorithm.
fn random_cases<F: Decode>(name: &str, count: u64) {
    let world = World::<F>::new(1);
    for number in case_numbers(count) {
        let mut rng = fastrand::Rng::with_seed(number);
        let case = random_case::<F>(&mut rng);
        let expected = Expected::of::<F>(&case);
        let flush = FLUSHES[rng.usize(..3)];
        let op = [Op::TestAndClear, Op::ClearFlush, Op::Runs][rng.usize(..3)];
        for call in Call::all(flush).filter(|call| call.op == op) {
            if let Err(wrong) = check_call::<Sound, F>(&world, &case, &expected, call) {
                let test = format!("cargo test -p pageout-paging --test equality {name}");
                panic!("{wrong}replay: PAGEOUT_CASE={number} {test}");
            }
        }
    }
}

const RANDOM: u64 = 1_000_000;

#[test]
fn x86_64_random() {
    random_cases::<X86_64>("x86_64_random", RANDOM);
}

#[test]
fn arm64_4k_random() {
    random_cases::<Arm64_4K>("arm64_4k_random", RANDOM);
}

#[test]
fn riscv64_random() {
    random_cases::<Riscv64>("riscv64_random", RANDOM);
}

/// A case in a larger table takes that much longer.
#[test]
fn arm64_16k_random() {
    random_cases::<Arm64_16K>("arm64_16k_random", RANDOM / 40);
}

#[test]
fn arm64_64k_random() {
    random_cases::<Arm64_64K>("arm64_64k_random", RANDOM / 160);
}
