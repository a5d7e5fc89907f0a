//! `man`: manual pages of the command and of every subcommand, from the declarations of `--help`.

use crate::error::CliError;
use crate::help::{self, Section};
use crate::{output, paths};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use pageout_trace::WriteError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a page for the command and for each subcommand into a directory, which is made if it is
/// missing, and prints their paths.
pub(crate) fn write(directory: &Path) -> Result<(), CliError> {
    paths::made_directory("man", Some(directory))?;
    fs::create_dir_all(directory)
        .map_err(|source| WriteError::Create { path: directory.to_owned(), source })?;
    let mut of = help::command().disable_help_subcommand(true);
    of.build();
    let source = of.render_version();
    let mut pages = Vec::new();
    add(&mut pages, directory, source.trim_end(), "", of);
    let paths: Vec<_> = pages.iter().map(|(path, _)| Some(path.as_path())).collect();
    output::check(&paths, &[])?;
    let mut written = String::new();
    for (path, text) in &pages {
        output::to(Some(path), text.as_bytes())?;
        written += &format!("{}\n", path.display());
    }
    output::print_text(&written)
}

/// Adds the page of the command that `words` call, then those of its subcommands.
fn add(
    pages: &mut Vec<(PathBuf, String)>,
    directory: &Path,
    source: &str,
    words: &str,
    mut of: Command,
) {
    let below: Vec<Command> =
        of.get_subcommands().filter(|one| !one.is_hide_set()).cloned().collect();
    let usage = of.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").expect("usage has its heading").to_owned();
    // The library leaves out what is empty: without quotes the source would stand for the date.
    let page = Man::new(of.override_usage(usage)).date("\"\"").source(source);
    let mut text = Vec::new();
    render(&page, words, !below.is_empty(), &mut text).expect("memory takes all");
    let text = String::from_utf8(text).expect("declarations are UTF-8");
    pages.push((directory.join(page.get_filename()), ascii(&text)));
    for one in below {
        let words = help::below(words, one.get_name());
        add(pages, directory, source, &words, one);
    }
}

/// Writes the sections of a page. The library would join the lines below the options, so these are
/// set here.
fn render(page: &Man, words: &str, has_commands: bool, to: &mut Vec<u8>) -> io::Result<()> {
    page.render_title(to)?;
    page.render_name_section(to)?;
    page.render_synopsis_section(to)?;
    page.render_description_section(to)?;
    page.render_options_section(to)?;
    if has_commands {
        page.render_subcommands_section(to)?;
    }
    let help = help::of(words);
    let mut roff = Roff::new();
    if !help.notes.is_empty() {
        roff.control("SH", ["NOTES"]);
    }
    help.notes.iter().for_each(|section| add_section(&mut roff, section));
    roff.control("SH", ["EXAMPLES"]);
    add_lines(&mut roff, &help::aligned(help.examples));
    roff.to_writer(to)
}

fn add_section(roff: &mut Roff, section: &Section) {
    roff.control("PP", []);
    match section {
        Section::Prose(text) => {
            roff.text([roman(*text)]);
        }
        Section::Lines { heading, lines } => {
            roff.text([bold(format!("{heading}:"))]);
            roff.control("PP", []);
            add_lines(roff, lines);
        }
        Section::Terms { heading, terms } => {
            roff.text([bold(format!("{heading}:"))]);
            for (term, text) in terms {
                roff.control("TP", []);
                roff.text([roman(term)]);
                for (k, line) in text.lines().enumerate() {
                    if k > 0 {
                        roff.control("br", []);
                    }
                    roff.text([roman(line)]);
                }
            }
        }
    }
}

/// Adds lines that stay unchanged.
fn add_lines(roff: &mut Roff, lines: &str) {
    roff.control("nf", []);
    lines.lines().for_each(|line| {
        roff.text([roman(line)]);
    });
    roff.control("fi", []);
}

/// Returns the page in ASCII: not every formatter takes UTF-8.
fn ascii(page: &str) -> String {
    let escaped = |c: char| {
        if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", u32::from(c)) }
    };
    page.chars().map(escaped).collect()
}
