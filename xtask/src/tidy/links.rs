//! Markdown: links lead somewhere, files that are named exist, and the index has every page.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::finding::Finding;
use super::source::Source;

/// The page that lists every page below its folder.
const INDEX: &str = "docs/README.md";

/// Folders of the root. A word in backticks that begins with one of them is a path.
const FOLDERS: [&str; 5] = ["crates/", "docs/", "python/", "samples/", "xtask/"];

/// A page as a reader of Markdown sees it.
#[derive(Default)]
struct Page {
    /// Names that `#` may lead to.
    anchors: BTreeSet<String>,
    /// Links to other places in the tree, with their lines.
    links: Vec<(usize, String)>,
    /// Words in backticks, with their lines.
    codes: Vec<(usize, String)>,
}

/// Checks every page of the tree, which has the files at `paths`.
pub(super) fn check(sources: &[Source], paths: &[String]) -> Vec<Finding> {
    let pages: BTreeMap<&str, Page> = sources
        .iter()
        .filter(|source| source.path.ends_with(".md"))
        .map(|source| (source.path.as_str(), Page::read(&source.text)))
        .collect();
    let mut places = BTreeSet::new();
    for path in paths {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        places.extend(ends.map(|end| &path[..end]));
    }
    let mut findings = Vec::new();
    for (path, page) in &pages {
        for (line, link) in &page.links {
            if let Some(what) = broken(path, link, &pages, &places) {
                findings.push(Finding::new(path, *line, what));
            }
        }
        for (line, code) in &page.codes {
            if is_path(code) && !places.contains(code.trim_end_matches('/')) {
                findings.push(Finding::new(path, *line, format!("`{code}` is not in the tree")));
            }
        }
    }
    findings.extend(not_in_the_index(&pages));
    findings
}

/// Returns what is wrong with a link, if anything is.
fn broken(
    page: &str,
    link: &str,
    pages: &BTreeMap<&str, Page>,
    places: &BTreeSet<&str>,
) -> Option<String> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, a)| (path, Some(a)));
    let target = if path.is_empty() { Some(page.to_owned()) } else { resolve(page, path) };
    let Some(target) = target.filter(|target| target.is_empty() || places.contains(&**target))
    else {
        return Some(format!("the link to {link} leads nowhere"));
    };
    let anchors = pages.get(&*target).map(|page| &page.anchors);
    let found = anchor.is_none_or(|anchor| anchors.is_some_and(|all| all.contains(anchor)));
    (!found).then(|| format!("the link to {link} leads to no heading of {target}"))
}

/// Returns the path from the root that a path on a page means; `None` if it leads outside the tree.
pub(crate) fn resolve(page: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns true if the text in backticks is a path of the tree; one with a capital NAME stands for
/// many.
fn is_path(code: &str) -> bool {
    let stands_for_many = |part: &str| {
        let stem = part.split('.').next().unwrap_or_default();
        stem.len() > 1 && stem.chars().all(|c| c.is_ascii_uppercase()) && stem != "README"
    };
    FOLDERS.iter().any(|folder| code.starts_with(folder))
        && code.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
        && !code.split('/').any(stands_for_many)
}

/// Returns the pages of the index's folder that neither the index nor a page in it links to.
fn not_in_the_index(pages: &BTreeMap<&str, Page>) -> Vec<Finding> {
    let Some((folder, name)) = INDEX.rsplit_once('/') else { return Vec::new() };
    let mut reached = BTreeSet::from([INDEX.to_owned()]);
    let mut open = vec![INDEX.to_owned()];
    while let Some(path) = open.pop() {
        let Some(page) = pages.get(&*path) else { continue };
        for (_, link) in &page.links {
            let target = resolve(&path, link.split('#').next().unwrap_or_default());
            // A list of a folder below counts as a part of the index; another page does not.
            if let Some(target) = target.filter(|target| reached.insert(target.clone()))
                && target.ends_with(name)
            {
                open.push(target);
            }
        }
    }
    let below = |path: &&&str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let missing = pages.keys().filter(below).filter(|path| !reached.contains(**path));
    let mut findings: Vec<Finding> =
        missing.map(|path| Finding::new(INDEX, 0, format!("does not list {path}"))).collect();
    if !pages.contains_key(INDEX) {
        findings.push(Finding::new(INDEX, 0, "missing"));
    }
    findings
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Page::default();
        let mut heading: Option<(HeadingLevel, String)> = None;
        let extensions = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(text, extensions).into_offset_iter() {
            let line = text[..range.start].matches('\n').count() + 1;
            match event {
                Event::Start(Tag::Heading { level, .. }) => heading = Some((level, String::new())),
                Event::End(TagEnd::Heading(_)) => {
                    if let Some((_, title)) = heading.take() {
                        page.add_anchor(&title);
                    }
                }
                Event::Text(words) | Event::Code(words) if heading.is_some() => {
                    heading.iter_mut().for_each(|(_, title)| title.push_str(&words));
                }
                Event::Code(words) => page.codes.push((line, words.into_string())),
                Event::Start(
                    Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. },
                ) if link_type != LinkType::Autolink && is_in_the_tree(&dest_url) => {
                    page.links.push((line, dest_url.into_string()));
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    let targets = ["href=\"", "src=\""].into_iter().flat_map(|name| {
                        html.split(name).skip(1).filter_map(|rest| rest.split('"').next())
                    });
                    let targets = targets.filter(|target| is_in_the_tree(target));
                    page.links.extend(targets.map(|target| (line, target.to_owned())));
                }
                _ => {}
            }
        }
        page
    }

    /// Adds a heading's name as GitHub makes it: a second one of the same name ends in `-1`.
    fn add_anchor(&mut self, title: &str) {
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let name = title.trim().to_lowercase().chars().filter(kept).collect::<String>();
        let name = name.replace(' ', "-");
        let same = (1..).map(|n| format!("{name}-{n}"));
        let free = [name.clone()].into_iter().chain(same).find(|n| !self.anchors.contains(n));
        self.anchors.extend(free);
    }
}

/// Returns true for a link to a file or a heading. Other tools check links to the web and to Rust
/// items.
fn is_in_the_tree(target: &str) -> bool {
    !target.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source =
            |(path, text): &(&str, &str)| Source::new((*path).to_owned(), (*text).to_owned());
        let sources: Vec<Source> = files.iter().map(source).collect();
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        check(&sources, &paths).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_link_to_a_file_or_folder_of_the_tree_is_right() {
        let index = "[a](a.md) [up](../src) [top](..) [web](https://example.org/a) [item](a::b)\n";
        assert_eq!(found(&[(INDEX, index), ("docs/a.md", ""), ("src/a.rs", "")]), [""; 0]);
    }

    #[test]
    fn a_link_to_a_missing_file_is_found() {
        let index = "[a](a.md)\n\n| [b](../b.md) |\n|---|\n\n<img src=\"c.png\">\n";
        let expected = [
            "docs/README.md:1: the link to a.md leads nowhere",
            "docs/README.md:3: the link to ../b.md leads nowhere",
            "docs/README.md:6: the link to c.png leads nowhere",
        ];
        assert_eq!(found(&[(INDEX, index)]), expected);
        let outside = found(&[(INDEX, "[a](../../a.md)\n")]);
        assert_eq!(outside, ["docs/README.md:1: the link to ../../a.md leads nowhere"]);
    }

    #[test]
    fn a_link_to_a_missing_heading_is_found() {
        let page = "# `a-b` of C_d: (e)\n## Twice\n## Twice\n";
        let index = "[1](a.md#a-b-of-c_d-e) [2](a.md#twice-1) [3](a.md#twice-2) [4](#index)\n";
        let expected = [
            "docs/README.md:1: the link to a.md#twice-2 leads to no heading of docs/a.md",
            "docs/README.md:1: the link to #index leads to no heading of docs/README.md",
        ];
        assert_eq!(found(&[(INDEX, index), ("docs/a.md", page)]), expected);
    }

    #[test]
    fn a_path_in_backticks_exists() {
        let index = "`docs/README.md` `docs/` `docs/gone.md` `docs/NAME.md` `docs/*.md`\n";
        assert_eq!(
            found(&[(INDEX, index)]),
            ["docs/README.md:1: `docs/gone.md` is not in the tree"]
        );
    }

    #[test]
    fn a_page_that_neither_the_index_nor_a_list_in_it_has_is_found() {
        let files = [
            (INDEX, "[decisions](decisions/README.md) [a](a.md)\n"),
            ("docs/decisions/README.md", "[1](1.md)\n"),
            ("docs/decisions/1.md", ""),
            ("docs/a.md", "[b](b.md)\n"),
            ("docs/b.md", ""),
            ("other/c.md", ""),
        ];
        assert_eq!(found(&files), ["docs/README.md: does not list docs/b.md"]);
        assert_eq!(found(&files[3..5]).last().unwrap(), "docs/README.md: missing");
    }
}
