//! Tests of files that are refused, with the line and the reason.

use super::Architecture::X86;
use super::*;
use proptest::prelude::*;

/// Returns the lines of the section's header and of the key, from 1 on.
fn lines_of(text: &str, section: &str, key: &str) -> (usize, usize) {
    let header = match section {
        "-" => 0,
        _ => 1 + text.lines().position(|line| line == format!("[{section}]")).expect("a section"),
    };
    let has_key = |line: &str| line.starts_with(&format!("{key} = "));
    (header, header + 1 + text.lines().skip(header).position(has_key).expect("a key"))
}

/// Returns the text with a line replaced, or removed for `None`.
fn with_line(text: &str, number: usize, line: Option<&str>) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.splice(number - 1..number, line);
    lines.join("\n") + "\n"
}

fn refusal(text: &str) -> String {
    Platform::parse("a.toml", text).expect_err("what is wrong is refused").to_string()
}

/// Checks each line of the table of refusals. An error for a value below its range names the
/// range's end.
#[test]
fn wrong_lines_are_refused_there() {
    let rows = include_str!("refused.txt").lines().filter(|row| !row.starts_with('#'));
    for row in rows {
        let fields: Vec<&str> = row.split(" | ").collect();
        let [architecture, section, key, line, lower, says] = fields[..] else {
            panic!("six fields: {row}");
        };
        let architecture = Architecture::ALL.into_iter().find(|one| one.name() == architecture);
        let text = file(architecture.expect("an architecture"));
        let (_, number) = lines_of(&text, section, key);
        let refusal = refusal(&with_line(&text, number, Some(&line.replace("\\n", "\n"))));
        let lower: usize = lower.parse().expect("a number of lines");
        let expected = format!("a.toml:{}: {says}", number + lower);
        match expected.strip_suffix('…') {
            Some(begin) => assert!(refusal.starts_with(begin), "{refusal}\nexpected {expected}"),
            None => assert_eq!(refusal, expected),
        }
    }
}

/// A fitted price names the measurement that it was fitted on.
#[test]
fn a_fitted_price_says_on_what() {
    let text = file(X86);
    let (header, basis) = lines_of(&text, "prices.access", "basis");
    let fitted = with_line(&text, basis, Some("basis = \"fitted\""));
    let says = "missing `prices.access.on`, accepted: what it was fitted on";
    assert_eq!(refusal(&fitted), format!("a.toml:{header}: {says}"));
    let fitted = with_line(&text, basis, Some("basis = \"fitted\"\non = \"a benchmark\""));
    let platform = Platform::parse("a.toml", &fitted).unwrap();
    let origin = &platform.quotes()[0].provenance;
    assert_eq!((origin.basis, origin.on.as_deref()), (Basis::Fitted, Some("a benchmark")));
}

/// TLBs that cannot exist are refused at the line that makes them so.
#[test]
fn impossible_tlbs_are_refused() {
    let cases = [
        ("l1", [0, 0, 4], "sets", "`tlb.l1.sets`: l1 has no sets"),
        ("l1", [0, 16, 0], "ways", "`tlb.l1.ways`: l1 has no ways"),
        ("l2", [768, 96, 8], "sets", "`tlb.l2.sets`: l2 has 96 sets: a power of two is needed"),
        (
            "l2",
            [65536, 4096, 16],
            "entries",
            "`tlb.l2.entries`: l2 has 65536 entries: at most 32768",
        ),
        ("l2", [8, 2, 4], "entries", "`tlb.l2.entries`: l2 has 8 entries, fewer than l1's 64"),
    ];
    for (level, [entries, sets, ways], key, says) in cases {
        let mut text = file(X86);
        let section = format!("tlb.{level}");
        for (key, value) in [("entries", entries), ("sets", sets), ("ways", ways)] {
            let (_, number) = lines_of(&text, &section, key);
            text = with_line(&text, number, Some(&format!("{key} = {value}")));
        }
        let (_, number) = lines_of(&text, &section, key);
        assert_eq!(refusal(&text), format!("a.toml:{number}: {says}"));
    }
}

#[test]
fn hardware_that_sets_dirty_sets_accessed() {
    let text = file(X86);
    let (_, number) = lines_of(&text, "cores", "hardware_accessed");
    let refusal = refusal(&with_line(&text, number, Some("hardware_accessed = false")));
    let says = "`cores.hardware_dirty`: found true, and hardware_accessed = false, ";
    assert!(refusal.starts_with(&format!("a.toml:{}: {says}", number + 1)), "{refusal}");
}

#[test]
fn sections_are_sections() {
    let refused = refusal("architecture = \"x86\"\ncores = 8\n");
    let says = "a.toml:2: `cores`: found 8, accepted: a section with count, ";
    assert!(refused.starts_with(says), "{refused}");
    assert_eq!(
        refusal("\n# nothing\n"),
        "a.toml:2: missing `architecture`, accepted: arm64, x86 or riscv"
    );
}

/// A price may be an inline table, on one line.
#[test]
fn inline_tables_are_read() {
    let text = file(X86);
    let (header, _) = lines_of(&text, "prices.access", "value");
    let mut lines: Vec<&str> = text.lines().collect();
    let whole = "access = { value = 2, low = 1, high = 4, unit = \"ns\", basis = \"guessed\", \
                 source = \"a test\" }";
    lines.splice(header - 1..header + 6, ["[prices]", whole]);
    let inline = Platform::parse("a.toml", &lines.join("\n")).unwrap();
    assert_eq!(inline, Platform::parse("a.toml", &text).unwrap());
}

/// No key has a default: each key and each header of a shipped file is needed.
#[test]
fn every_line_is_needed() {
    for name in Platform::names() {
        let text = Platform::file(name).unwrap();
        let whole = without_prose(Platform::parse(name, text).unwrap());
        for (number, line) in (1..).zip(text.lines()) {
            let parsed = Platform::parse(name, &with_line(text, number, None));
            let is_key = line.starts_with(|first: char| first.is_ascii_lowercase());
            let is_prose = line.is_empty() || line.starts_with(['#', ' ']);
            match parsed {
                Ok(other) if is_prose => assert!(without_prose(other) == whole, "line {number}"),
                Ok(_) => panic!("{name}: line {number} is not needed: {line}"),
                Err(error) => {
                    assert!(error.line <= text.lines().count(), "{error}");
                    let key = line.split(' ').next().unwrap();
                    let is_named = error.to_string().contains(key) || line.ends_with("\"\"\"\\");
                    assert!(!is_key || is_named, "line {number}, {line}: {error}");
                }
            }
        }
    }
}

fn without_prose(mut platform: Platform) -> Platform {
    let quotes = platform.prices.iter_mut().map(|quote| &mut quote.provenance);
    let sections = platform.sections.iter_mut().map(|section| &mut section.origin);
    quotes.chain(sections).for_each(|origin| origin.source.clear());
    platform
}

proptest! {
    /// Any text is either read or refused, at a line that the file has.
    #[test]
    fn any_text_is_read_or_refused(
        at in 0_usize..12_000,
        gone in 0_usize..40,
        text in "\\PC{0,8}",
    ) {
        let mut file = Platform::file("carmel-8-class").unwrap().to_owned();
        let boundary = |mut at: usize| {
            at = at.min(file.len());
            while !file.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let range = boundary(at)..boundary(at + gone);
        file.replace_range(range, &text);
        if let Err(error) = Platform::parse("a.toml", &file) {
            prop_assert!((1..=file.lines().count() + 1).contains(&error.line), "{}", error);
        }
    }
}
