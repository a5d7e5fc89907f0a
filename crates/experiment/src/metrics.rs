//! Metrics and labels as records have them.

use pageout_record::compare::{Role, drawn_name};
use pageout_record::schema::{Basis, Better, Labels, Metric};

/// Unit of times: a page that two processes map is two pages. All formats here have 4K pages.
pub const NS_PER_PAGE: &str = "ns/4K page";

/// Unit of counts by pages.
pub const PER_PAGE: &str = "per 4K page";

/// What a metric is, before it has values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetricSpec {
    /// Its name in records.
    pub name: &'static str,
    /// The unit of its values; empty for a pure number.
    pub unit: &'static str,
    /// How values come to be.
    pub basis: Basis,
    /// Which direction is an improvement.
    pub better: Better,
    /// The role in the verdict on its scenario.
    pub role: Role,
    /// What it says.
    pub about: &'static str,
    /// Whether a metric `NAME, drawn` stands beside it where prices are drawn: the same, a value a
    /// draw, in the same order under every variant.
    pub drawn: bool,
}

impl MetricSpec {
    /// It with these samples.
    pub fn of(&self, values: &[f64]) -> Metric {
        Metric::new(self.name, self.unit, self.basis, self.better, values.to_vec())
    }

    /// It with one value.
    pub fn one(&self, value: f64) -> Metric {
        self.of(&[value])
    }

    /// The same with a value a draw of prices.
    pub fn of_draws(&self, values: &[f64]) -> Metric {
        Metric { name: self.drawn_name(), ..self.of(values) }
    }

    /// The name of the metric with a value a draw.
    pub fn drawn_name(&self) -> String {
        drawn_name(self.name)
    }

    /// The names that it has in records.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.roles().map(|(name, _)| name)
    }

    /// The same names, each with its role: a metric of draws repeats the other one.
    pub fn roles(&self) -> impl Iterator<Item = (String, Role)> {
        let drawn = self.drawn.then(|| (self.drawn_name(), Role::Diagnostic));
        [(self.name.to_owned(), self.role)].into_iter().chain(drawn)
    }

    /// The same quantity on another basis.
    #[must_use]
    pub const fn on(self, basis: Basis) -> Self {
        Self { basis, ..self }
    }

    /// The same quantity in another unit.
    #[must_use]
    pub const fn per(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// The same quantity where another direction is an improvement.
    #[must_use]
    pub const fn being(self, better: Better) -> Self {
        Self { better, ..self }
    }

    /// The same quantity, with a metric of draws beside it.
    #[must_use]
    pub const fn drawn(self) -> Self {
        Self { drawn: true, ..self }
    }

    /// The same quantity as what its scenario is judged by.
    #[must_use]
    pub const fn whole(self) -> Self {
        Self { role: Role::Whole, ..self }
    }

    /// The same quantity as one about the measurement itself.
    #[must_use]
    pub const fn diagnostic(self) -> Self {
        Self { role: Role::Diagnostic, ..self }
    }
}

/// Declares metrics, each a constant, and the list of them: `CONSTANT: NAME, UNIT, BASIS, BETTER`.
/// After that stands `, whole` for what the scenario is judged by, `, diagnostic` for a figure
/// about the measurement, and `, drawn` where a metric of draws stands beside it.
macro_rules! metrics {
    (
        $(#[$of:meta])*
        pub $LIST:ident = {
            $(
                $(#[doc = $about:literal])+
                $METRIC:ident:
                    $name:expr, $unit:expr, $basis:ident, $better:ident $(, $also:ident)*;
            )+
        }
    ) => {
        $(
            $(#[doc = $about])+
            pub const $METRIC: $crate::metrics::MetricSpec = $crate::metrics::MetricSpec {
                name: $name,
                unit: $unit,
                basis: pageout_record::schema::Basis::$basis,
                better: pageout_record::schema::Better::$better,
                role: pageout_record::compare::Role::Count,
                about: concat!($($about),+).trim_ascii(),
                drawn: false,
            }
            $(.$also())*;
        )+

        $(#[$of])*
        pub const $LIST: &[$crate::metrics::MetricSpec] = &[$($METRIC),+];
    };
}
pub(crate) use metrics;

/// Labels from names and values.
pub fn labels<const N: usize>(pairs: [(&str, String); N]) -> Labels {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A measured metric; lower is better.
pub fn measured(name: &str, unit: &str, values: &[f64]) -> Metric {
    Metric::new(name, unit, Basis::Measured, Better::Lower, values.to_vec())
}

/// A counted metric.
pub fn counted(name: &str, unit: &str, value: f64, better: Better) -> Metric {
    Metric::new(name, unit, Basis::Counted, better, vec![value])
}

/// A counted metric that is so many a page; lower is better.
pub fn per_page(name: &str, value: f64) -> Metric {
    counted(name, PER_PAGE, value, Better::Lower)
}
