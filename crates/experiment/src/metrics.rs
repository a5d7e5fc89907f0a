//! Metrics and labels as records have them.

use pageout_record::schema::{Basis, Better, Labels, Metric};

/// Unit of times: a page that two processes map is two pages. All formats here have 4K pages.
pub const NS_PER_PAGE: &str = "ns/4K page";

/// Labels from names and values.
pub fn labels<const N: usize>(pairs: [(&str, String); N]) -> Labels {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A measured metric; lower is better.
pub fn measured(name: &str, unit: &str, values: &[f64]) -> Metric {
    Metric::new(name, unit, Basis::Measured, Better::Lower, values.to_vec())
}

/// A metric computed from counts and prices; lower is better.
pub fn modelled(name: &str, unit: &str, values: &[f64]) -> Metric {
    Metric { basis: Basis::Modelled, ..measured(name, unit, values) }
}

/// A metric computed with constants that were chosen to meet what was counted elsewhere; lower is
/// better.
pub fn fitted(name: &str, unit: &str, value: f64) -> Metric {
    Metric { basis: Basis::Fitted, ..measured(name, unit, &[value]) }
}

/// A counted metric.
pub fn counted(name: &str, unit: &str, value: f64, better: Better) -> Metric {
    Metric::new(name, unit, Basis::Counted, better, vec![value])
}

/// A counted metric that is so many a page; lower is better.
pub fn per_page(name: &str, value: f64) -> Metric {
    counted(name, "per 4K page", value, Better::Lower)
}
