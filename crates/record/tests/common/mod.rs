//! Code that the tests of tables and of their other forms share.

use pageout_record::schema::{Machine, Record, RecordSet, Run};

/// Returns a set of these records, as of one run.
pub(crate) fn set(records: Vec<Record>) -> RecordSet {
    let machine = Machine {
        cpu: "Example 9000".to_owned(),
        arch: "x86_64".to_owned(),
        cores: 8,
        memory_mib: 16384,
        os: "Linux".to_owned(),
    };
    let run = Run::new("pageout 0.1.0", Some("1a2b3c4".to_owned()), machine);
    RecordSet::new(run, records)
}
