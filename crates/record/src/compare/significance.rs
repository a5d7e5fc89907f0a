//! Tests of measured cells, corrected over the whole table.

use super::group::Samples;
use super::levels::ALPHA;
use super::result::{Change, Row, Test};
use crate::schema::Basis;
use crate::stats::{SignedRank, holm, mann_whitney, smallest_p, smallest_signed_rank_p};

/// The test of a measured metric, that of its pairs if there are any, not corrected yet; `None` of
/// any other metric.
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

/// Corrects all tests of the rows as one family. Returns the size of the family, and how many of
/// its tests could not be significant with any values.
pub(super) fn correct(rows: &mut [Row]) -> (usize, usize) {
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
    (raw.len(), out_of_reach)
}

fn tested(change: Option<&Change>) -> Option<(&Change, Test)> {
    let change = change?;
    Some((change, change.test?))
}
