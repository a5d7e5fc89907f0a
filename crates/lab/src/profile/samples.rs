//! What each sample of a benchmark cost on a machine with several CPUs, where a clock would tell
//! the time of all of them.

use pageout_record::schema::{Better, Metric, Record};

use super::{Costs, INSTRUCTIONS, PER_PAGE, Profile, ProfileError};
use pageout_experiment::metrics::counted;

/// The function under which the kernel does all of a reclaim that a cgroup is asked for.
pub(crate) const RECLAIM: &str = "try_to_free_mem_cgroup_pages";

/// What a sample's line begins with.
pub(super) const START: &str = "# sample ";
/// What it looks like.
pub(super) const LINE: &str =
    "# sample INSTRUCTIONS CAS ATOMICS TLBI DSB INTERRUPTS INSTRUCTIONS TLBI";

/// The counts of one sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sample {
    /// Under the root.
    root: Costs,
    /// Interrupts by which other CPUs were made to call functions meanwhile.
    interrupts: u64,
    /// Instructions of other CPUs in these, from entry to return.
    instructions: u64,
    /// Their invalidations.
    invalidations: u64,
}

impl Sample {
    /// Reads the numbers of a line.
    pub(super) fn parse(numbers: &str) -> Option<Self> {
        let numbers: Result<Vec<u64>, _> = numbers.split(' ').map(str::parse).collect();
        let [
            own,
            compare_and_swaps,
            atomics,
            own_invalidations,
            barriers,
            interrupts,
            instructions,
            invalidations,
        ] = numbers.ok()?.try_into().ok()?;
        let root = Costs {
            instructions: own,
            compare_and_swaps,
            atomics,
            invalidations: own_invalidations,
            barriers,
        };
        Some(Self { root, interrupts, instructions, invalidations })
    }
}

/// A metric of its own: its name and unit, and where a sample has it.
type Column = (&'static str, &'static str, fn(&Sample) -> u64);

const COLUMNS: [Column; 8] = [
    ("reclaim", INSTRUCTIONS, |sample| sample.root.instructions),
    ("compare-and-swaps", PER_PAGE, |sample| sample.root.compare_and_swaps),
    ("other atomics", PER_PAGE, |sample| sample.root.atomics),
    ("invalidations", PER_PAGE, |sample| sample.root.invalidations),
    ("barriers", PER_PAGE, |sample| sample.root.barriers),
    ("other CPU: interrupts", PER_PAGE, |sample| sample.interrupts),
    ("other CPU: kernel", INSTRUCTIONS, |sample| sample.instructions),
    ("other CPU: invalidations", PER_PAGE, |sample| sample.invalidations),
];

/// What those metrics are called.
pub(crate) fn costs() -> Vec<&'static str> {
    COLUMNS.map(|(name, ..)| name).into()
}

impl Profile {
    /// Adds to the benchmark's one record what its samples cost, a reclaimed 4K page, of which so
    /// many are a page of the kernel's.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Samples`] where the record has not as many.
    pub(crate) fn add_to(&self, record: &mut Record, small_pages: u64) -> Result<(), ProfileError> {
        let stolen = record.metrics.iter().find(|metric| metric.name == "pgsteal");
        let stolen = stolen.map_or_else(Vec::new, |metric| metric.values.clone());
        if stolen.len() != self.samples.len() {
            let (found, expected) = (self.samples.len(), stolen.len());
            return Err(ProfileError::Samples { found, expected });
        }
        let metric = |(name, unit, count): Column| {
            let samples = self.samples.iter().zip(&stolen);
            let each = |(sample, pages): (&Sample, &f64)| {
                count(sample) as f64 / (pages * small_pages as f64)
            };
            let values = samples.map(each).collect();
            Metric { values, ..counted(name, unit, 0.0, Better::Lower) }
        };
        let metrics = COLUMNS.map(metric);
        record.metrics.splice(0..0, metrics);
        Ok(())
    }
}
