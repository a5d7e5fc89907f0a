//! Smaller workloads for commands that would take long.

/// A change to the commands that have some text.
#[derive(Debug)]
pub(crate) struct Change {
    within: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn change(within: &'static str, from: &'static str, to: &'static str) -> Change {
    Change { within, from, to }
}

/// Changes in the order in which they are made.
pub(crate) const CHANGES: &[Change] = &[
    // What is built is this test's program.
    change("cargo run", "cargo run --release", "pageout --runs 1"),
    change("cargo build", "cargo build --release", "true"),
    // Files and rounds.
    change("reclaim-file", " size=1GiB", ""),
    change("reclaim-file", " size=64MiB --runs 5", ""),
    change("reclaim-file", " size=64MiB", ""),
    change("compare reclaim-file order=4 size=4MiB", " size=4MiB", ""),
    change("compare reclaim-file", "reclaim-file", "reclaim-file size=4MiB --runs 1"),
    change("run reclaim-file lru=mglru", "reclaim-file", "reclaim-file size=4MiB --runs 1"),
    change("run reclaim-file order=", "reclaim-file", "reclaim-file size=4MiB --runs 1"),
    change("run reclaim-file --ground", "reclaim-file", "reclaim-file size=4MiB"),
    change("reclaim-shmem", "reclaim-shmem", "reclaim-shmem size=4MiB"),
    change("age-file", "age-file", "age-file size=4MiB --runs 1"),
    change("aging-rounds", " size=64MiB", ""),
    change("aging-rounds", "aging-rounds", "aging-rounds size=8MiB rounds=2"),
    change("--draws", "--draws 200", "--draws 2"),
    change("--draws", "--draws 100", "--draws 2"),
    change("pageout-shared", " times=20", ""),
    change("pageout-shared", "pageout-shared", "pageout-shared times=3"),
    change("sweep flush", "sweep flush", "sweep flush --cores 1,4 --size 1MiB"),
    change("observe", "observe --runs 101", "observe"),
    change("observe", "pageout observe", "pageout observe --runs 1"),
    // A short trace in place of the samples.
    change("trace", "trace curve sqlite-orders", "trace curve my.pgt"),
    change("trace", "trace export sqlite-orders", "trace export my.pgt"),
    change("trace", "--trace sqlite-orders", "--trace my.pgt"),
    change("pageout run trace limit=50% --format", "run trace", "run trace --trace my.pgt"),
    change("pageout run trace limit=50% lru", "run trace", "run trace --trace my.pgt"),
    change("pageout run trace order=4", "run trace", "run trace --trace my.pgt"),
    change("pageout compare trace --ground", "compare trace", "compare trace --trace my.pgt"),
    change(
        "compare trace --ground",
        "--trace my.pgt --ground model --trace",
        "--ground model --trace",
    ),
    change("pageout compare trace limit=25%", "compare trace", "compare trace --trace my.pgt"),
    change("pageout compare trace limit=50%", "compare trace", "compare trace --trace my.pgt"),
    change("limit=50% --trace sqlite", "--trace my.pgt limit=50% --trace", "limit=50% --trace"),
    // Searches and tables of all that there is.
    change("pageout check", "check", "check protection --bound 1 --format arm64-small-4"),
    change("pageout check --exhibit", "check protection --bound 1 --format arm64-small-4", "check"),
    change("pageout reproduce --quick", " --quick", ""),
    change("pageout reproduce", "reproduce", "reproduce --quick --thread lists"),
    change("pageout reproduce --thread", "--thread lists --thread S1", "--thread S1"),
    change("pageout calibrate", "--quick --cores 2", ""),
    change("pageout calibrate", "calibrate", "calibrate --quick --cores 1"),
    // Programs that take a minute under Valgrind.
    change("samples/table.py", "/usr/bin/python3 -s -S -B samples/table.py", "true"),
    change("samples/orders.sql", "/usr/bin/sqlite3 -batch", "true"),
    change("cc1plus", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "true"),
    change("--output samples/", "--output samples/", "--output "),
    // Clusters, other directories, and rounds by the hundred.
    change("/shared/", "/shared/", "shared-"),
    change(
        "sbatch",
        "sbatch --array=1-64 --requeue --cpus-per-task=4 --wrap",
        "SLURM_ARRAY_TASK_ID=1 sh -c",
    ),
    change("sbatch", "/64", "/1"),
    change("git format-patch", "git format-patch", "git -C linux format-patch"),
    change("seq 80", "seq 80", "seq 6"),
    change(
        "seq 80",
        "run reclaim-file size=4MiB --runs 1",
        "run reclaim-file size=4MiB --ground model --seed $round",
    ),
    change("git bisect", "/tmp/", "./"),
    change("git bisect", "git bisect start BAD GOOD && git bisect run sh", "sh"),
    change(
        "git bisect run pageout",
        "git bisect start BAD GOOD && git bisect run pageout",
        "pageout",
    ),
    change("git bisect run pageout", "--tree . GOOD..HEAD", "--tree linux base..mine"),
    change("git bisect run pageout", "--fail-on 1% --bisect", ""),
];

/// Returns the command with every change that applies to it, and the changes' numbers.
pub(crate) fn of(command: &str) -> (String, Vec<usize>) {
    let mut smaller = command.to_owned();
    let mut changes = Vec::new();
    for (number, change) in CHANGES.iter().enumerate() {
        if command.contains(change.within) && smaller.contains(change.from) {
            smaller = smaller.replace(change.from, change.to);
            changes.push(number);
        }
    }
    (smaller, changes)
}
