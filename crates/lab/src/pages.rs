//! The pages that a profile's counts are divided by.

use pageout_record::schema::Record;

/// The metric that counts the pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Pages {
    /// Pages of the kernel's that the benchmark reclaimed, or else mapped.
    Ours,
    /// 4K pages that a region of a workload processed.
    Region(String),
    /// None: the workload is not judged by a region of 4K pages.
    None,
}

impl Pages {
    /// Returns the number of 4K pages of all samples; a page of the kernel has `small_pages` of
    /// them. `None` if there were none.
    pub(super) fn count(&self, records: &[Record], small_pages: u64) -> Option<u64> {
        let sum = |name: &str| {
            let metrics = records.iter().flat_map(|record| &record.metrics);
            let values = metrics.filter(|metric| metric.name == name).flat_map(|m| &m.values);
            values.sum::<f64>() as u64
        };
        let pages = match self {
            Self::Ours => ["pgsteal", "before: present"].map(sum).map(|pages| pages * small_pages),
            Self::Region(name) => [sum(&format!("{name}: units")), 0],
            Self::None => [0, 0],
        };
        pages.into_iter().find(|pages| *pages > 0)
    }
}
