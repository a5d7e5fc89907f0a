//! The warning on counts of emulated machines.

use pageout_record::schema::{Ground, Metric, RecordFile};

pub(crate) const CAUTION: &str = "\
Times are instructions under QEMU, one nanosecond each: no cache misses, no cost of TLBI or DSB.
Gains from skipping work therefore look larger than on silicon; `pageout lab script` measures there.
";

/// Returns the warning on files of records, if some are instructions of emulated machines.
pub(crate) fn of_files(file: &RecordFile) -> Option<String> {
    let is_counted = |metric: &Metric| metric.unit.starts_with("instructions");
    let mut lab = file.records().filter(|record| record.ground == Ground::Linux);
    lab.any(|record| record.metrics.iter().any(is_counted)).then(|| one_line(CAUTION))
}

/// Writes a text of several lines in one, which is wrapped where it is printed.
pub(crate) fn one_line(text: &str) -> String {
    text.trim_end().replace('\n', " ")
}
