//! The rows that a benchmark of reclaim times, and each of them in small files, so that its
//! instructions can be counted.

use super::{mglru, reclaim};
use crate::scenario::HostScenario;
use crate::scenarios::reclaim_file;
use pageout_experiment::fields::OrderName;
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_experiment::variant::Variant;

/// A benchmark whose times follow from counts of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Predictable {
    /// `bench reclaim`.
    Reclaim,
    /// `bench mglru`.
    Mglru,
}

/// The scenarios and variants of a benchmark: each scenario under each variant.
#[derive(Debug)]
pub struct Plan {
    pub(super) scenarios: Vec<ReclaimFile>,
    pub(super) variants: Vec<Variant>,
}

/// A scenario under a variant.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The scenario, as it is timed.
    pub scenario: ReclaimFile,
    /// The variant.
    pub variant: Variant,
}

/// Pages of 4 KiB in the smaller of the two files whose reclaim is counted: of single pages, and of
/// larger folios. Each instruction is a step, so they are few.
const SINGLE: u64 = 40;
const LARGER: u64 = 160;

impl Predictable {
    /// Returns the rows, in an order that does not change.
    pub fn rows(self) -> Vec<Row> {
        let Plan { scenarios, variants } = match self {
            Self::Reclaim => reclaim::plan(),
            Self::Mglru => mglru::plan(),
        };
        let of_scenario = |scenario: ReclaimFile| {
            variants
                .iter()
                .map(move |variant| Row { scenario, variant: *variant })
                .collect::<Vec<_>>()
        };
        scenarios.into_iter().flat_map(of_scenario).collect()
    }
}

impl Row {
    /// Sets the row up in two small files, the second of twice the size, and reclaims from each;
    /// `around` runs the reclaim itself. What the second takes more than the first is what pages
    /// take: the fixed part of a request, of which a large file has none to speak of, is in both.
    /// Returns the pages of 4 KiB that are reclaimed more.
    pub fn twice(&self, seed: u64, around: &mut dyn FnMut(&mut dyn FnMut())) -> u64 {
        let pages = if self.is_single() { SINGLE } else { LARGER };
        let [one, two] = [pages, 2 * pages].map(|pages| {
            let scenario = ReclaimFile { bytes: pages << 12, ..self.scenario };
            reclaim_file::once(&scenario, &mut scenario.arena(), self.variant, seed, around)
        });
        two - one
    }

    fn is_single(&self) -> bool {
        self.scenario.orders == Orders::All(OrderName::Number(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_reclaims_more_whole_folios_from_the_second_file() {
        for what in [Predictable::Reclaim, Predictable::Mglru] {
            for row in what.rows() {
                let mut reclaims = 0;
                let pages = row.twice(1, &mut |reclaim| {
                    reclaim();
                    reclaims += 1;
                });
                assert_eq!(reclaims, 2, "one of each size: {row:?}");
                let folio = if row.is_single() { 1 } else { 16 };
                assert!(pages > 0 && pages.is_multiple_of(folio), "{pages}: {row:?}");
            }
        }
    }
}
