//! Where the engine, which follows 7.1.5, answers otherwise than Linux 6.12 did, and why.

use super::answers::{Kind, Numbers, numbers, shape, steps};
use super::{KERNELS, compare_with_kept, session};
use pageout_sim::formats::FormatName;
use pageout_sim::lru_gen::{SHIPPED, run};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Why an answer differs: 7.1.5 does otherwise than 6.12 (`docs/lru_gen.md` has the rules).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// A page that a fault brings joins the youngest generation but one; in 6.12 the youngest.
    Placed,
    /// A walk that finds a folio used for the first time only marks it, and moves it the second
    /// time; in 6.12 the first time.
    Twice,
    /// For these reasons more was in the generations that a command evicted: it is neither walked
    /// nor carried on, and comes back as other folios.
    Evicted,
    /// What aging carries on from a generation it gives up counts as protected.
    Protected,
    /// Another tier: what a read begins to count, and what came back.
    Tier,
    /// A past number ages; in 6.12 it does nothing. Later numbers are ahead.
    Past,
    /// Four generations are no reason to refuse an unforced walk (`ERANGE` in 6.12).
    NoRange,
    /// `max` is anonymous memory alone; in 6.12 it is refused.
    Max,
}

/// Steps of a session, what differs in their answers, and why.
type Named = (&'static str, RangeInclusive<usize>, Kind, &'static [Why]);

/// Every difference. Steps are counted from 1.
const NAMED: &[Named] = &[
    ("age-file", 6..=10, Kind::Pages, &[Why::Placed]),
    ("age-file", 12..=12, Kind::Pages, &[Why::Placed, Why::Twice]),
    ("age-file", 16..=24, Kind::Pages, &[Why::Evicted, Why::Twice]),
    ("age-file", 16..=20, Kind::Oldest, &[Why::Evicted]),
    ("age-file", 16..=24, Kind::Averages, &[Why::Evicted, Why::Protected]),
    ("age-file", 22..=24, Kind::Walks, &[Why::Evicted]),
    ("age-anon", 11..=11, Kind::Pages, &[Why::Placed]),
    ("age-anon", 13..=17, Kind::Pages, &[Why::Placed, Why::Twice]),
    ("age-anon", 22..=22, Kind::Pages, &[Why::Twice]),
    ("age-anon", 19..=22, Kind::Averages, &[Why::Protected]),
    ("evict", 14..=27, Kind::Averages, &[Why::Protected, Why::Tier]),
    ("evict", 24..=27, Kind::Pages, &[Why::Placed]),
    ("evict", 27..=27, Kind::Oldest, &[Why::Placed, Why::Tier]),
    ("several", 18..=19, Kind::Pages, &[Why::Placed]),
    ("several", 21..=25, Kind::Pages, &[Why::Placed, Why::Twice]),
    ("several", 30..=32, Kind::Averages, &[Why::Protected, Why::Tier]),
    ("sleepers", 10..=10, Kind::Pages, &[Why::Placed]),
    ("sleepers", 12..=12, Kind::Pages, &[Why::Placed, Why::Twice]),
    ("sleepers", 16..=19, Kind::Pages, &[Why::Evicted, Why::Placed]),
    ("sleepers", 16..=19, Kind::Oldest, &[Why::Evicted]),
    ("sleepers", 16..=26, Kind::Averages, &[Why::Evicted, Why::Protected]),
    ("sleepers", 20..=20, Kind::Error, &[Why::NoRange]),
    ("sleepers", 22..=26, Kind::Generations, &[Why::NoRange]),
    ("sleepers", 22..=26, Kind::Pages, &[Why::Evicted, Why::Twice]),
    ("refused", 10..=11, Kind::Error, &[Why::Past]),
    ("refused", 13..=13, Kind::Generations, &[Why::Past]),
    ("refused", 13..=43, Kind::Pages, &[Why::Past]),
    ("refused", 19..=23, Kind::Error, &[Why::Max]),
    ("refused", 32..=32, Kind::Generations, &[Why::Past, Why::Max]),
    ("refused", 33..=36, Kind::Error, &[Why::NoRange]),
    ("refused", 34..=43, Kind::Generations, &[Why::Past, Why::Max, Why::NoRange]),
];

/// The name of a difference: its place among [`NAMED`].
fn name_of(session: &str, step: usize, kind: Kind) -> Option<usize> {
    let is =
        |(of, steps, what, _): &Named| *of == session && steps.contains(&step) && *what == kind;
    NAMED.iter().position(is)
}

/// The differences between two answers: what, there, here.
fn differences(there: &Numbers, here: &Numbers) -> Vec<(Kind, String, String, String)> {
    let keys: BTreeSet<_> = there.keys().chain(here.keys()).collect();
    let value = |of: &Numbers, key| of.get(key).map_or("0", String::as_str).to_owned();
    let both = keys.into_iter().map(|key| (key, value(there, key), value(here, key)));
    let other = both.filter(|(_, there, here)| there != here);
    other.map(|((kind, what), there, here)| (*kind, what.clone(), there, here)).collect()
}

/// The captures of the lab, as they are kept.
fn capture(name: &str, kernel: &str, format: FormatName) -> String {
    let format = format.name();
    let path = format!("../../lab/lru_gen/captures/{name}-{kernel}-{format}-swap.txt");
    std::fs::read_to_string(path).unwrap()
}

/// What differs in a session, a line each with the number of its name.
fn differences_of(name: &str, source: &str, format: FormatName) -> Vec<(String, Option<usize>)> {
    let session = session(name, source);
    let mut found = Vec::new();
    for (kernel, variant) in KERNELS {
        let there = capture(name, kernel, format);
        let here = run(&session, format, variant);
        let (there, here) = (steps(&there), steps(&here));
        assert_eq!(there.len(), here.len(), "{name}: as many steps");
        for (step, (there, here)) in (1..).zip(there.into_iter().zip(here)) {
            assert_eq!(there.0, here.0, "{name}: step {step}");
            for (kind, what, there, here) in differences(&numbers(&there.1), &numbers(&here.1)) {
                let line = format!("{name} {kernel} {step} {what}: {there} -> {here}");
                found.push((line, name_of(name, step, kind)));
            }
        }
    }
    found
}

#[test]
fn every_difference_from_a_real_kernel_is_named() {
    let mut named = BTreeSet::new();
    for format in FormatName::MAIN {
        let of = |(name, source): &(&str, &str)| differences_of(name, source, format);
        let found: Vec<_> = SHIPPED.iter().flat_map(of).collect();
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
                shapes.extend(capture(name, kernel, format).lines().map(shape));
            }
        }
        for (name, source) in SHIPPED {
            let here = run(&session(name, source), format, KERNELS[0].1);
            // 7.1.5 does not pad a cgroup's id, which 6.12 does to five characters.
            let lines = here.lines().filter(|line| !line.starts_with("memcg "));
            for line in lines {
                assert!(shapes.contains(&shape(line)), "{name}: {line:?}");
            }
        }
    }
}
