//! Figures and answers as records.

use super::answer::{Answer, Quantity, RATIO};
use super::figure::{Certainty, Figure, Side, Theirs};
use pageout_experiment::metrics::{NS_PER_PAGE, labels};
use pageout_record::schema::{Basis, Better, Bound, Claim, Ground, Labels, Metric, Record};

/// The scenario of all these records.
pub(super) const NAME: &str = "reproduce";
/// The metric that gives the direction of a thread's difference.
const SIDE: &str = "side";
/// The field that names the one setting which differs from the assumed ones.
pub(super) const SETTING: &str = "setting";

fn fields(figure: &Figure) -> Labels {
    labels([
        ("figure", figure.id.to_owned()),
        ("thread", figure.thread.name().to_owned()),
        ("what", figure.what.to_owned()),
        ("system", figure.system.to_owned()),
    ])
}

/// Returns the record of the figure as published, with the reasons for which methods have no
/// answer.
pub(super) fn theirs(figure: &Figure, whys: Vec<String>) -> Record {
    let mut fields = fields(figure);
    fields.insert("said".to_owned(), figure.said.name().to_owned());
    if !whys.is_empty() {
        fields.insert("why not".to_owned(), whys.join("; "));
    }
    let metric = |name: &str, unit: &str, values: Vec<f64>| Metric {
        source: Some(figure.thread.about().to_owned()),
        ..Metric::new(name, unit, Basis::Published, Better::Neither, values)
    };
    let named = |name: &str, unit: &str, value: f64| metric(name, unit, vec![value]);
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
            let bound = Some(Bound { at_least: Some(least), at_most: most });
            vec![Metric { bound, ..metric(RATIO, "times", Vec::new()) }]
        }
        Theirs::Value { value, unit, .. } => vec![named("value", unit, value)],
        Theirs::Side(_) => Vec::new(),
    };
    let claim = match (figure.said, figure.theirs.side()) {
        (Certainty::No, _) | (_, Side::Neither) => Claim::NoDifference,
        (_, Side::Better) => Claim::Better,
        (_, Side::Worse) => Claim::Worse,
    };
    metrics.push(Metric { claim: Some(claim), ..metric(SIDE, "", Vec::new()) });
    Record {
        scenario: NAME.to_owned(),
        ground: Ground::Published,
        seed: 0,
        fields,
        variant: Labels::new(),
        metrics,
    }
}

/// Returns the record of a prediction with one setting that differs from the assumed ones.
pub(super) fn otherwise(figure: &Figure, setting: &str, answer: &Answer) -> Record {
    let mut record = ours(figure, answer);
    record.fields.insert(SETTING.to_owned(), setting.to_owned());
    record
}

/// Returns the record of a line of ours.
pub(super) fn ours(figure: &Figure, answer: &Answer) -> Record {
    let mut fields = fields(figure);
    fields.insert("label".to_owned(), answer.label.name().to_owned());
    fields.insert("how".to_owned(), answer.how.to_owned());
    if let Some(platform) = figure.platform.filter(|_| answer.ground == Ground::Model) {
        fields.insert("platform".to_owned(), platform.to_owned());
    }
    let metric = |quantity: &Quantity| {
        let Quantity { name, unit, values, interval } = quantity.clone();
        Metric { interval, ..Metric::new(name, unit, answer.basis, Better::Neither, values) }
    };
    Record {
        scenario: NAME.to_owned(),
        ground: answer.ground,
        seed: 0,
        fields,
        variant: Labels::new(),
        metrics: answer.quantities.iter().map(metric).collect(),
    }
}
