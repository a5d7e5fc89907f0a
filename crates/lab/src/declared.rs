//! The roles of the metrics of real kernels' records.

use crate::Workload;
use pageout_record::compare::{Declarations, Role};
use pageout_record::schema::Ground;

/// Declares every workload that runs on real kernels.
pub fn declare(to: &mut Declarations) {
    Workload::ours().iter().for_each(|of| of.declare(to));
}

impl Workload {
    /// Declares the workload, with the metric that it is judged by.
    pub fn declare(&self, to: &mut Declarations) {
        let whole = self.whole().map(|name| (name.to_owned(), Role::Whole));
        to.declare(self.name(), Ground::Linux, whole);
    }
}
