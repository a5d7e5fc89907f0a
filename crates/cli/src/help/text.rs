//! The parts of help.

/// Text below the options of one command.
#[derive(Default)]
pub(crate) struct Help {
    /// Sections of `-h`.
    pub brief: Vec<Section>,
    /// Sections of `--help` and of the manual page.
    pub notes: Vec<Section>,
    /// Commands that run as printed; a comment follows ` # `. `-h` has the first three.
    pub examples: &'static [&'static str],
}

/// A part of the text.
pub(crate) enum Section {
    /// A paragraph.
    Prose(&'static str),
    /// Terms with their explanations, in each of which a line is a paragraph.
    Terms { heading: &'static str, terms: Vec<(String, String)> },
    /// Lines that are printed as they are.
    Lines { heading: &'static str, lines: &'static str },
}

impl Section {
    /// Terms that are known beforehand.
    pub(crate) fn terms(heading: &'static str, terms: &[(&str, &str)]) -> Self {
        let owned = |(term, text): &(&str, &str)| ((*term).to_owned(), (*text).to_owned());
        Self::Terms { heading, terms: terms.iter().map(owned).collect() }
    }
}
