//! Figures and answers as records.

use super::figure::{Figure, Said, Side, Theirs};
use super::predict::{Answer, Quantity, RATIO};
use pageout_experiment::metrics::{NS_PER_PAGE, labels};
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record};

/// The scenario of all of them.
pub(super) const NAME: &str = "reproduce";
/// The end of a metric's name: the least or most that a thread's figure may mean, and the ends of
/// an interval of ours.
pub(super) const LEAST: &str = ", least";
pub(super) const MOST: &str = ", most";
pub(super) const LOW: &str = ", 5 %";
pub(super) const HIGH: &str = ", 95 %";
/// Which way a thread's difference goes: 1 if after is better, -1 if worse, 0 if it is none.
pub(super) const SIDE: &str = "side";

fn fields(figure: &Figure) -> Labels {
    labels([
        ("figure", figure.id.to_owned()),
        ("thread", figure.thread.name().to_owned()),
        ("what", figure.what.to_owned()),
        ("system", figure.system.to_owned()),
    ])
}

/// The figure as published; with why, where nothing answers to it in some way.
pub(super) fn theirs(figure: &Figure, whys: Vec<String>) -> Record {
    let mut fields = fields(figure);
    fields.insert("said".to_owned(), figure.said.name().to_owned());
    if !whys.is_empty() {
        fields.insert("why not".to_owned(), whys.join("; "));
    }
    let metric = |name: String, unit: &str, value: f64| Metric {
        name,
        unit: unit.to_owned(),
        basis: Basis::Published,
        better: Better::Neither,
        source: Some(figure.thread.about().to_owned()),
        values: vec![value],
    };
    let named = |name: &str, unit: &str, value: f64| metric(name.to_owned(), unit, value);
    let mut metrics = match figure.theirs {
        Theirs::Costs { before, after, unit } => {
            let mut all = vec![
                named("before", unit, before),
                named("after", unit, after),
                named(RATIO, "times", before / after),
            ];
            if unit == NS_PER_PAGE {
                all.push(named("saved", unit, before - after));
            }
            all
        }
        Theirs::Ratio { least, most } => {
            let least = metric(format!("{RATIO}{LEAST}"), "times", least);
            let most = most.map(|most| metric(format!("{RATIO}{MOST}"), "times", most));
            [least].into_iter().chain(most).collect()
        }
        Theirs::Value { value, unit, .. } => vec![named("value", unit, value)],
        Theirs::Side(_) => Vec::new(),
    };
    let side = match (figure.said, figure.theirs.side()) {
        (Said::No, _) | (_, Side::Neither) => 0.0,
        (_, Side::Better) => 1.0,
        (_, Side::Worse) => -1.0,
    };
    metrics.push(named(SIDE, "", side));
    Record {
        scenario: NAME.to_owned(),
        ground: Ground::Published,
        seed: 0,
        fields,
        variant: Labels::new(),
        metrics,
    }
}

/// A line of ours.
pub(super) fn ours(figure: &Figure, answer: &Answer) -> Record {
    let mut fields = fields(figure);
    fields.insert("label".to_owned(), answer.label.name().to_owned());
    fields.insert("how".to_owned(), answer.how.to_owned());
    if let Some(platform) = figure.platform.filter(|_| answer.ground == Ground::Model) {
        fields.insert("platform".to_owned(), platform.to_owned());
    }
    let metrics = |quantity: &Quantity| {
        let metric = |end: &str, values: Vec<f64>| Metric {
            name: format!("{}{end}", quantity.name),
            unit: quantity.unit.to_owned(),
            basis: answer.basis,
            better: Better::Neither,
            source: None,
            values,
        };
        let ends =
            quantity.interval.map(|(low, high)| [metric(LOW, vec![low]), metric(HIGH, vec![high])]);
        let middle = metric("", quantity.values.clone());
        [middle].into_iter().chain(ends.into_iter().flatten()).collect::<Vec<_>>()
    };
    Record {
        scenario: NAME.to_owned(),
        ground: answer.ground,
        seed: 0,
        fields,
        variant: Labels::new(),
        metrics: answer.quantities.iter().flat_map(metrics).collect(),
    }
}
