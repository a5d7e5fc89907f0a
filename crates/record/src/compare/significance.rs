//! Tests of measured cells, corrected over their family.

use super::group::Samples;
use super::levels::ALPHA;
use super::role::Role;
use super::row::{Change, Row, Test};
use crate::schema::Basis;
use crate::stats::{SignedRank, holm, mann_whitney, smallest_p, smallest_signed_rank_p};
use serde::Serialize;

/// Tests that are corrected together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Family {
    /// The number of tests.
    pub tests: usize,
    /// The number of tests with too few samples to be significant, whatever the values.
    pub out_of_reach: usize,
}

/// The rows that are tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tested {
    /// Wholes and counts, a family each.
    ByRole,
    /// All rows, as one family.
    All,
}

impl Tested {
    /// Returns true for a role whose rows are tested.
    pub(super) const fn has(self, role: Role) -> bool {
        match self {
            Self::All => true,
            Self::ByRole => matches!(role, Role::Whole | Role::Count),
        }
    }
}

/// Returns the test of a measured metric, not yet corrected: that of its pairs if there are any.
/// `None` for any other metric.
pub(super) fn test(
    base: &Samples<'_>,
    new: &Samples<'_>,
    of_pairs: Option<SignedRank>,
) -> Option<Test> {
    if base.metric.basis != Basis::Measured {
        return None;
    }
    let (p, exact) = match of_pairs {
        Some(of_pairs) => (of_pairs.p, of_pairs.exact),
        None => mann_whitney(&base.values(), &new.values()).map(|test| (test.p, test.exact))?,
    };
    Some(Test { p, exact, p_holm: 1.0, significant: false, in_reach: false })
}

/// Corrects the tests of the rows. Returns the family of the rows that are judged, and that of the
/// others.
pub(super) fn correct(rows: &mut [Row], which: Tested) -> [Family; 2] {
    let is_judged = |row: &Row| which == Tested::All || row.is_judged();
    [true, false].map(|judged| {
        let rows = rows.iter_mut().filter(|row| is_judged(row) == judged);
        correct_family(&mut rows.collect::<Vec<_>>())
    })
}

fn correct_family(rows: &mut [&mut Row]) -> Family {
    let mut raw = Vec::new();
    let mut best = Vec::new();
    for row in &*rows {
        for (change, test) in row.others.iter().filter_map(|change| tested(change.as_ref())) {
            let n = row.base.map_or(0, |base| base.n);
            raw.push(test.p);
            best.push(match change.pairs() {
                Some(pairs) => smallest_signed_rank_p(pairs.n),
                None => smallest_p(n, change.summary.n),
            });
        }
    }
    // Holm's values grow with the raw ones, so the best case bounds every case.
    let mut corrected = holm(&raw).into_iter().zip(holm(&best));
    let mut out_of_reach = 0;
    for change in rows.iter_mut().flat_map(|row| row.others.iter_mut().flatten()) {
        if let Some(test) = &mut change.test {
            let (p, least) = corrected.next().expect("one for each test");
            test.p_holm = p;
            test.significant = p <= ALPHA;
            test.in_reach = least <= ALPHA;
            out_of_reach += usize::from(!test.in_reach);
        }
    }
    Family { tests: raw.len(), out_of_reach }
}

fn tested(change: Option<&Change>) -> Option<(&Change, Test)> {
    let change = change?;
    Some((change, change.test?))
}
