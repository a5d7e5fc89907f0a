//! The formats and families on which rules are tested.

use pageout_paging::young::Family;

/// Runs a rule for each family, and names the family in the output of a failed test.
pub(crate) fn every_family(rule: fn(Family)) {
    for family in Family::ALL {
        println!("family {family:?}");
        rule(family);
    }
}

/// Makes tests of generic functions that check a rule for one format and family: real formats and
/// small ones, with and without contiguous blocks.
macro_rules! on_every_format {
    ($($rule:ident),* $(,)?) => {$(
        mod $rule {
            use crate::formats::every_family;
            use pageout_paging::pte::{
                Arm64_4K, Riscv64, SmallArm2, SmallArm4, SmallRiscv, SmallX86, X86_64,
            };

            #[test]
            fn small_x86() {
                every_family(super::$rule::<SmallX86>);
            }

            #[test]
            fn small_arm64_blocks_of_2() {
                every_family(super::$rule::<SmallArm2>);
            }

            #[test]
            fn small_arm64_blocks_of_4() {
                every_family(super::$rule::<SmallArm4>);
            }

            #[test]
            fn small_riscv() {
                every_family(super::$rule::<SmallRiscv>);
            }

            #[test]
            fn riscv64() {
                every_family(super::$rule::<Riscv64>);
            }

            #[test]
            fn x86_64() {
                every_family(super::$rule::<X86_64>);
            }

            #[test]
            fn arm64_4k() {
                every_family(super::$rule::<Arm64_4K>);
            }
        }
    )*};
}

pub(crate) use on_every_format;
