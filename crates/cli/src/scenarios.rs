//! What can be said of scenarios before they run: for help, and for `docs/scenarios.md`.

use crate::args::ScenariosArgs;
use crate::error::CliError;
use crate::output;
use pageout_experiment::declare::FieldHelp;
use pageout_experiment::scenarios::{OnGround, Scenario};
use pageout_record::schema::Ground;
use std::fmt::Write;

/// The widest line.
const COLUMNS: usize = 100;

/// `scenarios`: all of them, or one with its fields.
pub(crate) fn scenarios(args: &ScenariosArgs) -> Result<(), CliError> {
    let text = match (&args.scenario, args.markdown) {
        (Some(name), _) => detail(Scenario::named(name).ok_or_else(|| CliError::unknown(name))?),
        (None, true) => reference(),
        (None, false) => list() + "`pageout scenarios NAME` has a scenario's fields.\n",
    };
    output::to(None, text.as_bytes())
}

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
    let lru = form.takes_lru.then(|| "lru=classic".to_owned());
    form.fields.iter().map(typed).chain(lru).collect()
}

fn typed(field: &FieldHelp) -> String {
    match field.default.as_str() {
        "" => format!("{}=...", field.name),
        default => format!("{}={default}", field.name),
    }
}

/// All that is known of one scenario.
fn detail(scenario: Scenario) -> String {
    let mut text = format!("{}\n{}", scenario.name(), wrapped(scenario.about(), "  "));
    for form in scenario.forms() {
        let _ = write!(text, "\nOn --ground {}:\n", form.ground);
        text += &form.about.map(|about| wrapped(about, "  ")).unwrap_or_default();
        for row in rows(&form) {
            let _ = writeln!(text, "  {}", typed(&row));
            text += &wrapped(&format!("{}: {}", row.about, row.accepted), "      ");
        }
    }
    text
}

/// The page of all scenarios.
fn reference() -> String {
    let mut text = "\
# Scenarios

What `pageout run` and `pageout compare` take: a scenario, then fields as `FIELD=VALUE`. Every field
takes several values with commas between; each combination is then run. A field left out has its
default, or every value of it where the default is a list. `pageout scenarios --markdown` prints
this page.
"
    .to_owned();
    for scenario in Scenario::ALL {
        let _ = write!(text, "\n## {}\n\n{}", scenario.name(), wrapped(scenario.about(), ""));
        for form in scenario.forms() {
            let _ = write!(text, "\n### `{}` on ground `{}`\n\n", scenario.name(), form.ground);
            if let Some(about) = form.about {
                let _ = writeln!(text, "{}", wrapped(about, ""));
            }
            text += "| field | default | what it is | accepted |\n|---|---|---|---|\n";
            for row in rows(&form) {
                let default = match row.default.as_str() {
                    "" => String::new(),
                    default => format!("`{default}`"),
                };
                let _ = writeln!(
                    text,
                    "| `{}` | {default} | {} | {} |",
                    row.name, row.about, row.accepted
                );
            }
        }
    }
    text
}

/// The form's fields, and the axis that is named among them.
fn rows(form: &OnGround) -> Vec<FieldHelp> {
    let lru = form.takes_lru.then(|| FieldHelp {
        name: "lru",
        about: "by which lists folios age, in every variant".to_owned(),
        accepted: "classic or mglru".to_owned(),
        default: "classic".to_owned(),
    });
    form.fields.iter().cloned().chain(lru).collect()
}

fn wrapped(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(COLUMNS).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(text, options.break_words(false)) + "\n"
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
    fn every_field_s_default_is_accepted() {
        for scenario in Scenario::ALL {
            for form in scenario.forms() {
                assert!(!form.fields.is_empty(), "{}", scenario.name());
                for field in form.fields {
                    assert!(!field.about.is_empty(), "{} {}", scenario.name(), field.name);
                }
            }
        }
    }
}
