//! Manual pages: one for each command, with what its `--help` has.

use crate::common::{entries, refused, stdout};
use std::collections::BTreeMap;
use std::fs;

/// Help of a command and of all below it, by the name of its page.
fn helps(words: &str, helps: &mut BTreeMap<String, String>) {
    let help = stdout(&format!("{words} --help"));
    let list = help.split_once("\nCommands:\n").map_or("", |(_, list)| list);
    let below = list.lines().take_while(|line| !line.is_empty());
    let names = below.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(|name| !name.is_empty() && *name != "help") {
        self::helps(format!("{words} {name}").trim(), helps);
    }
    let page = format!("pageout {words}").trim().replace(' ', "-") + ".1";
    helps.insert(page, help);
}

/// Returns a page's text, without its markup.
fn read(page: &str) -> String {
    let marks = [r"\fB", r"\fI", r"\fR", r"\&"];
    let bare = marks.iter().fold(page.to_owned(), |text, mark| text.replace(mark, ""));
    bare.replace(r"\-", "-").replace(r"\*(Aq", "'").replace(r"\[u2013]", "–").replace(r"\\", r"\")
}

#[test]
fn every_command_has_a_page_with_its_usage_options_and_notes() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().to_str().expect("UTF-8");
    let told = stdout(&format!("man {place}"));
    let mut told: Vec<_> = told.lines().map(str::to_owned).collect();
    told.sort();
    let mut helps = BTreeMap::new();
    self::helps("", &mut helps);
    assert!(helps.contains_key("pageout-trace-record.1"), "{:?}", helps.keys());
    let names: Vec<_> = helps.keys().cloned().collect();
    assert_eq!(entries(directory.path()), names);
    assert_eq!(told, names.iter().map(|name| format!("{place}/{name}")).collect::<Vec<_>>());

    for (name, help) in helps {
        let page = read(&fs::read_to_string(directory.path().join(&name)).expect("a page"));
        let title = name.strip_suffix(".1").expect("section 1");
        let version = env!("CARGO_PKG_VERSION");
        assert!(page.contains(&format!(".TH {title} 1 \"\" \"pageout {version}\"")), "{page}");
        assert!(page.contains(&format!("\n.SH NAME\n{title} - ")), "{page}");
        let (_, rest) = help.split_once("Usage: ").expect("help has its usage");
        let usage = rest.lines().next().expect("a line");
        assert!(page.contains(&format!("\n.SH SYNOPSIS\n{usage}\n")), "{name}: {usage}: {page}");
        assert!(page.contains("\n.SH OPTIONS\n"), "{page}");
        let words =
            help.lines().filter_map(|line| line.split_whitespace().find(|&word| word != "-h,"));
        for option in words.filter(|word| word.starts_with("--")) {
            assert!(page.contains(&format!("\n{option}")) || page.contains(&format!(", {option}")));
        }
        // Texts of options, notes and examples; a page fills its lines anew.
        let (_, below) = help.split_once("\nOptions:\n").expect("every command has --help");
        let below = without_values(below);
        let is_text = |line: &&str| !line.trim().starts_with(['-', '[', '<']);
        let filled = filled(&page);
        for line in below.lines().filter(is_text).filter(|line| !line.ends_with(':')) {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(filled.contains(&line), "{name}: {line}: {filled}");
        }
    }
}

/// Help without lists of possible values, which pages have as bullets.
fn without_values(help: &str) -> String {
    let mut parts = help.split("[possible values: ");
    let first = parts.next().unwrap_or_default().to_owned();
    let rests = parts.map(|part| part.split_once(']').map_or(part, |(_, rest)| rest));
    first + &rests.collect::<String>()
}

/// Returns the text of a page in one line, without requests.
fn filled(page: &str) -> String {
    let texts = page.lines().filter(|line| !line.starts_with('.'));
    texts.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn pages_that_are_there_are_replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = directory.path().join("pageout-run.1");
    fs::write(&page, "old").expect("a file");
    stdout(&format!("man {}", directory.path().display()));
    assert!(fs::read_to_string(page).expect("a page").starts_with(".ie "));
}

#[test]
fn a_directory_that_is_missing_is_made() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("share/man/man1");
    stdout(&format!("man {}", place.display()));
    assert!(place.join("pageout.1").exists());
}

#[test]
fn where_pages_cannot_be_written_none_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().to_str().expect("UTF-8");
    refused("man /proc", &["/proc/pageout.1"]);
    refused("man /proc/none", &["cannot create /proc/none", "No such"]);
    fs::write(directory.path().join("file"), "").expect("a file");
    refused(&format!("man {place}/file"), &[&format!("{place}/file: not a directory")]);
    refused(&format!("man {place}/file/a"), &[&format!("cannot create {place}/file/a")]);
    fs::create_dir(directory.path().join("pageout-run.1")).expect("a directory");
    refused(&format!("man {place}"), &[&format!("{place}/pageout-run.1")]);
    assert_eq!(entries(directory.path()), ["file", "pageout-run.1"]);
    refused("man", &["<DIR>"]);
}
