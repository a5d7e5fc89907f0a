//! The declarations of all scenarios, on all grounds.

use pageout_lab::Workload;
use pageout_record::compare::Declarations;
use std::sync::{Arc, LazyLock, OnceLock};

/// The workload of the user's that this command is about.
static GIVEN: OnceLock<Arc<Workload>> = OnceLock::new();

/// The declarations that every comparison is judged by.
pub(crate) static DECLARED: LazyLock<Declarations> = LazyLock::new(|| {
    let mut all = Declarations::default();
    pageout_experiment::scenarios::declare(&mut all);
    pageout_experiment::variant::declare(&mut all);
    pageout_host::declare(&mut all);
    pageout_lab::declare(&mut all);
    GIVEN.get().into_iter().for_each(|given| given.declare(&mut all));
    all
});

/// Adds the workload that the command line gave.
///
/// # Panics
/// If there is another one, or something was judged before.
pub(crate) fn declare(given: &Arc<Workload>) {
    assert!(LazyLock::get(&DECLARED).is_none(), "a workload is declared before anything is judged");
    GIVEN.set(Arc::clone(given)).expect("a command has one workload");
}
