//! The declarations of all scenarios, on all grounds.

use pageout_record::compare::Declarations;
use std::sync::LazyLock;

/// The declarations that every comparison is judged by.
pub(crate) static DECLARED: LazyLock<Declarations> = LazyLock::new(|| {
    let mut all = Declarations::default();
    pageout_experiment::scenarios::declare(&mut all);
    pageout_experiment::variant::declare(&mut all);
    pageout_host::declare(&mut all);
    pageout_lab::declare(&mut all);
    all
});
