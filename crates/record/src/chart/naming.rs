//! Titles of pictures of single metrics.

use crate::render::pairs;
use crate::schema::{Labels, Metric, Record};

/// The labels that tell records apart.
#[derive(Debug, Clone)]
pub struct Naming {
    scenario: bool,
    fields: Vec<String>,
    axes: Vec<String>,
}

impl Naming {
    /// Finds the labels that tell these metrics' records apart.
    pub fn of(all: &[(&Record, &Metric)]) -> Self {
        let names = |of: fn(&Record) -> &Labels| {
            let mut names: Vec<String> =
                all.iter().flat_map(|(record, _)| of(record).keys().cloned()).collect();
            names.sort();
            names.dedup();
            let first = |name: &String| all.first().and_then(|(record, _)| of(record).get(name));
            let varies =
                |name: &String| all.iter().any(|(record, _)| of(record).get(name) != first(name));
            names.retain(varies);
            names
        };
        let scenario = all.iter().any(|(record, _)| record.scenario != all[0].0.scenario);
        Self { scenario, fields: names(|record| &record.fields), axes: names(|r| &r.variant) }
    }

    /// Returns the title of a metric, with the labels that tell its record from others.
    pub fn title(&self, record: &Record, metric: &Metric) -> String {
        self.title_with(record, metric, None)
    }

    /// Returns that title with the variant's name, if one is given, in place of its choices; an
    /// empty one leaves them out.
    pub fn title_with(&self, record: &Record, metric: &Metric, name: Option<&str>) -> String {
        let of = |names: &[String], labels: &Labels| {
            pairs(labels.iter().filter(|(name, _)| names.contains(name)))
        };
        let scenario = if self.scenario { record.scenario.as_str() } else { "" };
        let (fields, axes) = (of(&self.fields, &record.fields), of(&self.axes, &record.variant));
        let axes = name.filter(|_| !axes.is_empty()).map_or(axes, str::to_owned);
        let told: Vec<&str> =
            [scenario, &fields, &axes].into_iter().filter(|text| !text.is_empty()).collect();
        match told[..] {
            [] => metric.name.clone(),
            _ => format!("{} ({})", metric.name, told.join("; ")),
        }
    }
}
