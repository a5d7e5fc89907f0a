//! What modelled time is attributed to.

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
/// Getting frames, and zeroing them.
pub const FRAMES: Activity = Activity(11);
/// Asking the storage device, and compressing for swap.
pub const STORAGE: Activity = Activity(12);
/// Copying frames: of a page that moves, or is written to after a fork.
pub const COPY: Activity = Activity(13);
/// What a process advises.
pub const MADVISE: Activity = Activity(14);
/// What the host does for a guest that faults.
pub const GUEST_EXIT: Activity = Activity(15);
/// What a secondary MMU is asked, and told.
pub const NOTIFIER: Activity = Activity(16);

/// A stage of the engine.
pub const fn of_stage(stage: Stage) -> Activity {
    Activity(stage as u8)
}

/// The name of an activity.
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
