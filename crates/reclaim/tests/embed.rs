//! The example for embedders runs, and finds what its processes did.

#[path = "../examples/embed.rs"]
mod example;

use pageout_reclaim::FolioRef::{Activate, Keep, Reclaim, ReclaimClean};
use pageout_reclaim::Refs::Vmas;

#[test]
fn the_example_decides_by_what_was_used() {
    let (rounds, invalidations) = example::run();
    let unused = (Vmas(0), Reclaim);
    let first = [unused, (Vmas(1), Keep), (Vmas(2), Activate), (Vmas(1), Activate)];
    let second = [unused, (Vmas(1), Activate), (Vmas(0), ReclaimClean), (Vmas(0), ReclaimClean)];
    assert_eq!(rounds, [first, second]);
    assert_eq!(invalidations, 5, "one a block that was used, in each process");
    example::main();
}
