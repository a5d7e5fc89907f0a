//! Metrics and labels as records have them.

use pageout_record::compare::{Role, drawn_name};
use pageout_record::schema::{Basis, Better, Labels, Metric};

/// The unit of times. Pages of every format count in units of 4 KiB. In scenarios that only age, a
/// page counts once for each process that maps it.
pub const NS_PER_PAGE: &str = "ns/4K page";

/// Unit of counts by pages.
pub const PER_PAGE: &str = "per 4K page";

/// The declaration of a metric, which has no values yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetricSpec {
    /// The metric's name in records.
    pub name: &'static str,
    /// The unit of the metric's values; empty for a pure number.
    pub unit: &'static str,
    /// The way in which the metric's values come about.
    pub basis: Basis,
    /// The direction that is an improvement.
    pub better: Better,
    /// The role in the verdict on its scenario.
    pub role: Role,
    /// A description of what it measures.
    pub about: &'static str,
    /// True if records have a second metric, `NAME, drawn`, when prices are drawn. It has one value
    /// a draw, in the same order under every variant.
    pub drawn: bool,
}

impl MetricSpec {
    /// Returns the metric with these samples.
    pub fn of(&self, values: &[f64]) -> Metric {
        Metric::new(self.name, self.unit, self.basis, self.better, values.to_vec())
    }

    /// Returns the metric with one value.
    pub fn one(&self, value: f64) -> Metric {
        self.of(&[value])
    }

    /// Returns the metric `NAME, drawn`, with one value for each draw of prices.
    pub fn of_draws(&self, values: &[f64]) -> Metric {
        Metric { name: self.drawn_name(), ..self.of(values) }
    }

    /// Returns the name of the metric that has one value a draw.
    pub fn drawn_name(&self) -> String {
        drawn_name(self.name)
    }

    /// Returns all names that the metric has in records.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.roles().map(|(name, _)| name)
    }

    /// Returns the same names with their roles. The metric of draws is a diagnostic, because it
    /// repeats the other.
    pub fn roles(&self) -> impl Iterator<Item = (String, Role)> {
        let drawn = self.drawn.then(|| (self.drawn_name(), Role::Diagnostic));
        [(self.name.to_owned(), self.role)].into_iter().chain(drawn)
    }

    /// Returns the same quantity on another basis.
    #[must_use]
    pub const fn on(self, basis: Basis) -> Self {
        Self { basis, ..self }
    }

    /// Returns the same quantity in another unit.
    #[must_use]
    pub const fn per(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Returns the same quantity with another direction of improvement.
    #[must_use]
    pub const fn being(self, better: Better) -> Self {
        Self { better, ..self }
    }

    /// Returns the same quantity with a second metric for draws.
    #[must_use]
    pub const fn drawn(self) -> Self {
        Self { drawn: true, ..self }
    }

    /// Returns the same quantity as the one that its scenario is judged by.
    #[must_use]
    pub const fn whole(self) -> Self {
        Self { role: Role::Whole, ..self }
    }

    /// Returns the same quantity as a figure about the measurement itself.
    #[must_use]
    pub const fn diagnostic(self) -> Self {
        Self { role: Role::Diagnostic, ..self }
    }
}

/// Declares metrics, each as a constant, and the list of them: `CONSTANT: NAME, UNIT, BASIS,
/// BETTER`. A declaration may end with `, whole` for the metric that the scenario is judged by, `,
/// diagnostic` for a figure about the measurement, and `, drawn` if draws have a metric too.
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

/// Makes labels from names and values.
pub fn labels<const N: usize>(pairs: [(&str, String); N]) -> Labels {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Makes a measured metric; lower is better.
pub fn measured(name: &str, unit: &str, values: &[f64]) -> Metric {
    Metric::new(name, unit, Basis::Measured, Better::Lower, values.to_vec())
}

/// Makes a counted metric.
pub fn counted(name: &str, unit: &str, value: f64, better: Better) -> Metric {
    Metric::new(name, unit, Basis::Counted, better, vec![value])
}

/// Makes a metric counted per page; lower is better.
pub fn per_page(name: &str, value: f64) -> Metric {
    counted(name, PER_PAGE, value, Better::Lower)
}
