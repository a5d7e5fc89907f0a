//! From a platform file's text to a platform, or to the first thing wrong with it.

mod prices;
mod section;
mod shape;

use toml_edit::Document;

use super::error::{PlatformError, Problem};
use super::price::{Basis, Provenance};
use super::{Architecture, Platform};
use section::{Section, Source};

/// The keys that say where a section or price comes from.
const PROVENANCE: [&str; 3] = ["basis", "on", "source"];

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

/// The architecture, which decides what other keys there are.
fn architecture(
    source: Source<'_>,
    document: &Document<&str>,
) -> Result<Architecture, PlatformError> {
    let keys: Vec<&str> = document.iter().map(|(key, _)| key).collect();
    let root = Section::root(source, document.as_table(), &keys)?;
    root.choice("architecture", &Architecture::ALL.map(|one| (one.name(), one)))
}

/// Where a section or price comes from.
fn provenance(section: &Section<'_>) -> Result<Provenance, PlatformError> {
    let basis = section.choice("basis", &Basis::ALL.map(|basis| (basis.name(), basis)))?;
    let is_fitted = basis == Basis::Fitted;
    if section.has("on") && !is_fitted {
        let found = format!("a value beside basis \"{}\"", basis.name());
        return Err(section.refused("on", found, "a value beside basis \"fitted\" alone"));
    }
    let on = is_fitted.then(|| section.text("on", "what it was fitted on")).transpose()?;
    let source = section.text("source", "the document, the measurement or the reasoning")?;
    Ok(Provenance { basis, on: on.map(str::to_owned), source: source.to_owned() })
}
