//! The differences between the answers of Linux 7.3 and those of 6.12, kept as a list.

use super::answers::{differences, side_by_side};
use super::{capture, capture_7_3, compare_with_kept};
use pageout_experiment::formats::FormatName;
use pageout_experiment::lru_gen::SHIPPED;

/// Kernels of 6.12 and of 7.3 that check young bits alike: one by one, and in batches.
const LIKE: [(&str, &str); 2] = [("stock", "no-batch"), ("s3", "stock")];

#[test]
fn what_changed_since_6_12_is_kept() {
    for format in FormatName::MAIN {
        let mut lines = String::new();
        for (name, _) in SHIPPED {
            for (old, new) in LIKE {
                let (before, after) = (capture(name, old, format), capture_7_3(name, new, format));
                for (step, before, after) in side_by_side(name, &before, &after) {
                    for (_, what, before, after) in differences(&before, &after) {
                        lines += &format!("{name} {new} {step} {what}: {before} -> {after}\n");
                    }
                }
            }
        }
        compare_with_kept(&format!("since-6.12-{}.txt", format.name()), &lines);
    }
}
