//! Help of the commands that measure this machine, or search the engine.

use super::text::{Help, Section};
use crate::args::Benchmark;
use clap::ValueEnum;
use clap::builder::PossibleValue;

pub(super) fn bench() -> Help {
    Help {
        brief: vec![benchmarks()],
        notes: vec![benchmarks()],
        examples: &[
            "pageout bench young",
            "pageout bench reclaim --runs 31",
            "pageout bench scale --html scale.html",
        ],
    }
}

fn benchmarks() -> Section {
    let values = Benchmark::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let term = |value: PossibleValue| {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        (value.get_name().to_owned(), help)
    };
    Section::Terms { heading: "Benchmarks", terms: values.map(term).collect() }
}

pub(super) fn reproduce() -> Help {
    Help {
        notes: vec![
            Section::Prose(
                "The score of all threads says how far predictions are from the figures that are \
                 identified, beside two simpler predictions. --thread shows every row of one \
                 thread. See docs/reproduce.md.",
            ),
            Section::Prose(
                "Each row is a figure that a mailing-list thread gives: its value, ours, the \
                 source of ours (the engine on this machine, prices on a platform, or the lab's \
                 stored records of a real kernel), and its quality. A row that cannot be computed \
                 says why.",
            ),
        ],
        examples: &[
            "pageout reproduce # the score of all threads",
            "pageout reproduce --thread S1 # the rows of one thread",
            "pageout reproduce --quick # a small file and few draws, as a test",
            "pageout reproduce --json",
        ],
        ..Help::default()
    }
}

pub(super) fn calibrate() -> Help {
    Help {
        notes: vec![Section::Prose(
            "Prices that a program can measure without privilege are printed as a platform file \
             (docs/platforms.md). The rest of the file, such as storage, comes from another \
             platform. Ranges are wide on a busy machine and in any virtual machine.",
        )],
        examples: &[
            "pageout calibrate --output mine.toml",
            "pageout calibrate --quick --cores 2",
            "pageout calibrate --like kunpeng-920-class",
        ],
        ..Help::default()
    }
}

pub(super) fn observe() -> Help {
    Help {
        notes: vec![Section::Prose(
            "A program loads from pages, their young (accessed) bits are cleared, and it loads \
             from them again. The kernel does not see loads through a translation that the TLB \
             made before the clear, until a flush or an eviction removes it (docs/observe.md). \
             Needs Linux.",
        )],
        examples: &["pageout observe", "pageout observe --runs 101 --html observe.html"],
        ..Help::default()
    }
}

pub(super) fn check() -> Help {
    Help {
        notes: vec![
            Section::Prose(
                "The engine runs on modelled CPUs with TLBs. Each CPU stops before every step \
                 that others can see: a change of an entry, an invalidation, a freed frame, a page \
                 written out. Each execution continues with other CPUs at these points. Executions \
                 with few such choices come first, so the first failure is a short one.",
            ),
            Section::Prose("Exit status 1 if a property fails or an exhibit is not found."),
        ],
        examples: &[
            "pageout check # all, then the exhibits",
            "pageout check lost-write # one property",
            "pageout check --exhibit free-before-flush # a known bug, by steps",
            "pageout check reclaim-dirty --bound 3 # every execution up to 3",
            "pageout check --list",
        ],
        ..Help::default()
    }
}
