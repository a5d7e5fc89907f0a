use super::{Help, Section, below, layout, of, with_help};
use crate::args::{self, Args};
use crate::options::Common;
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use pageout_experiment::scenarios::Scenario;
use pageout_experiment::variant::Variant;
use pageout_lab::Bench;

/// The columns, of 80, by which a manual page indents its lines.
const PAGE_INDENT: usize = 7;
/// The maximum number of lines that `-h` may have: a screen, and a little.
const MAX_BRIEF_LINES: usize = 40;
const MAX_WORDS: usize = 30;

/// Returns every command with the words that call it, built for lines of `width`.
fn commands(width: usize) -> Vec<(String, Command)> {
    let mut root = with_help(Args::command(), "", width).disable_help_subcommand(true);
    root.build();
    let mut all = Vec::new();
    add("", root, &mut all);
    all
}

fn add(words: &str, of: Command, all: &mut Vec<(String, Command)>) {
    for one in of.get_subcommands() {
        add(&below(words, one.get_name()), one.clone(), all);
    }
    all.push((words.to_owned(), of));
}

/// Returns the lines for copying, which are printed unchanged.
fn fixed_lines(help: &Help) -> Vec<&'static str> {
    let lines = |section: &Section| match section {
        Section::Lines { lines, .. } => Some(lines.lines()),
        Section::Prose(_) | Section::Terms { .. } => None,
    };
    let of_sections = help.brief.iter().chain(&help.notes).filter_map(lines).flatten();
    of_sections.chain(help.examples.iter().flat_map(|example| example.lines())).collect()
}

#[test]
fn help_fits_the_width_but_for_lines_that_are_copied() {
    for width in [60, 80, 100] {
        for (words, mut command) in commands(width) {
            let fixed = fixed_lines(&of(&words));
            let commands = fixed.iter().map(|line| line.split(" # ").next().unwrap_or(line).trim());
            let commands: Vec<_> = commands.chain(["Usage: "]).collect();
            for help in [command.render_help(), command.render_long_help()] {
                for line in layout::printed(&help.to_string()).lines() {
                    let is_copied = commands.iter().any(|copied| line.trim().starts_with(copied));
                    let columns = line.chars().count();
                    let fits = columns <= width || is_copied && columns <= 80;
                    assert!(fits, "{words}: {columns} columns of {width}: {line}");
                }
            }
        }
    }
}

#[test]
fn short_help_is_one_screen() {
    for (words, mut command) in commands(80) {
        let lines = layout::printed(&command.render_help().to_string()).lines().count();
        assert!(lines <= MAX_BRIEF_LINES, "`pageout {words} -h` has {lines} lines");
    }
}

#[test]
fn lines_that_are_copied_fit_a_manual_page() {
    for (words, _) in commands(80) {
        let help = of(&words);
        let examples = layout::aligned(help.examples);
        for line in fixed_lines(&help).into_iter().chain(examples.lines()) {
            let columns = line.chars().count();
            assert!(columns + PAGE_INDENT <= 80, "{words}: {columns} columns: {line}");
        }
    }
}

/// Returns the commands of ours that a line of a shell runs, in words.
fn calls(line: &str) -> Vec<Vec<String>> {
    let line = line.replace("$SLURM_ARRAY_TASK_ID", "3").replace("\\\n", " ");
    let parts =
        line.split(" | ").flat_map(|part| part.split("|\n")).flat_map(|part| part.split(" &&"));
    let calls = parts.filter_map(|part| {
        let part = part.split(" # ").next().expect("a first part");
        let words = shlex::split(part).unwrap_or_else(|| panic!("not a shell's line: {part}"));
        let words = words.into_iter().take_while(|word| word != ">");
        Some(words.collect::<Vec<_>>())
            .filter(|words| words.first().is_some_and(|w| w == "pageout"))
    });
    calls.collect()
}

#[test]
fn examples_are_of_their_command_and_are_understood() {
    let mut nr_examples = 0;
    for (words, command) in commands(80) {
        let name = format!("pageout {words}");
        let below: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        assert!(!of(&words).examples.is_empty(), "`{name}` has no example");
        for example in of(&words).examples {
            let calls = calls(example);
            let is_own = |call: &Vec<String>| {
                let call = call.join(" ");
                let rest = call.strip_prefix(name.trim_end());
                let next = rest.and_then(|rest| rest.split_whitespace().next());
                next.is_some_and(|next| below.is_empty() || below.contains(&next))
                    || rest == Some("")
                    || words.is_empty()
            };
            assert!(calls.iter().any(is_own), "not of `{name}`: {example}");
            for call in calls {
                understood(&call);
                nr_examples += 1;
            }
        }
    }
    assert!(nr_examples > 100, "{nr_examples}");
}

/// Reads a command as the program does, with scenarios' fields and variants.
fn understood(call: &[String]) {
    let refused = |error: &dyn std::fmt::Display| -> ! { panic!("{}: {error}", call.join(" ")) };
    // A program of the user's is read, so one of the lab's takes its place.
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/files/schedule/register_check.c");
    let words = call.iter().map(|word| if word == "./race.c" { program } else { word });
    let parsed = super::command().try_get_matches_from(words);
    let matches = parsed.unwrap_or_else(|error| refused(&error));
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|error| refused(&error));
    let fields = |scenario: Option<&str>, fields: &[String], common: &Common| {
        let Some(scenario) = scenario.filter(|name| !name.ends_with(".json")) else { return };
        let scenario = Scenario::named(scenario).unwrap_or_else(|| refused(&scenario));
        for field in fields {
            let (name, value) = field.split_once('=').unwrap_or_else(|| refused(field));
            let values = scenario.values(common.ground, name, value);
            values.map(drop).unwrap_or_else(|error| refused(&error));
        }
    };
    let variants = |texts: &[&String]| {
        for text in texts.iter().filter(|text| !text.starts_with("kernel=")) {
            Variant::parse_on(None, text).map(drop).unwrap_or_else(|error| refused(&error));
        }
    };
    match &args.command {
        Some(args::Command::Compare(args)) => {
            fields(args.scenario.as_deref(), &args.fields, &args.common);
            variants(&args.base.iter().chain(&args.new).collect::<Vec<_>>());
        }
        Some(args::Command::Run(args)) => {
            fields(Some(&args.scenario), &args.fields, &args.common);
            variants(&[&args.variant]);
        }
        Some(args::Command::Lab(_)) => {
            let named = |word: &String| pageout_lab::Workload::named(word);
            let Some(at) = call.iter().position(|word| named(word).is_some()) else { return };
            let scenario = named(&call[at]).expect("a scenario");
            // `lru-gen` has a session of a scenario's name.
            let fields = call[at + 1..].iter().take_while(|word| !word.starts_with("--"));
            let fields: Vec<_> = fields.filter(|word| word.contains('=')).cloned().collect();
            Bench::parse(scenario, &fields).map(drop).unwrap_or_else(|error| refused(&error));
        }
        _ => {}
    }
}

/// Texts that people read as sentences, with where each stands.
fn sentences() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (words, command) in commands(80) {
        let place = format!("pageout {words}");
        let styled = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
        let about = [styled(command.get_about()), styled(command.get_long_about())];
        all.extend(about.into_iter().flatten().map(|text| (place.clone(), text)));
        for arg in command.get_arguments() {
            let place = format!("{place}, {}", arg.get_id());
            for text in [styled(arg.get_help()), styled(arg.get_long_help())].into_iter().flatten()
            {
                all.push((place.clone(), text));
            }
            for value in arg.get_possible_values() {
                all.extend(styled(value.get_help()).map(|text| (place.clone(), text)));
            }
        }
        let help = of(&words);
        for section in help.brief.iter().chain(&help.notes) {
            match section {
                Section::Prose(text) => all.push((place.clone(), (*text).to_owned())),
                Section::Terms { terms, .. } => {
                    all.extend(terms.iter().map(|(_, text)| (place.clone(), text.clone())));
                }
                Section::Lines { .. } => {}
            }
        }
    }
    all
}

#[test]
fn no_sentence_is_long() {
    for (place, text) in sentences() {
        let paragraphs = text.split('\n').filter(|line| !starts_with_a_field(line));
        for sentence in paragraphs.flat_map(|paragraph| paragraph.split(['.', ';', ':'])) {
            let words = sentence.split_whitespace().count();
            assert!(words <= MAX_WORDS, "{place}: {words} words: {sentence}");
        }
    }
}

/// Returns true for a line that is a list of fields.
fn starts_with_a_field(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(|word| word.contains('='))
}

#[test]
fn every_option_says_what_it_is_and_none_begins_with_a_question() {
    for (words, command) in commands(80) {
        assert!(command.get_about().is_some(), "{words}");
        for arg in command.get_arguments() {
            let said = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!said.is_empty(), "pageout {words}: {} says nothing", arg.get_id());
        }
    }
    for (place, text) in sentences() {
        let first = text.split_whitespace().next().unwrap_or_default();
        let vague = ["What", "Whether", "How", "Who", "Whose", "Where", "When", "It", "They"];
        assert!(!vague.contains(&first), "{place}: {text}");
    }
}

#[test]
fn the_default_stands_behind_the_first_sentence_in_both_helps() {
    let with = |arg: Arg| super::with_default(arg.default_value("7"));
    let arg = with(Arg::new("n").long("n").help("Number").long_help("Number\n\nA long story."));
    assert_eq!(arg.get_help().unwrap().to_string(), "Number [default: 7]");
    assert_eq!(arg.get_long_help().unwrap().to_string(), "Number [default: 7]\n\nA long story.");
    assert!(arg.is_hide_default_value_set());
}
