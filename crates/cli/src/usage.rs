//! Messages for command lines that clap refuses.

use crate::args::{Args, CompareArgs, RunArgs};
use crate::{completion, help};
use clap::builder::NonEmptyStringValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use pageout_refusal::{UnknownName, one_of};
use std::any::TypeId;
use std::error::Error;

/// Reads the command line of this process.
///
/// # Errors
/// The error of clap, which [`message`] words.
pub(crate) fn parse() -> Result<Args, clap::Error> {
    let mut command = takes_negatives(help::command());
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Args::from_arg_matches(&matches)
}

/// Lets all options of a command take negative numbers as values, so that each can report that it
/// wants none, and no text without a character.
fn takes_negatives(command: Command) -> Command {
    let below: Vec<String> =
        command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| match arg.get_action().takes_values() {
        true if is_text(&arg) => {
            arg.allow_negative_numbers(true).value_parser(NonEmptyStringValueParser::new())
        }
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    below.into_iter().fold(command, |command, name| command.mut_subcommand(name, takes_negatives))
}

/// Returns true for an option whose values are any texts.
fn is_text(arg: &Arg) -> bool {
    arg.get_long().is_some() && arg.get_value_parser().type_id() == TypeId::of::<String>()
}

/// Returns true if this is the name of an option of the commands that run scenarios.
pub(crate) fn is_option(name: &str) -> bool {
    let commands = [RunArgs::command(), CompareArgs::command()];
    let mut all = commands.iter().flat_map(Command::get_arguments);
    all.any(|option| option.get_long() == Some(name))
}

/// Describes the fault of a command line, in one sentence.
pub(crate) fn message(error: &clap::Error) -> String {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    Mistake { error, at: At::of(&words), words: &words }.message()
}

/// The command that words call.
struct At {
    command: Command,
    /// The name with those above it: `pageout lab run`.
    name: String,
}

impl At {
    fn of(words: &[String]) -> Self {
        let mut command = help::command();
        command.build();
        let mut name = command.get_name().to_owned();
        for word in words.iter().skip(1).filter(|word| *word != "help") {
            let Some(below) = command.find_subcommand(word) else { continue };
            name = format!("{name} {word}");
            command = below.clone();
        }
        Self { command, name }
    }

    /// Returns the command line that shows its help.
    fn help(&self) -> String {
        format!("{} --help", self.name)
    }

    fn options(&self) -> Vec<String> {
        let all = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
        all.filter_map(Arg::get_long).map(|long| format!("--{long}")).collect()
    }

    /// Returns true if the command takes fields of scenarios.
    fn takes_fields(&self) -> bool {
        let names_fields = |name: &str| name.contains("FIELD=VALUE");
        let names = self.command.get_positionals().filter_map(Arg::get_value_names).flatten();
        names.into_iter().any(|name| names_fields(name))
    }
}

/// A command line that clap refuses.
struct Mistake<'e> {
    error: &'e clap::Error,
    at: At,
    words: &'e [String],
}

impl Mistake<'_> {
    fn message(&self) -> String {
        match self.error.kind() {
            ErrorKind::InvalidValue => self.value(),
            ErrorKind::ValueValidation => self.refused_value(),
            ErrorKind::UnknownArgument => self.unknown(),
            ErrorKind::InvalidSubcommand => self.subcommand(),
            ErrorKind::MissingRequiredArgument => self.missing(),
            ErrorKind::ArgumentConflict => self.conflict(),
            _ => self.as_it_is(),
        }
    }

    /// Describes a value that an option does not have, or a missing value.
    fn value(&self) -> String {
        let (option, found) = (self.option(), self.text(ContextKind::InvalidValue));
        let values = self.texts(ContextKind::ValidValue);
        if !found.is_empty() {
            let unknown = UnknownName::new("value", found, values.iter().map(String::as_str));
            let field = option.trim_start_matches('-');
            let as_field = match self.at.takes_fields() && completion::has_field(field) {
                true => format!(". A field of the scenario is written {field}={found}"),
                false => String::new(),
            };
            return format!("{}{as_field}", unknown.of(option));
        }
        let accepted: Vec<&str> = values.iter().map(String::as_str).collect();
        let accepted = match &accepted[..] {
            [] => format!("`{}`", self.text(ContextKind::InvalidArg)),
            values => one_of(values),
        };
        format!("no value after {option}: expected {accepted} (`{}`)", self.at.help())
    }

    /// Describes a value that an option's parser refuses.
    fn refused_value(&self) -> String {
        let (option, found) = (self.option(), self.text(ContextKind::InvalidValue));
        let why = self.error.source().map(ToString::to_string).unwrap_or_default();
        match why.contains(&format!("`{found}`")) {
            true => format!("{option}: {why}"),
            false => format!("{option}: found `{found}`: {why}"),
        }
    }

    /// Describes an unknown option, or a word too many.
    fn unknown(&self) -> String {
        let found = self.text(ContextKind::InvalidArg);
        let name = found.trim_start_matches('-');
        if name == found || name.is_empty() {
            return self.unexpected(found);
        }
        if let Some((value, option)) = self.dashed(found) {
            return format!(
                "`{value}` is no value of {}: expected `{option}`",
                bare(&option.to_string())
            );
        }
        if self.at.takes_fields() && completion::has_field(name) {
            let value = self.value_of(found).unwrap_or("VALUE");
            return format!(
                "{found} is a field of scenarios, not an option: write {name}={value}, without \
                 dashes"
            );
        }
        let options = self.at.options();
        let unknown = UnknownName::new("option", found, options.iter().map(String::as_str));
        unknown.of(&*self.at.name).listed_by(self.at.help()).to_string()
    }

    /// Returns a value such as `-3%`, of which clap takes `-3` for an option, and the option that
    /// it is given to.
    fn dashed(&self, found: &str) -> Option<(&str, &Arg)> {
        let place = self.words.iter().position(|word| word.starts_with(found))?;
        let before = self.words[..place].last()?.strip_prefix("--")?;
        let mut options = self.at.command.get_arguments();
        let option = options.find(|arg| arg.get_long() == Some(before))?;
        let is_value = found[1..].starts_with(|c: char| c.is_ascii_digit());
        (is_value && option.get_action().takes_values()).then_some((&self.words[place], option))
    }

    fn unexpected(&self, found: &str) -> String {
        let at = &self.at;
        let option = found.split('=').next().map(|name| format!("--{name}")).unwrap_or_default();
        match found.split_once('=').filter(|_| at.options().contains(&option)) {
            Some((_, value)) => {
                format!("`{found}` is an option, not a field: write {option} {value}")
            }
            None => {
                let accepted = match at.command.get_positionals().next() {
                    None => format!("options only, {}", one_of(&listed(&at.options()))),
                    Some(_) => format!("the words that `{}` shows", at.help()),
                };
                format!("`{found}` is one word too many for {}; accepted: {accepted}", at.name)
            }
        }
    }

    fn subcommand(&self) -> String {
        let names = self.at.command.get_subcommands().filter(|one| !one.is_hide_set());
        let names: Vec<&str> = names.map(Command::get_name).collect();
        let found = self.text(ContextKind::InvalidSubcommand);
        let unknown = UnknownName::new("command", found, names);
        unknown.of(&*self.at.name).listed_by(self.at.help()).to_string()
    }

    fn missing(&self) -> String {
        let missing = self.texts(ContextKind::InvalidArg);
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        let Self { at, .. } = self;
        format!("{} needs {} (`{}`)", at.name, missing.join(" and "), at.help())
    }

    fn conflict(&self) -> String {
        let option = self.option();
        let others = self.texts(ContextKind::PriorArg);
        let others: Vec<&str> = others.iter().map(|other| bare(other)).collect();
        match &others[..] {
            [] => self.as_it_is(),
            [other] if *other == option => format!("{option} is given twice: expected once"),
            others => format!("{option} does not go with {}: give one of them", one_of(others)),
        }
    }

    /// Returns the message of clap, without its heading and hints.
    fn as_it_is(&self) -> String {
        let text = self.error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        text.split("\n\n").next().unwrap_or_default().trim_end().to_owned()
    }

    /// Returns the option that the error is about: `--runs`.
    fn option(&self) -> &str {
        bare(self.text(ContextKind::InvalidArg))
    }

    /// Returns the value that follows an option on the command line.
    fn value_of(&self, option: &str) -> Option<&str> {
        let mut words = self.words.iter().map(String::as_str);
        let found = words.find(|word| word.split('=').next() == Some(option))?;
        let value = found.split_once('=').map(|(_, value)| value);
        value.or_else(|| words.next().filter(|word| !word.starts_with('-')))
    }

    fn text(&self, kind: ContextKind) -> &str {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => text,
            _ => "",
        }
    }

    fn texts(&self, kind: ContextKind) -> Vec<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => vec![text.clone()],
            Some(ContextValue::Strings(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }
}

fn listed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Returns an option without the name of its value.
fn bare(option: &str) -> &str {
    option.split(' ').next().unwrap_or(option)
}
