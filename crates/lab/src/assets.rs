//! The lab's own files, which travel in the binary.

/// A file by its name, and its text.
pub(super) type File = (&'static str, &'static str);

macro_rules! text {
    ($path:literal) => {
        include_str!(concat!("../files/", $path))
    };
}

pub(super) static COMMON: &str = text!("config/common.config");
pub(super) static ARM64: &str = text!("config/arm64.config");
pub(super) static ARM64_4K: &str = text!("config/arm64-4k.config");
pub(super) static ARM64_16K: &str = text!("config/arm64-16k.config");
pub(super) static ARM64_64K: &str = text!("config/arm64-64k.config");
pub(super) static X86_64: &str = text!("config/x86-64.config");
pub(super) static RISCV64: &str = text!("config/riscv64.config");
pub(super) static SWAP: &str = text!("config/swap.config");

/// The proc file that is added to every kernel as `mm/pageout_lab.c`.
pub(super) static PROC_FILE: &str = text!("kernel/pageout_lab.c");

/// The sources of workloads whose turns are decided, by places below the lab's files.
pub(super) static SCHEDULED: &[File] = &[
    ("schedule/init.c", text!("schedule/init.c")),
    ("schedule/register_check.c", text!("schedule/register_check.c")),
    ("schedule/pageout_schedule.h", text!("schedule/pageout_schedule.h")),
    ("reports/guest.h", text!("reports/guest.h")),
    ("reports/lost-write/lost_write.c", text!("reports/lost-write/lost_write.c")),
    ("reports/stale-read/stale_read.c", text!("reports/stale-read/stale_read.c")),
];

/// The sources that are put around a workload with a manifest whose turns are decided.
pub(super) static SCHEDULED_LAB: &[File] = &[
    ("lab_workload.c", text!("schedule/lab_workload.c")),
    ("pageout_schedule.h", text!("schedule/pageout_schedule.h")),
];

/// The object that points call, added to a kernel with points as `mm/pageout_schedule.c`.
pub(super) static SCHEDULE_OBJECT: &str = text!("schedule/pageout_schedule.c");

/// The patch that adds the kernel selftest: the first of the queue.
pub(super) static SELFTEST: &str = QUEUE_7_3[0].1;

/// The template of the script that measures a real machine.
pub(super) static SCRIPT: &str = text!("script/measure.sh");

// Whole folders, in the order of their files' names: `build.rs` describes each.
include!(concat!(env!("OUT_DIR"), "/lab.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_whole_and_in_order() {
        for (files, wanted) in [(INIT, "init.c"), (BENCH, "record.c"), (PLUGIN, "profile.c")] {
            assert!(files.iter().any(|(name, _)| *name == wanted), "{wanted}");
            assert!(files.is_sorted());
        }
        for series in [SERIES, QUEUE_7_3] {
            for (number, (name, text)) in (1..).zip(series) {
                assert!(name.starts_with(&format!("{number:04}-")), "{name}");
                assert!(text.contains("\nSubject: [PATCH"), "{name}");
            }
        }
    }
}
