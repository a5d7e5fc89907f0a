//! Commands that this test does not carry out, each with the reason.

/// The treatment of a command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Way {
    /// The command runs as it is printed.
    AsPrinted,
    /// The command runs with a smaller workload.
    Smaller,
    /// The command runs without tools: the program reads all arguments and files, then names the
    /// tools that it lacks.
    WithoutTools(&'static str),
    /// The command runs with `--help` at its end: the program reads the arguments before that.
    Help(&'static str),
    /// The command does not run here.
    Elsewhere(&'static str),
}

const KERNELS: &str = "builds and boots kernels: `cargo xtask lab` does";

const BARE_METAL: &str = "builds for another machine: `cargo xtask test package` does";

/// Commands by their beginnings, the longer ones first.
const WAYS: [(&str, Way); 22] = [
    ("pageout bench flush-reach", Way::AsPrinted),
    ("pageout bench", Way::Help("takes a minute: tests of the commands do it with one round")),
    ("pageout lab script", Way::AsPrinted),
    ("pageout lab lru-gen --read", Way::AsPrinted),
    ("curl ", Way::Elsewhere("downloads mails")),
    ("target/release/pageout lab source", Way::Help("downloads a kernel's source")),
    ("pageout lab source", Way::Help("downloads a kernel's source")),
    ("pageout lab", Way::WithoutTools(KERNELS)),
    ("git bisect start BAD GOOD && git bisect run pageout lab", Way::WithoutTools(KERNELS)),
    ("target/release/pageout lab", Way::WithoutTools(KERNELS)),
    ("ARCH=arm64 ", Way::Elsewhere("boots a kernel that the report names")),
    ("sh crates/lab/files/queue-7.3/irqs-off/", Way::Elsewhere("boots kernels of the queue")),
    ("sh crates/lab/files/reports/run.sh", Way::Elsewhere("boots a kernel that the report names")),
    ("rustup ", Way::Elsewhere(BARE_METAL)),
    ("cargo build --release -p pageout-capi", Way::Elsewhere(BARE_METAL)),
    ("cc ", Way::Elsewhere(BARE_METAL)),
    ("sudo ", Way::Elsewhere("reads or measures the running kernel as root")),
    ("snakemake ", Way::Elsewhere("takes Snakemake, and kernels")),
    ("cargo xtask ", Way::Elsewhere("is this test, and more")),
    ("PROPTEST_RNG_SEED=", Way::Elsewhere("is another test")),
    ("cd python && pip ", Way::Elsewhere("installs: `cargo xtask dist` does")),
    ("pip ", Way::Elsewhere("installs: `cargo xtask dist` does")),
];

impl Way {
    /// Returns the way of a command, if it is not simply run.
    pub(crate) fn of(command: &str) -> Option<Self> {
        let begins = |start| command.lines().any(|line| line.starts_with(start));
        WAYS.iter().find(|(start, _)| begins(*start)).map(|(_, way)| *way)
    }
}
