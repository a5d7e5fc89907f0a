//! Completions for shells: scenarios, their fields, and the fields' values. Commands and options
//! are known from their declarations.

use clap::Command;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use pageout_experiment::declare::FieldHelp;
use pageout_experiment::scenarios::Scenario;
use pageout_lab::Workload;
use std::ffi::OsStr;

/// The environment variable by which a shell asks; its value names the shell.
const ASKED: &str = "COMPLETE";

/// Returns true if a shell started this process to ask for completions, which were then printed.
pub(crate) fn answered(of: fn() -> Command) -> Result<bool, clap::Error> {
    CompleteEnv::with_factory(of)
        .var(ASKED)
        .try_complete(std::env::args_os(), std::env::current_dir().ok().as_deref())
}

/// Returns the script that makes a shell ask, in the shell's language.
pub(crate) fn script(shell: Shell) -> Vec<u8> {
    let shell = shell.to_string();
    let shells = Shells::builtins();
    let known = shells.completer(&shell).expect("the library knows every shell of its own");
    let name = env!("CARGO_PKG_NAME");
    let mut script = Vec::new();
    known.write_registration(ASKED, name, name, name, &mut script).expect("memory takes all");
    script
}

/// Scenarios of a name that begins so.
pub(crate) fn scenarios(current: &OsStr) -> Vec<CompletionCandidate> {
    let begun = current.to_string_lossy();
    let named = Scenario::ALL.into_iter().filter(|one| one.name().starts_with(&*begun));
    named.map(|one| about(CompletionCandidate::new(one.name()), one.about())).collect()
}

/// Returns true for a name of a field of any scenario, of this program's grounds or of the lab.
pub(crate) fn has_field(name: &str) -> bool {
    let forms = Scenario::ALL.into_iter().flat_map(Scenario::forms);
    let mut fields = forms.flat_map(|form| form.given());
    fields.any(|field| field.name == name)
        || Workload::ours().iter().any(|workload| workload.has_field(name))
}

/// Fields of the scenario on the command line, or values of the one that is begun.
pub(crate) fn fields(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = words();
    let mut named = words.iter().enumerate();
    let found = named.find_map(|(at, word)| Some((at, Scenario::named(word)?)));
    let Some((at, scenario)) = found else { return Vec::new() };
    let known: Vec<FieldHelp> = scenario.forms().iter().flat_map(|form| form.given()).collect();
    let begun = current.to_string_lossy();
    let of = |name: &str| known.iter().filter(|field| field.name == name).collect::<Vec<_>>();
    match begun_value(&begun, words[at..].iter().rev().skip(1)) {
        Some((name, list, start)) if !of(name).is_empty() => values(&of(name), list, &start),
        _ => names(&known, &begun),
    }
}

/// Returns the words of the command line to complete: the shell's own come first, and the word that
/// is begun last.
fn words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns the name before the value that is begun, the value's text, and the part of the word
/// before it; `before` are the words before, the last one first.
fn begun_value<'a>(
    begun: &'a str,
    mut before: impl Iterator<Item = &'a String>,
) -> Option<(&'a str, &'a str, String)> {
    if let Some((name, list)) = begun.split_once('=') {
        return Some((name, list, format!("{name}=")));
    }
    // bash takes `=` for the end of a word, and does not pass it on.
    before.find(|word| *word != "=").map(|last| (last.as_str(), begun, String::new()))
}

/// Returns the lab's scenarios whose name begins with the current word; after a scenario, its
/// fields or their values.
pub(crate) fn lab_words(current: &OsStr) -> Vec<CompletionCandidate> {
    let begun = current.to_string_lossy();
    let words = words();
    let before = words.iter().rev().skip(1);
    let Some(workload) = before.clone().find_map(|word| Workload::named(word)) else {
        let begun = Workload::ours().iter().filter(|of| of.name().starts_with(&*begun));
        let described = begun.map(|workload| {
            let (text, _) = workload.about();
            about(CompletionCandidate::new(workload.name()), text)
        });
        return described.collect();
    };
    let fields = workload.field_names();
    let Some((name, list, start)) = begun_value(&begun, before) else { return Vec::new() };
    if let Some((_, values)) = fields.iter().find(|(field, _)| field == name) {
        let (given, begun) = list.split_at(list.rfind(',').map_or(0, |comma| comma + 1));
        let values = values.iter().filter(|value| value.starts_with(begun));
        return values.map(|v| CompletionCandidate::new(format!("{start}{given}{v}"))).collect();
    }
    let fields = fields.iter().filter(|(field, _)| field.starts_with(&*begun));
    fields.map(|(field, _)| CompletionCandidate::new(format!("{field}="))).collect()
}

/// Fields of a name that begins so, each once.
fn names(known: &[FieldHelp], begun: &str) -> Vec<CompletionCandidate> {
    let mut candidates: Vec<CompletionCandidate> = Vec::new();
    for field in known.iter().filter(|field| field.name.starts_with(begun)) {
        let name = format!("{}=", field.name);
        if candidates.iter().all(|candidate| candidate.get_value() != name.as_str()) {
            candidates.push(about(CompletionCandidate::new(name), &field.about));
        }
    }
    candidates
}

/// Values for the last place of a list, each once, behind what is there already.
fn values(fields: &[&FieldHelp], list: &str, before: &str) -> Vec<CompletionCandidate> {
    let start = list.rfind(',').map_or(0, |comma| comma + 1);
    let (given, begun) = list.split_at(start);
    let mut offered: Vec<&str> = Vec::new();
    for field in fields {
        // Of many values, those are offered that it has where nothing is given.
        let defaults = Some(field.default.split(',')).filter(|_| field.names.is_empty());
        let names = field.names.iter().map(String::as_str);
        for value in names.chain(defaults.into_iter().flatten()) {
            let used = value.is_empty() || given.split(',').any(|one| one == value);
            if value.starts_with(begun) && !used && !offered.contains(&value) {
                offered.push(value);
            }
        }
    }
    let candidate = |value: &str| CompletionCandidate::new(format!("{before}{given}{value}"));
    offered.into_iter().map(candidate).collect()
}

fn about(candidate: CompletionCandidate, text: &str) -> CompletionCandidate {
    candidate.help(Some(text.to_owned().into()))
}
