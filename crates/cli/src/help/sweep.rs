//! Help of `sweep`.

use super::text::{Help, Section};

pub(super) fn sweep() -> Help {
    Help {
        notes: vec![Section::Prose(
            "A file plans the cells of a sweep. Shards of them run on any machine that sees the \
             directory, and their results are merged into one file of records. A killed run loses \
             only the cells it was running; the next run continues (docs/sweeps.md).",
        )],
        examples: &[
            "pageout sweep plan limits.toml --dir limits # make the cells",
            "pageout sweep run --dir limits # run all that are left",
            "pageout sweep merge --dir limits --output limits.json",
            "pageout sweep run --dir limits --shard 3/64 # the third of 64 machines",
            "pageout sweep status --dir limits # done, failed and left",
            "pageout sweep flush --platform kunpeng-920-class",
        ],
        ..Help::default()
    }
}

/// A plan with all that one may have. It is TOML once two of the three ways to name cells are taken
/// out.
pub(super) const PLAN: &str = "\
scenario = \"trace\"            # as for `pageout compare`
ground = \"host\"               # or model
variants = [\"lru=classic\", \"lru=mglru\"]
trace = \"sqlite-orders\"       # also: cores, platform, seed, runs, draws
times = false                 # no measured times: cells run anywhere

[fields]                      # fields of every cell
format = \"x86-64\"

[grid]                        # every combination; or
limit = [\"5%..100%\"]
order = [0, 4]

[[list]]                      # one table for each cell; or
limit = \"25%\"
order = 2

[random]                      # this many different combinations
cells = 200
seed = 1
[random.from]
limit = \"1%..100%\"
seed = [1, 2, 3]";

pub(super) fn plan() -> Help {
    Help {
        notes: vec![
            Section::Prose(
                "The file is TOML. Keys for all cells come first, then one of [grid], [[list]] and \
                 [random].",
            ),
            Section::Lines { heading: "All that a file may have", lines: PLAN },
        ],
        examples: &[
            "pageout sweep plan limits.toml # list the cells",
            "pageout sweep plan limits.toml --dir limits",
        ],
        ..Help::default()
    }
}

pub(super) fn run() -> Help {
    Help {
        notes: vec![Section::Prose(
            "Each cell's result is a file, which appears when it is complete. Failed cells are \
             listed at the end, and the next run tries them again. Cells that measure time run one \
             by one, and need a machine that nobody else uses; others run on all CPUs. Exit status \
             1 if a cell failed.",
        )],
        examples: &[
            "pageout sweep run --dir limits",
            "pageout sweep run --dir limits --shard $SLURM_ARRAY_TASK_ID/64",
        ],
        ..Help::default()
    }
}

pub(super) fn status() -> Help {
    Help {
        examples: &[
            "pageout sweep status --dir limits",
            "pageout sweep status --dir limits --json",
        ],
        ..Help::default()
    }
}

pub(super) fn merge() -> Help {
    Help {
        notes: vec![Section::Prose(
            "Exit status 1 if cells are left or have failed, unless --partial is given.",
        )],
        examples: &[
            "pageout sweep merge --dir limits --output limits.json",
            "pageout sweep merge --dir limits --partial --csv",
        ],
        ..Help::default()
    }
}

pub(super) fn flush() -> Help {
    Help {
        notes: vec![Section::Prose(
            "Processes use a file on all cores but one, where single pages of it are reclaimed. \
             The table has, per page, the time in which that core invalidates or waits for others, \
             the time taken from them, and the whole of reclaim: one flush for each page, against \
             one for a batch (docs/model.md).",
        )],
        examples: &[
            "pageout sweep flush # all platforms, 1 to 256 cores: a few minutes",
            "pageout sweep flush --platform kunpeng-920-class --processes 1,8",
            "pageout sweep flush --platform ./mine.toml --cores 8,16 --csv",
        ],
        ..Help::default()
    }
}

pub(super) fn pageout() -> Help {
    Help {
        notes: vec![Section::Prose(
            "Memory is read in from compressed swap and paged out in turn. The table has the same \
             figures as that of `pageout sweep flush` (docs/model.md).",
        )],
        examples: &[
            "pageout sweep pageout --platform kunpeng-920-class --processes 1,8",
            "pageout sweep pageout --cores 8,64 --size 4MiB --json",
        ],
        ..Help::default()
    }
}
