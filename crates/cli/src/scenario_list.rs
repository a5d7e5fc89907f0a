//! The scenarios with their descriptions and fields, as help has them.

use pageout_experiment::declare::FieldHelp;
use pageout_experiment::scenarios::{OnGround, Scenario};
use pageout_record::schema::Ground;

/// Describes each scenario in a line.
pub(crate) fn briefly() -> Vec<(String, String)> {
    let briefly = |scenario: Scenario| {
        let only = if scenario.runs_on(Ground::Host) { "" } else { " (--ground model)" };
        (scenario.name().to_owned(), format!("{}{only}", scenario.brief()))
    };
    Scenario::ALL.map(briefly).into()
}

/// Returns each scenario with its fields and their defaults.
pub(crate) fn with_fields() -> Vec<(String, String)> {
    Scenario::ALL.map(|scenario| (scenario.name().to_owned(), fields(scenario))).into()
}

/// Returns lines on a scenario: its description, then the fields of each of its forms.
fn fields(scenario: Scenario) -> String {
    let on_host = scenario.runs_on(Ground::Host);
    let mut lines = vec![scenario.about().to_owned()];
    if !on_host {
        lines.push("Runs on --ground model only.".to_owned());
    }
    for form in scenario.forms() {
        let mut fields = defaults(&form);
        if let Some(about) = form.about {
            lines.push(format!("--ground {}: {about}", form.ground));
        } else if form.ground == Ground::Model && on_host {
            lines.push("--ground model has these instead, or besides:".to_owned());
            let known = defaults(&scenario.forms()[0]);
            fields.retain(|field| !known.contains(field));
        }
        lines.push(fields.join("  "));
    }
    lines.join("\n")
}

/// Returns fields with their defaults, as they are typed.
fn defaults(form: &OnGround) -> Vec<String> {
    form.given().iter().map(typed).collect()
}

/// Returns a field with its default, as it is typed.
pub(crate) fn typed(field: &FieldHelp) -> String {
    match field.default.as_str() {
        "" => format!("{}=...", field.name),
        default => format!("{}={default}", field.name),
    }
}
