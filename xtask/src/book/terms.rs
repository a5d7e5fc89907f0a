//! Terms of the glossary, explained where a page of the book first uses them: under the mouse, by
//! keyboard, and by a touch.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The page that has the terms.
pub(super) const GLOSSARY: &str = "docs/glossary.md";

/// The style of terms; mdBook copies the file beside the pages.
pub(super) const STYLE: &str = "\
.term{cursor:help;text-decoration:underline dotted;position:relative}
.term:hover::after,.term:focus::after{content:attr(data-means);position:absolute;left:0;top:1.6em;
z-index:9;width:max-content;max-width:min(24em,70vw);padding:.4em .6em;border:1px solid;
border-radius:4px;background:var(--bg);color:var(--fg);font-size:14px;font-weight:normal;
font-style:normal;white-space:normal}
@media (max-width:900px){.term:hover::after,.term:focus::after{position:fixed;left:5vw;right:5vw;
top:auto;bottom:1em;width:auto;max-width:none}}
@media print{.term{text-decoration:none}}
";

/// Names that are everyday words too, so that most of their uses are not of the term.
const EVERYDAY: [&str; 34] = [
    "access flag",
    "activated",
    "atomic",
    "base",
    "bound",
    "clean",
    "draw",
    "entry",
    "fault",
    "field",
    "fold",
    "gather",
    "ground",
    "immediate",
    "interval",
    "isolated",
    "lab",
    "limit",
    "line",
    "major",
    "metric",
    "miss",
    "old",
    "order",
    "point",
    "reach",
    "record",
    "reference",
    "restored",
    "schedule",
    "sweep",
    "trace",
    "turn",
    "whole",
];

/// A term: a name that pages use for it, and its meaning in plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    name: String,
    meaning: String,
}

/// Reads the terms of the glossary, longer names first: an item has the names in bold, with
/// commas, semicolons or in brackets, then a colon and the meaning.
pub(super) fn read(glossary: &str) -> Vec<Term> {
    let (mut terms, mut names, mut meaning) = (Vec::new(), String::new(), String::new());
    let mut is_name = false;
    for event in Parser::new_ext(glossary, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Item) => (names, meaning) = (String::new(), String::new()),
            Event::Start(Tag::Strong) => is_name = names.is_empty(),
            Event::End(TagEnd::Strong) => is_name = false,
            Event::Text(text) | Event::Code(text) if is_name => names.push_str(&text),
            Event::Text(text) | Event::Code(text) => meaning.push_str(&text),
            Event::SoftBreak => meaning.push(' '),
            Event::End(TagEnd::Item) => {
                let meaning = meaning.trim_start_matches([':', ' ']).to_owned();
                let all = names.split([',', ';', '(', ')']).map(str::trim);
                let all = all.filter(|name| name.len() > 2 && !EVERYDAY.contains(name));
                terms.extend(
                    all.map(|name| Term { name: name.to_owned(), meaning: meaning.clone() }),
                );
            }
            _ => {}
        }
    }
    terms.sort_by(|a, b| b.name.len().cmp(&a.name.len()).then(a.name.cmp(&b.name)));
    terms
}

/// Marks the first use of each term in a page's prose: not in headings, links, code and pictures.
pub(super) fn mark(page: &str, terms: &[Term]) -> String {
    let mut marks: Vec<(usize, usize, &Term)> = Vec::new();
    let (mut used, mut left_out) = (BTreeSet::new(), 0);
    for (event, range) in Parser::new_ext(page, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(tag) if is_left_out(&tag) => left_out += 1,
            Event::End(TagEnd::Heading(_) | TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => {
                left_out -= 1;
            }
            Event::Text(text) if left_out == 0 && page[range.clone()] == *text => {
                for term in terms {
                    if used.contains(&*term.meaning) {
                        continue;
                    }
                    let free = |at: &usize| {
                        let (from, to) = (range.start + at, range.start + at + term.name.len());
                        marks.iter().all(|(start, end, _)| to <= *start || from >= *end)
                    };
                    let Some(at) = uses(&text, &term.name).find(free) else { continue };
                    used.insert(&*term.meaning);
                    marks.push((range.start + at, range.start + at + term.name.len(), term));
                }
            }
            _ => {}
        }
    }
    marks.sort_by_key(|(start, ..)| *start);
    let mut page = page.to_owned();
    for (start, end, term) in marks.into_iter().rev() {
        let meaning = escaped(&term.meaning);
        let name = &page[start..end];
        let marked = format!(
            "<abbr class=\"term\" tabindex=\"0\" aria-label=\"{name}: {meaning}\" \
             data-means=\"{meaning}\">{name}</abbr>"
        );
        page.replace_range(start..end, &marked);
    }
    page
}

const fn is_left_out(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Heading { .. } | Tag::Link { .. } | Tag::Image { .. } | Tag::CodeBlock(_))
}

/// Returns the places where a text has a name as a whole word, also with a plural's s.
fn uses<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let joins = |c: char| c.is_alphanumeric() || "-_/".contains(c);
    text.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let rest = &text[at + name.len()..];
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        !text[..*at].ends_with(joins) && !rest.starts_with(joins)
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Vec<Term> {
        let tlb = "- **TLB**: a cache\n  of *translations*.\n";
        read(&format!("# G\n\n{tlb}- **TLB batch (debt)**: a \"flush\".\n"))
    }

    #[test]
    fn an_item_has_names_and_a_meaning() {
        let term =
            |name: &str, meaning: &str| Term { name: name.to_owned(), meaning: meaning.to_owned() };
        let batch = "a \"flush\".";
        let expected = [
            term("TLB batch", batch),
            term("debt", batch),
            term("TLB", "a cache of translations."),
        ];
        assert_eq!(terms(), expected);
    }

    #[test]
    fn the_first_use_is_marked_and_can_be_reached_by_keyboard() {
        let marked = mark("# TLB\n\nTwo TLBs, a TLB.\n", &terms());
        let meaning = "a cache of translations.";
        let expected = format!(
            "# TLB\n\nTwo <abbr class=\"term\" tabindex=\"0\" aria-label=\"TLB: {meaning}\" \
             data-means=\"{meaning}\">TLB</abbr>s, a TLB.\n"
        );
        assert_eq!(marked, expected);
    }

    #[test]
    fn a_longer_name_comes_before_one_that_it_has() {
        let marked = mark("a TLB batch, then a TLB\n", &terms());
        assert!(marked.contains(">TLB batch</abbr>, then a <abbr"), "{marked}");
        assert!(marked.contains("data-means=\"a &quot;flush&quot;.\""), "{marked}");
    }

    #[test]
    fn code_links_pictures_and_parts_of_words_stay() {
        for page in ["`TLB`\n", "[TLB](a.md)\n", "![TLB](a.svg)\n", "```\nTLB\n```\n", "a TLB-x\n"]
        {
            assert_eq!(mark(page, &terms()), page);
        }
    }

    #[test]
    fn everyday_names_are_names_of_the_glossary() {
        let path = crate::cmd::root().join(GLOSSARY);
        let glossary = std::fs::read_to_string(path).unwrap();
        for name in EVERYDAY {
            assert!(uses(&glossary, name).next().is_some(), "the glossary has no {name}");
        }
    }
}
