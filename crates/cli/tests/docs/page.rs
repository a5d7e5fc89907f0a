//! The pages, and the fenced blocks in them.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A page of the documentation.
pub(crate) struct Page {
    /// The path from the root.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A fenced block.
pub(crate) struct Block {
    /// The line of its opening fence, from 1.
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) text: String,
    /// The text of the HTML comment right before it.
    pub(crate) comment: Option<String>,
    /// The bytes of the page from its opening fence to its closing fence.
    pub(crate) range: Range<usize>,
}

/// Words in backticks.
pub(crate) struct Span {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root exists")
}

/// Reads every page, but for those that tell of the past.
pub(crate) fn all() -> Vec<Page> {
    let root = root();
    let mut pages = Vec::new();
    for name in ["README.md", "CONTRIBUTING.md", "docs", "crates", "python", "samples"] {
        collect(&root, &root.join(name), &mut pages);
    }
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    pages
}

fn collect(root: &Path, path: &Path, pages: &mut Vec<Page>) {
    let metadata = fs::symlink_metadata(path).expect("the file is there");
    if metadata.is_dir() {
        for entry in fs::read_dir(path).expect("the directory can be read") {
            collect(root, &entry.expect("the entry can be read").path(), pages);
        }
    } else if metadata.is_file() && path.extension().is_some_and(|extension| extension == "md") {
        let text = fs::read_to_string(path).expect("the page is text");
        let path = path.strip_prefix(root).expect("the page lies below the root");
        pages.push(Page { path: path.display().to_string(), text });
    }
}

impl Page {
    pub(crate) fn spans(&self) -> Vec<Span> {
        let events = Parser::new(&self.text).into_offset_iter();
        let spans = events.filter_map(|(event, range)| match event {
            Event::Code(text) => {
                Some(Span { line: self.line(range.start), text: text.into_string() })
            }
            _ => None,
        });
        spans.collect()
    }

    /// Returns the line of a byte, from 1.
    fn line(&self, byte: usize) -> usize {
        self.text[..byte].matches('\n').count() + 1
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut comment = None;
        let mut open: Option<Block> = None;
        for (event, range) in Parser::new(&self.text).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                    let line = self.line(range.start);
                    let (language, text) = (language.into_string(), String::new());
                    open = Some(Block { line, language, text, comment: comment.take(), range });
                }
                Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
                Event::Text(text) if open.is_some() => {
                    open.iter_mut().for_each(|block| block.text.push_str(&text));
                }
                // A comment may be several events, one for each line.
                Event::Start(Tag::HtmlBlock) => comment = Some(String::new()),
                Event::Html(html) => comment.iter_mut().for_each(|text| text.push_str(&html)),
                Event::End(TagEnd::HtmlBlock) => {}
                _ => comment = None,
            }
        }
        for block in &mut blocks {
            block.comment = block.comment.take().and_then(|html| {
                let text = html.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
                Some(text.trim().to_owned())
            });
        }
        blocks
    }
}

#[test]
fn a_block_has_its_text_without_indentation_and_the_comment_before_it() {
    let text =
        "<!-- a\nb -->\n```sh\nls\n```\n\n- item\n\n  ```\n  x\n   y\n  ```\n<!-- c -->\nz\n";
    let blocks = Page { path: String::new(), text: text.to_owned() }.blocks();
    let read: Vec<_> =
        blocks.iter().map(|b| (b.line, &*b.language, &*b.text, b.comment.as_deref())).collect();
    assert_eq!(read, [(3, "sh", "ls\n", Some("a\nb")), (9, "", "x\n y\n", None)]);
    assert_eq!(&text[blocks[0].range.clone()], "```sh\nls\n```");
}
