//! The scenarios with what they do and their fields, as help has them.

use pageout_experiment::declare::FieldHelp;
use pageout_experiment::scenarios::{OnGround, Scenario};
use pageout_record::schema::Ground;
use std::fmt::Write;

/// The widest line.
const COLUMNS: usize = 100;

/// Every scenario with what it does, and its fields with their defaults.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for scenario in Scenario::ALL {
        let alone = !scenario.runs_on(Ground::Host);
        let only = if alone { "; on --ground model alone" } else { "" };
        let _ = writeln!(text, "  {}{only}", scenario.name());
        text += &wrapped(scenario.about(), "      ");
        for form in scenario.forms() {
            let mut fields = defaults(&form);
            if let Some(about) = form.about {
                text += &wrapped(&format!("{}: {about}", form.ground), "      ");
            } else if form.ground == Ground::Model && !alone {
                text += "      model: with these instead, or besides:\n";
                let known = defaults(&scenario.forms()[0]);
                fields.retain(|field| !known.contains(field));
            }
            text += &wrapped(&fields.join("  "), "        ");
        }
    }
    text
}

/// Fields with their defaults, as they are typed.
fn defaults(form: &OnGround) -> Vec<String> {
    form.given().iter().map(typed).collect()
}

/// A field with its default, as it is typed.
pub(crate) fn typed(field: &FieldHelp) -> String {
    match field.default.as_str() {
        "" => format!("{}=...", field.name),
        default => format!("{}={default}", field.name),
    }
}

/// Text in lines, each indented.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(COLUMNS).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(text, options.break_words(false)) + "\n"
}
