//! The roles of the metrics of real kernels' records.

use crate::Scenario;
use pageout_record::compare::{Declarations, Role};
use pageout_record::schema::Ground;

/// Declares every scenario that runs on real kernels.
pub fn declare(to: &mut Declarations) {
    for scenario in Scenario::ALL {
        let whole = scenario.whole().map(|name| (name.to_owned(), Role::Whole));
        to.declare(scenario.name(), Ground::Linux, whole);
    }
}
