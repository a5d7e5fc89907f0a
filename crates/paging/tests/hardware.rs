//! Hardware sets accessed and dirty bits between any two table operations of a check. No dirty bit
//! is lost, no access is missed, no old entry is reported.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{
    Access, Call, Case, Decode, Expected, World, case_numbers, check_hardware, each_small_case,
    random_case, try_every_access,
};
use pageout_paging::pte::{
    Arm64_4K, Arm64_16K, Arm64_64K, Riscv64, SmallArm2, SmallArm4, SmallRiscv, SmallX86, X86_64,
};
use pageout_paging::tlb::YoungFlush;
use pageout_paging::{Format, Pte, Sound};

/// Returns true for tables that are old all over, young all over, or young where the run begins.
/// Other patterns were tried before without accesses. Hardware uses no swap entries, so none are
/// needed.
fn is_enough<F: Format>(case: &Case) -> bool {
    let count = |is: fn(Pte) -> bool| case.entries.iter().filter(|pte| is(**pte)).count();
    let first = F::is_young(case.entries[case.run.start]);
    count(F::is_present) == 8 && matches!((count(F::is_young), first), (0 | 8, _) | (1, true))
}

fn every_access<F: Decode>() {
    let world = World::<F>::new(1);
    let mut trials = 0;
    let cases = each_small_case::<F>(|case, expected| {
        if is_enough::<F>(case) {
            for call in Call::all(YoungFlush::Nosync) {
                trials += try_every_access::<Sound, F>(&world, case, expected, call)?;
            }
        }
        Ok(())
    });
    cases.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(trials > 10_000, "{trials} trials");
}

#[test]
fn small_x86_every_moment_and_entry() {
    every_access::<SmallX86>();
}

#[test]
fn small_arm_blocks_of_2_every_moment_and_entry() {
    every_access::<SmallArm2>();
}

#[test]
fn small_arm_blocks_of_4_every_moment_and_entry() {
    every_access::<SmallArm4>();
}

#[test]
fn small_riscv_every_moment_and_entry() {
    every_access::<SmallRiscv>();
}

/// Makes up to eight accesses in and around the run, at any moments, and compare-and-swaps that
/// fail spuriously.
fn random_accesses<F: Decode>(name: &str, count: u64) {
    let world = World::<F>::new(1);
    for number in case_numbers(count) {
        let mut rng = fastrand::Rng::with_seed(number);
        let mut case = random_case::<F>(&mut rng);
        case.run.end = case.run.end.min(case.run.start + 50);
        let expected = Expected::of::<F>(&case);
        let near = case.run.start.saturating_sub(20)..(case.run.end + 20).min(F::PTES);
        let longest = 1 << rng.u32(3..12);
        let mut accesses: Vec<Access> = (0..rng.usize(1..=8))
            .map(|_| Access {
                before: rng.usize(..longest),
                entry: rng.usize(near.clone()),
                write: rng.bool(),
            })
            .collect();
        accesses.sort_by_key(|access| access.before);
        let weak = rng.usize(..4);
        for call in Call::all(YoungFlush::None) {
            let tried = check_hardware::<Sound, F>(&world, &case, &expected, call, &accesses, weak);
            if let Err(wrong) = tried {
                let test = format!("cargo test -p pageout-paging --test hardware {name}");
                panic!("{wrong}replay: PAGEOUT_CASE={number} {test}");
            }
        }
    }
}

const RANDOM: u64 = 20_000;

#[test]
fn x86_64_random() {
    random_accesses::<X86_64>("x86_64_random", RANDOM);
}

#[test]
fn arm64_4k_random() {
    random_accesses::<Arm64_4K>("arm64_4k_random", RANDOM);
}

#[test]
fn riscv64_random() {
    random_accesses::<Riscv64>("riscv64_random", RANDOM);
}

/// A case in a larger table takes that much longer.
#[test]
fn arm64_16k_random() {
    random_accesses::<Arm64_16K>("arm64_16k_random", RANDOM / 40);
}

#[test]
fn arm64_64k_random() {
    random_accesses::<Arm64_64K>("arm64_64k_random", RANDOM / 160);
}
