//! The activities to which modelled time is attributed.

use pageout_machine::Activity;
use pageout_paging::Stage;

/// The names of all activities: the engine's stages first, by their numbers.
pub const NAMES: &[&str] = &[
    "isolate",
    "rmap walk",
    "young",
    "aging",
    "unmap",
    "flush",
    "cache removal",
    "free",
    "other",
    "memory.reclaim",
    "fault",
    "frames",
    "storage",
    "copy",
    "madvise",
    "guest exit",
    "notifier",
];

/// A write to `memory.reclaim`.
pub const MEMORY_RECLAIM: Activity = Activity(9);
/// A page fault.
pub const FAULT: Activity = Activity(10);
/// Allocating frames, and zeroing them.
pub const FRAMES: Activity = Activity(11);
/// Requests to the storage device, and compression for swap.
pub const STORAGE: Activity = Activity(12);
/// Copying frames of pages that move, or that are written to after a fork.
pub const COPY: Activity = Activity(13);
/// A call of `madvise`.
pub const MADVISE: Activity = Activity(14);
/// The host's work for a guest that faults.
pub const GUEST_EXIT: Activity = Activity(15);
/// A call of a secondary MMU's notifier.
pub const NOTIFIER: Activity = Activity(16);

/// Returns the activity of a stage of the engine.
pub const fn of_stage(stage: Stage) -> Activity {
    Activity(stage as u8)
}

/// Returns the name of an activity.
pub fn name(activity: Activity) -> &'static str {
    NAMES[usize::from(activity.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_have_their_names() {
        for stage in Stage::ALL {
            assert_eq!(name(of_stage(stage)), stage.name());
        }
        for (activity, named) in [
            (MEMORY_RECLAIM, "memory.reclaim"),
            (FAULT, "fault"),
            (FRAMES, "frames"),
            (STORAGE, "storage"),
            (COPY, "copy"),
            (MADVISE, "madvise"),
            (GUEST_EXIT, "guest exit"),
            (NOTIFIER, "notifier"),
        ] {
            assert_eq!(name(activity), named);
        }
    }
}
