//! The engine brings neither `std` nor an allocator.

use syn::{Attribute, Item, ItemExternCrate};

use super::finding::Finding;
use super::shape;
use super::source::Source;

/// Roots of the crates that an operating system links.
const ROOTS: [&str; 2] = ["crates/paging/src/lib.rs", "crates/reclaim/src/lib.rs"];

/// Checks the root of such a crate.
pub(super) fn check(source: &Source, file: &syn::File) -> Vec<Finding> {
    if !ROOTS.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if !file.attrs.iter().any(is_no_std) {
        findings.push(Finding::new(&source.path, 0, "without #![no_std]"));
    }
    let linked = file.items.iter().filter_map(|item| match item {
        Item::ExternCrate(linked) if !shape::is_test_only(&linked.attrs) => Some(linked),
        _ => None,
    });
    for ItemExternCrate { ident, .. } in linked {
        let what = format!("the engine links no {ident}");
        findings.push(Finding::new(&source.path, ident.span().start().line, what));
    }
    findings
}

fn is_no_std(attribute: &Attribute) -> bool {
    attribute.path().is_ident("no_std")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let source = Source::new(ROOTS[0].to_owned(), text.to_owned());
        let findings = check(&source, source.rust().as_ref().unwrap());
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_engine_is_no_std() {
        assert_eq!(found("//! Tables.\n"), ["without #![no_std]"]);
        assert_eq!(found("#![no_std]\n"), [""; 0]);
    }

    #[test]
    fn the_engine_does_not_allocate() {
        let text = "#![no_std]\nextern crate alloc;\n";
        assert_eq!(found(text), ["the engine links no alloc"]);
        let text = "#![no_std]\n#[cfg(test)]\nextern crate std;\n";
        assert_eq!(found(text), [""; 0]);
    }
}
