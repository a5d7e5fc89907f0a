//! The differences between the engine's answers and Linux 7.3's, with their reasons.

use super::answers::{Kind, differences, shape, side_by_side};
use super::{KERNELS, capture_7_3, compare_with_kept, session};
use pageout_experiment::formats::FormatName;
use pageout_experiment::lru_gen::SHIPPED;
use pageout_host::lru_gen::run;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// The reason why an answer differs (`docs/lru_gen.md` has the reasons at length).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// The last pages that a `fill` reads in one by one, up to 30, wait on their CPU for their list
    /// when the fill's use of them is cleared. Without a mark of use then, they join the oldest
    /// generation, and not the next. Here no page waits.
    Waiting,
}

/// Steps of a session, the kind of number that differs, and the reasons.
type Named = (&'static str, RangeInclusive<usize>, Kind, &'static [Why]);

/// Every difference. Steps are counted from 1.
const NAMED: &[Named] = &[
    ("age-anon", 11..=11, Kind::Pages, &[Why::Waiting]),
    ("age-anon", 13..=22, Kind::Averages, &[Why::Waiting]),
    ("several", 19..=22, Kind::Pages, &[Why::Waiting]),
    ("several", 25..=32, Kind::Averages, &[Why::Waiting]),
];

/// Returns the name of a difference: its place among [`NAMED`].
fn name_of(session: &str, step: usize, kind: Kind) -> Option<usize> {
    let is =
        |(of, steps, what, _): &Named| *of == session && steps.contains(&step) && *what == kind;
    NAMED.iter().position(is)
}

/// Returns the differences of a session, a line each with the number of its name, and the number of
/// compared numbers.
fn differences_of(
    name: &str,
    source: &str,
    format: FormatName,
) -> (Vec<(String, Option<usize>)>, usize) {
    let session = session(name, source);
    let (mut found, mut compared) = (Vec::new(), 0);
    for (kernel, variant) in KERNELS {
        let there = capture_7_3(name, kernel, format);
        let here = run(&session, format, variant);
        for (step, there, here) in side_by_side(name, &there, &here) {
            compared += there.len();
            for (kind, what, there, here) in differences(&there, &here) {
                let line = format!("{name} {kernel} {step} {what}: {there} -> {here}");
                found.push((line, name_of(name, step, kind)));
            }
        }
    }
    (found, compared)
}

#[test]
fn every_difference_from_a_real_kernel_is_named() {
    let mut named = BTreeSet::new();
    for format in FormatName::MAIN {
        let of = |(name, source): &(&str, &str)| differences_of(name, source, format);
        let (found, compared): (Vec<_>, Vec<_>) = SHIPPED.iter().map(of).unzip();
        let found: Vec<_> = found.into_iter().flatten().collect();
        let compared: usize = compared.into_iter().sum();
        println!("{}: {compared} numbers, {} differ", format.name(), found.len());
        let unnamed: Vec<_> = found.iter().filter(|(_, why)| why.is_none()).collect();
        assert!(unnamed.is_empty(), "differences without a name: {unnamed:#?}");
        named.extend(found.iter().filter_map(|(_, why)| *why));
        let lines = found.iter().map(|(line, why)| {
            let why = NAMED[why.expect("all are named")].3;
            let why: Vec<String> = why.iter().map(|why| format!("{why:?}")).collect();
            format!("{line} ({})\n", why.join(", "))
        });
        let kept = format!("differences-{}.txt", format.name());
        compare_with_kept(&kept, &lines.collect::<String>());
    }
    let unused: Vec<_> =
        (0..NAMED.len()).filter(|i| !named.contains(i)).map(|i| &NAMED[i]).collect();
    assert!(unused.is_empty(), "names without a difference: {unused:#?}");
}

#[test]
fn every_line_stands_as_kernels_write_it() {
    for format in FormatName::MAIN {
        let mut shapes = BTreeSet::new();
        for (name, _) in SHIPPED {
            for (kernel, _) in KERNELS {
                shapes.extend(capture_7_3(name, kernel, format).lines().map(shape));
            }
        }
        for (name, source) in SHIPPED {
            let here = run(&session(name, source), format, KERNELS[0].1);
            // A cgroup's id has as many digits as the machine made cgroups before.
            for line in here.lines().filter(|line| !line.starts_with("memcg ")) {
                assert!(shapes.contains(&shape(line)), "{name}: {line:?}");
            }
        }
    }
}
