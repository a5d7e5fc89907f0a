//! Help: the text below the options of each command, for `-h`, `--help` and manual pages.

mod files;
mod kernels;
mod layout;
mod machine;
mod scenario;
mod sweep;
#[cfg(test)]
mod tests;
mod text;
mod trace;

pub(crate) use layout::{aligned, laid_out, wrapped};
pub(crate) use text::{Help, Section};

use crate::args::Args;
use crate::terminal;
use clap::{Arg, Command, CommandFactory};
use std::io::{self, Write};

/// Returns the command line, with its help laid out for the terminal.
pub(crate) fn command() -> Command {
    // Wider prose is hard to read, and narrower options cannot be laid out.
    with_help(Args::command(), "", terminal::columns().clamp(40, 100))
}

/// Returns the help of a command, by the words that call it, such as `trace record`.
///
/// # Panics
/// For a command without help.
pub(crate) fn of(command: &str) -> Help {
    match command {
        "" => scenario::first_screen(),
        "compare" => scenario::compare(),
        "run" => scenario::run(),
        "scenarios" => scenario::scenarios(),
        "bench" => machine::bench(),
        "reproduce" => machine::reproduce(),
        "calibrate" => machine::calibrate(),
        "observe" => machine::observe(),
        "check" => machine::check(),
        "report" => files::report(),
        "completions" => files::completions(),
        "man" => files::man(),
        "sweep" => sweep::sweep(),
        "sweep plan" => sweep::plan(),
        "sweep run" => sweep::run(),
        "sweep status" => sweep::status(),
        "sweep merge" => sweep::merge(),
        "sweep flush" => sweep::flush(),
        "sweep pageout" => sweep::pageout(),
        "trace" => trace::trace(),
        "trace record" => trace::record(),
        "trace import" => trace::import(),
        "trace export" => trace::export(),
        "trace curve" => trace::curve(),
        "trace info" => trace::info(),
        "lab" => kernels::lab(),
        "lab build" => kernels::build(),
        "lab run" => kernels::run(),
        "lab compare" => kernels::compare(),
        "lab series" => kernels::series(),
        "lab profile" => kernels::profile(),
        "lab lru-gen" => kernels::lru_gen(),
        "lab schedule" => kernels::schedule(),
        "lab source" => kernels::source(),
        "lab script" => kernels::script(),
        other => panic!("command `{other}` has no help"),
    }
}

/// Returns the words that call the command `name` below another one.
pub(crate) fn below(command: &str, name: &str) -> String {
    format!("{command} {name}").trim_start().to_owned()
}

/// Adds help, in lines of `width`, to a command and all commands below it.
fn with_help(of: Command, words: &str, width: usize) -> Command {
    let names: Vec<_> = of.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let help = self::of(words);
    let of = of
        .term_width(width)
        .disable_help_subcommand(!words.is_empty())
        .after_help(layout::brief(&help, width))
        .after_long_help(layout::full(&help, width))
        .mut_args(|arg| with_long_help(with_default(arg)));
    let add = |of: Command, name: String| {
        of.mut_subcommand(&name, |one| with_help(one, &below(words, &name), width))
    };
    names.into_iter().fold(of, add)
}

/// Puts an option's default after its first sentence: the library would put it elsewhere in long
/// help, and people write the others there.
fn with_default(arg: Arg) -> Arg {
    let default: Vec<_> =
        arg.get_default_values().iter().map(|one| one.to_string_lossy()).collect();
    if default.is_empty() || arg.is_hide_default_value_set() {
        return arg;
    }
    let default = format!(" [default: {}]", default.join(","));
    let short = arg.get_help().map(|help| format!("{help}{default}"));
    let long = arg.get_long_help().map(|help| match help.to_string().split_once("\n\n") {
        Some((first, rest)) => format!("{first}{default}\n\n{rest}"),
        None => format!("{help}{default}"),
    });
    let arg = arg.hide_default_value(true);
    let arg = short.into_iter().fold(arg, |arg, help| arg.help(help));
    long.into_iter().fold(arg, |arg, help| arg.long_help(help))
}

/// Gives an option that `-h` leaves out a long help, without which manual pages would not describe
/// it.
fn with_long_help(arg: Arg) -> Arg {
    let help =
        arg.get_help().filter(|_| arg.is_hide_short_help_set() && arg.get_long_help().is_none());
    match help.cloned() {
        Some(help) => arg.long_help(help),
        None => arg,
    }
}

/// Prints help, or what is wrong with the arguments, where the library would.
///
/// # Errors
/// Those of writing.
pub(crate) fn print(told: &clap::Error) -> io::Result<()> {
    let text = layout::printed(&told.render().ansi().to_string());
    if told.use_stderr() {
        return anstream::stderr().write_all(text.as_bytes());
    }
    let mut stdout = anstream::stdout();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
