//! Descriptions of scenarios before they run, for help and for `docs/scenarios.md`.

use crate::args::ScenariosArgs;
use crate::error::CliError;
use crate::help::{Section, laid_out, wrapped};
use crate::scenario_list::{typed, with_fields};
use crate::{output, terminal};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::{OnGround, Scenario};
use pageout_record::compare::Role;
use pageout_record::schema::Better;
use std::fmt::Write;

/// Runs `scenarios`: prints all of them, or one with its fields.
pub(crate) fn scenarios(args: &ScenariosArgs) -> Result<(), CliError> {
    let text = match (&args.scenario, args.markdown) {
        (Some(name), _) => detail(Scenario::find(name)?),
        (None, true) => reference(),
        (None, false) => return output::print_coloured(&list()),
    };
    // The page has lines of a fixed width.
    if args.markdown { output::to(None, text.as_bytes()) } else { output::print_text(&text) }
}

/// Lists every scenario with its fields.
fn list() -> String {
    let heading = "Scenarios, with their fields and defaults";
    let last = "`pageout scenarios NAME` explains a scenario's fields.";
    let sections = [Section::Terms { heading, terms: with_fields() }, Section::Prose(last)];
    laid_out(&sections, terminal::columns())
}

/// Describes one scenario in full.
fn detail(scenario: Scenario) -> String {
    let width = terminal::columns();
    let mut text = format!("{}\n{}", scenario.name(), wrapped(scenario.about(), "  ", width));
    for form in scenario.forms() {
        let _ = write!(text, "\nOn --ground {}:\n", form.ground);
        text += &form.about.map(|about| wrapped(about, "  ", width)).unwrap_or_default();
        for row in form.given() {
            let _ = writeln!(text, "  {}", typed(&row));
            text += &wrapped(&format!("{}: {}", row.about, row.accepted), "      ", width);
        }
        text += "\n  Metrics of its records:\n";
        for metric in &form.metrics {
            let unit = if metric.unit.is_empty() { "a number" } else { metric.unit };
            let (basis, better) = (metric.basis, direction(metric.better));
            let drawn = if metric.drawn { " (and a value a draw: NAME, drawn)" } else { "" };
            let role = match role(metric.role) {
                "" => String::new(),
                role => format!(", {role}"),
            };
            let _ = writeln!(text, "  {}: {unit}, {basis}{better}{role}{drawn}", metric.name);
            text += &wrapped(metric.about, "      ", width);
        }
    }
    text
}

/// Describes the direction of a metric that is an improvement.
const fn direction(better: Better) -> &'static str {
    match better {
        Better::Lower => ", lower is better",
        Better::Higher => ", higher is better",
        Better::Neither => "",
    }
}

/// Describes the role of a metric; empty for an ordinary figure.
const fn role(of: Role) -> &'static str {
    match of {
        Role::Whole => "whole",
        Role::Part => "part",
        Role::Count => "",
        Role::Diagnostic => "diagnostic",
    }
}

/// The number of columns of the page.
const PAGE: usize = 100;

/// Writes the page of all scenarios. Metrics that several of them have are described once, at the
/// end.
fn reference() -> String {
    let mut text = "\
# Scenarios

`pageout run` and `pageout compare` take a scenario, then fields as `FIELD=VALUE`. Every field takes
several values with commas between; each combination is then run. A field left out has its default,
or every value of it where the default is a list. The verdict on a variant is that on its whole
([records](records.md#verdicts)). `pageout scenarios --markdown` prints this page.
"
    .to_owned();
    let mut described: Vec<String> = Vec::new();
    for scenario in Scenario::ALL {
        let _ = write!(text, "\n## {}\n\n{}", scenario.name(), wrapped(scenario.about(), "", PAGE));
        let mut shown = Vec::new();
        for form in scenario.forms() {
            let _ = write!(text, "\n### `{}` on ground `{}`\n\n", scenario.name(), form.ground);
            if let Some(about) = form.about {
                let _ = writeln!(text, "{}", wrapped(about, "", PAGE));
            }
            text += &field_table(&form, &mut shown);
            let names: Vec<String> = form.metrics.iter().map(|m| format!("`{}`", m.name)).collect();
            let names = format!("[Metrics](#metrics): {}.", names.join(", "));
            text += &wrapped(&names, "", PAGE);
            for row in form.metrics.iter().map(metric_row) {
                if !described.contains(&row) {
                    described.push(row);
                }
            }
        }
    }
    text += "
## Metrics

Each is described once; grounds differ in the basis. `--fail-on` takes the names. Where there are
several, the others have a value for each draw of prices.

| metric | unit | basis | better | role | what it says |
|---|---|---|---|---|---|
";
    text + &described.concat()
}

/// Writes the fields of a form. Those that an earlier form has alike are named only.
fn field_table(form: &OnGround, shown: &mut Vec<String>) -> String {
    let (mut rows, mut repeated) = (String::new(), Vec::new());
    for row in form.given() {
        let default = match row.default.as_str() {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        let (name, about, accepted) = (row.name, row.about, row.accepted);
        let row = format!("| `{name}` | {default} | {about} | {accepted} |\n");
        if shown.contains(&row) {
            repeated.push(format!("`{name}`"));
        } else {
            rows += &row;
            shown.push(row);
        }
    }
    let mut text = String::new();
    if !repeated.is_empty() {
        let names = format!("Fields as above: {}.", repeated.join(", "));
        let _ = writeln!(text, "{}", wrapped(&names, "", PAGE));
    }
    if !rows.is_empty() {
        let heads = "| field | default | what it is | accepted |\n|---|---|---|---|";
        let _ = writeln!(text, "{heads}\n{rows}");
    }
    text
}

/// Writes the row that describes a metric.
fn metric_row(metric: &MetricSpec) -> String {
    let better = match metric.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
        Better::Neither => "",
    };
    let names = metric.names().collect::<Vec<_>>().join("`, `");
    let (unit, basis, about) = (metric.unit, metric.basis, metric.about);
    format!("| `{names}` | {unit} | {basis} | {better} | {} | {about} |\n", role(metric.role))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_declarations_say() {
        let page = include_str!("../../../docs/scenarios.md");
        let declared = reference();
        assert!(
            page == declared,
            "write it anew: cargo run -- scenarios --markdown > docs/scenarios.md"
        );
    }

    #[test]
    fn every_field_says_what_it_is() {
        for scenario in Scenario::ALL {
            for form in scenario.forms() {
                assert!(!form.fields.is_empty(), "{}", scenario.name());
                for field in form.fields {
                    assert!(!field.about.is_empty(), "{} {}", scenario.name(), field.name);
                }
                let names: Vec<_> = form.metrics.iter().flat_map(MetricSpec::names).collect();
                for (k, name) in names.iter().enumerate() {
                    assert!(!names[..k].contains(name), "{} {name}", scenario.name());
                }
            }
        }
    }
}
