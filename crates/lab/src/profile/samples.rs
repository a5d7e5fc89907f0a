//! Costs of each sample of a benchmark. They replace the benchmark's clock on several CPUs, where
//! it would count the instructions of all of them, and serve counts of more than instructions.

use pageout_record::schema::{Better, Metric, Record};

use super::{COUNTS, Costs, INSTRUCTIONS, PER_PAGE, Profile, ProfileError};
use pageout_experiment::metrics::counted;

/// The kernel function that, with those it calls, does the whole work of a cgroup's
/// `memory.reclaim`.
pub(crate) const RECLAIM: &str = "try_to_free_mem_cgroup_pages";

/// The beginning of a sample's line.
pub(super) const START: &str = "# sample ";
/// The form of a sample's line.
pub(super) const LINE: &str =
    "# sample INSTRUCTIONS CAS ATOMICS TLBI DSB DSBST LINES INTERRUPTS INSTRUCTIONS CAS ...";

/// The counts of one sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sample {
    /// Costs under the root.
    root: Costs,
    /// The number of interrupts that made other CPUs call functions meanwhile.
    interrupts: u64,
    /// Costs of other CPUs in these interrupts, from entry to return.
    others: Costs,
}

impl Sample {
    /// Reads the numbers of a line.
    pub(super) fn parse(numbers: &str) -> Option<Self> {
        let numbers: Result<Vec<u64>, _> = numbers.split(' ').map(str::parse).collect();
        let numbers = numbers.ok()?;
        let (root, rest) = numbers.split_first_chunk()?;
        let (interrupts, others) = rest.split_first()?;
        let others = others.try_into().ok()?;
        Some(Self { root: Costs::of(*root), interrupts: *interrupts, others: Costs::of(others) })
    }
}

/// A metric: its name, its unit, and the function that reads it from a sample.
type Column = (&'static str, &'static str, fn(&Sample) -> u64);

/// The metric of the instructions of a reclaim.
pub(crate) const WHOLE: &str = "reclaim";

const RECLAIM_COLUMN: Column = (WHOLE, INSTRUCTIONS, |sample| sample.root.instructions);

/// Metrics of other CPUs.
const OTHERS: [Column; 6] = [
    ("other CPU: interrupts", PER_PAGE, |sample| sample.interrupts),
    ("other CPU: kernel", INSTRUCTIONS, |sample| sample.others.instructions),
    ("other CPU: compare-and-swaps", PER_PAGE, |sample| sample.others.compare_and_swaps),
    ("other CPU: other atomics", PER_PAGE, |sample| sample.others.atomics),
    ("other CPU: invalidations", PER_PAGE, |sample| sample.others.invalidations),
    ("other CPU: lines first touched", PER_PAGE, |sample| sample.others.lines),
];

/// Returns the names of all metrics that samples give on a machine with this number of CPUs.
pub(crate) fn costs(cpus: u8) -> Vec<&'static str> {
    let others = OTHERS.iter().map(|(name, ..)| *name).filter(|_| cpus > 1);
    [WHOLE].into_iter().chain(COUNTS.map(|(name, _)| name)).chain(others).collect()
}

impl Profile {
    /// Adds the samples' costs per reclaimed 4K page to the benchmark's one record. A page of the
    /// kernel's has `small_pages` 4K pages. With more than one of `cpus` the costs of other CPUs
    /// are added too.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Samples`] if the record has another number of samples.
    pub(crate) fn add_to(
        &self,
        record: &mut Record,
        small_pages: u64,
        cpus: u8,
    ) -> Result<(), ProfileError> {
        let stolen = record.metric("pgsteal");
        let stolen = stolen.map_or_else(Vec::new, |metric| metric.values.clone());
        if stolen.len() != self.samples.len() {
            let (found, expected) = (self.samples.len(), stolen.len());
            return Err(ProfileError::Samples { found, expected });
        }
        let metric = |name: &str, unit: &str, count: &dyn Fn(&Sample) -> u64| {
            let samples = self.samples.iter().zip(&stolen);
            let each = |(sample, pages): (&Sample, &f64)| {
                count(sample) as f64 / (pages * small_pages as f64)
            };
            let values = samples.map(each).collect();
            Metric { values, ..counted(name, unit, 0.0, Better::Lower) }
        };
        let column = |(name, unit, count): Column| metric(name, unit, &count);
        let counts =
            COUNTS.map(|(name, count)| metric(name, PER_PAGE, &|sample| count(&sample.root)));
        let others = OTHERS.map(column).into_iter().filter(|_| cpus > 1);
        let all = [column(RECLAIM_COLUMN)].into_iter().chain(counts).chain(others);
        record.metrics.splice(0..0, all);
        Ok(())
    }
}
