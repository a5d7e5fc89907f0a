//! `man`: manual pages of the command and of every subcommand, from the declarations of `--help`.

use crate::error::CliError;
use crate::output;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use pageout_trace::WriteError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a page for the command and for each subcommand, and prints where they are. Makes the
/// directory where it is missing.
pub(crate) fn write(directory: &Path, of: Command) -> Result<(), CliError> {
    fs::create_dir_all(directory)
        .map_err(|source| WriteError::Create { path: directory.to_owned(), source })?;
    let mut of = of.disable_help_subcommand(true);
    of.build();
    let source = of.render_version();
    let mut pages = Vec::new();
    add(&mut pages, directory, source.trim_end(), of);
    let paths: Vec<_> = pages.iter().map(|(path, _)| Some(path.as_path())).collect();
    output::check(&paths, &[])?;
    let mut written = String::new();
    for (path, text) in &pages {
        output::to(Some(path), text.as_bytes())?;
        written += &format!("{}\n", path.display());
    }
    output::print_text(&written)
}

/// Adds the page of a command, then those of what is below it.
fn add(pages: &mut Vec<(PathBuf, String)>, directory: &Path, source: &str, mut of: Command) {
    let below: Vec<Command> =
        of.get_subcommands().filter(|one| !one.is_hide_set()).cloned().collect();
    let usage = of.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").expect("usage has its heading").to_owned();
    let after = of.get_after_long_help().or_else(|| of.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    // The library leaves out what is empty: without quotes the source would stand for the date.
    let page = Man::new(of.override_usage(usage)).date("\"\"").source(source);
    let mut text = Vec::new();
    render(&page, &after, !below.is_empty(), &mut text).expect("memory takes all");
    let text = String::from_utf8(text).expect("declarations are UTF-8");
    pages.push((directory.join(page.get_filename()), ascii(&text)));
    for one in below {
        add(pages, directory, source, one);
    }
}

/// The sections of a page. The library would run the lines together that stand below the options,
/// so these are set here.
fn render(page: &Man, after: &str, has_commands: bool, to: &mut Vec<u8>) -> io::Result<()> {
    page.render_title(to)?;
    page.render_name_section(to)?;
    page.render_synopsis_section(to)?;
    page.render_description_section(to)?;
    page.render_options_section(to)?;
    if has_commands {
        page.render_subcommands_section(to)?;
    }
    let is_example = |part: &&str| part.starts_with("Example");
    let parts = || after.split("\n\n").filter(|part| !part.is_empty());
    let notes: Vec<&str> = parts().filter(|part| !is_example(part)).collect();
    let examples: Vec<&str> = parts().filter(is_example).collect();
    let mut roff = Roff::new();
    if !notes.is_empty() {
        roff.control("SH", ["NOTES"]);
    }
    notes.into_iter().for_each(|part| paragraph(&mut roff, part.lines()));
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
    }
    examples.into_iter().for_each(|part| paragraph(&mut roff, part.lines().skip(1)));
    roff.to_writer(to)
}

/// Prose is filled; indented lines stay as they are.
fn paragraph<'a>(roff: &mut Roff, lines: impl Iterator<Item = &'a str>) {
    roff.control("PP", []);
    let mut filled = true;
    for line in lines {
        if filled == line.starts_with(' ') {
            roff.control(if filled { "nf" } else { "fi" }, []);
            filled = !filled;
        }
        roff.text([roman(line)]);
    }
    if !filled {
        roff.control("fi", []);
    }
}

/// The page in ASCII: not every formatter takes UTF-8.
fn ascii(page: &str) -> String {
    let escaped = |c: char| {
        if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", u32::from(c)) }
    };
    page.chars().map(escaped).collect()
}
