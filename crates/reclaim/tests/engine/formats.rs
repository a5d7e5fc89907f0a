//! The formats and algorithms on which rules are tested.

use pageout_paging::young::YoungAlgorithm;

/// Runs a rule for each algorithm, and names the algorithm in the output of a failed test.
pub(crate) fn every_algorithm(rule: fn(YoungAlgorithm)) {
    for algorithm in YoungAlgorithm::ALL {
        println!("algorithm {algorithm:?}");
        rule(algorithm);
    }
}

/// Makes tests of generic functions that check a rule for one format and algorithm: real formats
/// and small ones, with and without contiguous blocks.
macro_rules! on_every_format {
    ($($rule:ident),* $(,)?) => {$(
        mod $rule {
            use crate::formats::every_algorithm;
            use pageout_paging::pte::{
                Arm64_4K, Riscv64, SmallArm2, SmallArm4, SmallRiscv, SmallX86, X86_64,
            };

            #[test]
            fn small_x86() {
                every_algorithm(super::$rule::<SmallX86>);
            }

            #[test]
            fn small_arm64_blocks_of_2() {
                every_algorithm(super::$rule::<SmallArm2>);
            }

            #[test]
            fn small_arm64_blocks_of_4() {
                every_algorithm(super::$rule::<SmallArm4>);
            }

            #[test]
            fn small_riscv() {
                every_algorithm(super::$rule::<SmallRiscv>);
            }

            #[test]
            fn riscv64() {
                every_algorithm(super::$rule::<Riscv64>);
            }

            #[test]
            fn x86_64() {
                every_algorithm(super::$rule::<X86_64>);
            }

            #[test]
            fn arm64_4k() {
                every_algorithm(super::$rule::<Arm64_4K>);
            }
        }
    )*};
}

pub(crate) use on_every_format;
