//! `cargo xtask book`: the documentation as one folder of HTML, with search, that needs no network.
//!
//! `docs/README.md` is the book's table of contents. mdBook reads a copy of the pages, in which
//! links to what is not in the book are plain text, and terms of the glossary have their meaning.

mod terms;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::tidy::resolve;
use crate::{cmd, gallery};

/// The newest mdBook that this was tried with. It is a program that is run, and no dependency: its
/// licence is the MPL-2.0, and to compile it takes as long as the rest of `xtask`.
const MDBOOK: &str = "0.5.4";

const CONTENTS: &str = "docs/README.md";
/// The name of the first page of a folder, in the tree and in the book.
const FIRST: &str = "README.md";
const FIRST_IN_BOOK: &str = "index.md";
/// Folders with files that pages show.
const SHOWN: [&str; 1] = ["docs/pictures"];

const SETTINGS: &str = "\
[book]
title = \"pageout\"
language = \"en\"

[output.html]
additional-css = [\"terms.css\"]
default-theme = \"light\"
preferred-dark-theme = \"navy\"

[output.html.fold]
enable = true
level = 0
";

/// The style sheet in place of which mdBook would put its fonts.
const FONTS: &str = "/* Fonts are those of the machine. */\n";

/// An entry of the table of contents.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Part(String),
    /// A page with its title, its path from the root, and how deep it lies below the part.
    Page {
        title: String,
        path: String,
        depth: usize,
    },
}

/// Makes the book and returns its folder.
pub(crate) fn run() -> Result<PathBuf> {
    let mdbook = installed()?;
    let place = cmd::target().join("book");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let entries = contents(CONTENTS, 0)?;
    let pages: BTreeSet<&str> = entries.iter().filter_map(Entry::path).collect();
    let read =
        |path: &str| fs::read_to_string(cmd::root().join(path)).with_context(|| path.to_owned());
    let terms = terms::read(&read(terms::GLOSSARY)?);
    for path in &pages {
        let mut text = in_the_book(&read(path)?, path, &pages);
        if *path != terms::GLOSSARY {
            text = terms::mark(&text, &terms);
        }
        if *path == gallery::LISTED {
            text += &gallery::list();
        }
        write(&place.join("src").join(name_in_the_book(path)), &text)?;
    }
    for folder in SHOWN {
        for file in fs::read_dir(cmd::root().join(folder))? {
            let file = file?;
            let to = place.join("src").join(folder).join(file.file_name());
            write(&to, &fs::read_to_string(file.path())?)?;
        }
    }
    write(&place.join("src/SUMMARY.md"), &summary(&entries))?;
    write(&place.join("book.toml"), SETTINGS)?;
    write(&place.join("terms.css"), terms::STYLE)?;
    write(&place.join("theme/fonts/fonts.css"), FONTS)?;
    let html = place.join("html");
    cmd::run(cmd::program(mdbook).arg("build").arg(&place).arg("--dest-dir").arg(&html))?;
    let beside = html.join(gallery::LISTED);
    gallery::make(&beside.with_file_name(gallery::FOLDER))?;
    let broken = broken_links(&html)?;
    if !broken.is_empty() {
        bail!("links of the book lead nowhere:\n{}", broken.join("\n"));
    }
    println!("{} pages: {}", pages.len(), html.join("index.html").display());
    Ok(html)
}

/// Returns mdBook, installed below the folder of build results if it is not there yet.
fn installed() -> Result<PathBuf> {
    let tools = cmd::target().join("tools");
    let program = tools.join("bin/mdbook");
    let said = cmd::output(cmd::program(&program).arg("--version")).unwrap_or_default();
    if said.trim() != format!("mdbook v{MDBOOK}") {
        let what = ["install", "mdbook", "--locked", "--version", MDBOOK];
        let features = ["--no-default-features", "--features", "search", "--root"];
        cmd::run(cmd::cargo(&what).args(features).arg(&tools))?;
    }
    Ok(program)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
    fs::write(path, text).with_context(|| path.display().to_string())
}

impl Entry {
    fn path(&self) -> Option<&str> {
        match self {
            Self::Part(_) => None,
            Self::Page { path, .. } => Some(path),
        }
    }
}

/// Reads a list of pages. A page of the list that is itself a list of its folder is followed by its
/// pages, one level deeper.
fn contents(list: &str, depth: usize) -> Result<Vec<Entry>> {
    let text = fs::read_to_string(cmd::root().join(list)).with_context(|| list.to_owned())?;
    let folder = list.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut entries = Vec::new();
    for entry in listed(&text, list, depth) {
        let lists = match &entry {
            Entry::Page { path, .. }
                if path.starts_with(folder) && path.ends_with("/README.md") =>
            {
                Some(path.clone())
            }
            Entry::Page { .. } | Entry::Part(_) => None,
        };
        let below = |entry: &Entry| entry.path().is_some();
        entries.push(entry);
        if let Some(path) = lists.filter(|_| depth == 0) {
            entries.extend(contents(&path, 1)?.into_iter().filter(below));
        }
    }
    Ok(entries)
}

/// Returns the parts and pages that a list names: headings of the first level after the first, and
/// the first link of each item and of the paragraph below the title. Below the top, links of the
/// list's own folder are its pages.
fn listed(text: &str, list: &str, depth: usize) -> Vec<Entry> {
    let folder = list.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (mut entries, mut title, mut link) = (Vec::new(), None, None);
    let mut seen = BTreeSet::new();
    let mut is_first = true;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) => {
                title = Some(String::new());
            }
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => {
                entries.extend(title.take().map(Entry::Part));
            }
            Event::Start(Tag::Item | Tag::Paragraph | Tag::TableRow) => is_first = true,
            Event::Start(Tag::Link { dest_url, .. }) if is_first => {
                is_first = false;
                link = Some((dest_url.into_string(), String::new()));
            }
            Event::End(TagEnd::Link) => {
                let Some((to, title)) = link.take() else { continue };
                let path = resolve(list, &to).filter(|path| path.ends_with(".md"));
                let is_ours = |path: &String| depth == 0 || path.starts_with(folder);
                if let Some(path) = path.filter(is_ours).filter(|path| seen.insert(path.clone())) {
                    entries.push(Entry::Page { title, path, depth });
                }
            }
            Event::Text(words) | Event::Code(words) => {
                let into = link.as_mut().map(|(_, title)| title).or(title.as_mut());
                into.into_iter().for_each(|into| into.push_str(&words));
            }
            Event::SoftBreak => {
                let into = link.as_mut().map(|(_, title)| title).or(title.as_mut());
                into.into_iter().for_each(|into| into.push(' '));
            }
            _ => {}
        }
    }
    entries
}

/// Returns mdBook's table of contents.
fn summary(entries: &[Entry]) -> String {
    let mut text = String::from("# Summary\n");
    for entry in entries {
        let _ = match entry {
            Entry::Part(title) => write!(text, "\n# {title}\n\n"),
            Entry::Page { title, path, depth } => {
                let path = name_in_the_book(path);
                writeln!(text, "{:1$}- [{title}]({path})", "", 2 * depth)
            }
        };
    }
    text
}

/// Returns the page as the book has it: links that lead out of the book into the tree are words,
/// and those to the first page of a folder lead to its name there.
fn in_the_book(text: &str, path: &str, pages: &BTreeSet<&str>) -> String {
    let mut changes = Vec::new();
    let mut open: Option<(Range<usize>, Option<Range<usize>>)> = None;
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    for (event, range) in events {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) if !dest_url.contains(':') => {
                let target = dest_url.split('#').next().unwrap_or_default();
                let stays = target.is_empty()
                    || resolve(path, target).is_some_and(|to| pages.contains(to.as_str()));
                if stays {
                    let link = text[range.clone()].replace(FIRST, FIRST_IN_BOOK);
                    changes.push((range, link));
                } else {
                    open = Some((range, None));
                }
            }
            Event::End(TagEnd::Link) => {
                if let Some((link, Some(words))) = open.take() {
                    changes.push((link, text[words].to_owned()));
                }
            }
            _ => {
                if let Some((_, words)) = &mut open {
                    let start = words.as_ref().map_or(range.start, |words| words.start);
                    *words = Some(start..range.end);
                }
            }
        }
    }
    let mut text = text.to_owned();
    for (link, new) in changes.into_iter().rev() {
        text.replace_range(link, &new);
    }
    text
}

/// Returns the path of a page in the book.
fn name_in_the_book(path: &str) -> String {
    path.strip_suffix(FIRST)
        .map_or_else(|| path.to_owned(), |folder| folder.to_owned() + FIRST_IN_BOOK)
}

/// Returns the links of pages to files of the book that are not there.
fn broken_links(html: &Path) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    let mut folders = vec![html.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                let text = fs::read_to_string(&path)?;
                let links = ["href=\"", "src=\""].into_iter().flat_map(|name| {
                    text.split(name).skip(1).filter_map(|rest| rest.split('"').next())
                });
                let is_file = |link: &&str| !link.contains(':') && !link.starts_with('#');
                for link in links.filter(is_file) {
                    let file = link.split(['#', '?']).next().unwrap_or_default();
                    if !folder.join(file).exists() {
                        broken.push(format!("{}: {link}", path.display()));
                    }
                }
            }
        }
    }
    Ok(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_parts_and_pages() {
        let text = "# The book\n\n[Begin](../README.md), or [not](c.md)\n\n# Guides\n\
                    - [A `b`](a.md): of [c](c.md).\n- [D\n  e](d/README.md)\n";
        let page = |(title, path): (&str, &str)| Entry::Page {
            title: title.to_owned(),
            path: path.to_owned(),
            depth: 0,
        };
        let part = |title: &str| Entry::Part(title.to_owned());
        let [begin, a, d] =
            [("Begin", "README.md"), ("A b", "docs/a.md"), ("D e", "docs/d/README.md")].map(page);
        assert_eq!(listed(text, CONTENTS, 0), [part("The book"), begin, part("Guides"), a, d]);
    }

    #[test]
    fn links_out_of_the_book_become_words() {
        let pages = BTreeSet::from(["README.md", "docs/a.md"]);
        let text = "[a](a.md#b) [`c`](../c.rs) [web](https://example.org) [here](#b) ![p](p.svg)\n";
        let expected = "[a](a.md#b) `c` [web](https://example.org) [here](#b) ![p](p.svg)\n";
        assert_eq!(in_the_book(text, "docs/b.md", &pages), expected);
        assert_eq!(in_the_book("[r](../README.md)", "docs/b.md", &pages), "[r](../index.md)");
        assert_eq!(name_in_the_book("docs/a.md"), "docs/a.md");
        assert_eq!(name_in_the_book("README.md"), "index.md");
    }
}
