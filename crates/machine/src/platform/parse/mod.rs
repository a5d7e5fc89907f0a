//! Turns a platform file's text into a platform, or into its first problem.

mod prices;
mod provenance;
mod section;
mod shape;

use toml_edit::Document;

use super::Platform;
use super::architecture::Architecture;
use super::error::{PlatformError, Problem};
use section::{Section, Source};

/// Reads a platform file.
pub(super) fn platform(file: &str, text: &str) -> Result<Platform, PlatformError> {
    let source = Source { file, text };
    let document = Document::parse(text).map_err(|error| {
        let offset = error.span().map_or_else(|| source.last_line(), |span| span.start);
        let message = error.message().trim().replace('\n', ", ");
        source.refusal(offset, Problem::Syntax(message))
    })?;
    let architecture = architecture(source, &document)?;
    let invalidation = shape::invalidation_section(architecture);
    let keys = ["name", "about", "architecture", "cores", "tlb", invalidation, "storage", "prices"];
    let root = Section::root(source, document.as_table(), &keys)?;
    let (shape, sections) = shape::read(&root, architecture)?;
    Ok(Platform {
        name: root.text("name", "the platform's name")?.to_owned(),
        about: root.text("about", "a sentence")?.to_owned(),
        shape,
        sections,
        prices: prices::read(&root, architecture)?,
    })
}

/// Reads the architecture, which decides which other keys the file has.
fn architecture(
    source: Source<'_>,
    document: &Document<&str>,
) -> Result<Architecture, PlatformError> {
    let keys: Vec<&str> = document.iter().map(|(key, _)| key).collect();
    let root = Section::root(source, document.as_table(), &keys)?;
    root.choice("architecture", &Architecture::ALL.map(|one| (one.name(), one)))
}
