//! Footnotes: notes that single figures need.

use crate::compare::{Change, Comparison, Row, Verdict};
use crate::render::legend;
use crate::schema::{Basis, Better};

/// The subject of a footnote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    /// Figures that were not measured.
    Basis(Basis),
    /// Metrics without a better direction.
    Neither,
    /// Samples too few for a change.
    Few,
    /// Samples too few for a test.
    OutOfReach,
    /// A test that is not significant.
    NotSignificant,
    /// Samples that are not tested, and overlap.
    Overlap,
}

/// The footnotes of a comparison, in the order in which they are met.
pub(super) struct Notes<'a> {
    of: &'a Comparison,
    /// True if figures differ in their basis.
    bases: bool,
    met: Vec<Note>,
}

impl<'a> Notes<'a> {
    pub(super) fn new(of: &'a Comparison) -> Self {
        let bases = of.rows.windows(2).any(|rows| rows[0].basis != rows[1].basis);
        Self { of, bases, met: Vec::new() }
    }

    /// Returns the mark of a row's name: ` [1]`, or nothing.
    pub(super) fn of_row(&mut self, row: &Row) -> String {
        let basis = self.bases && row.basis != Basis::Measured;
        let neither = row.better == Better::Neither && !self.of.others.is_empty();
        let notes = basis.then_some(Note::Basis(row.basis)).into_iter();
        let notes = notes.chain(neither.then_some(Note::Neither));
        let numbers: Vec<String> = notes.map(|note| self.number(note)).collect();
        if numbers.is_empty() { String::new() } else { format!(" [{}]", numbers.join(",")) }
    }

    /// Returns the mark of a change: `[1]`, or nothing.
    pub(super) fn of_change(&mut self, row: &Row, change: &Change) -> String {
        let note = match change.verdict {
            _ if row.base.is_none() => None,
            _ if change.verdict == Verdict::NotJudged => None,
            _ if row.has_too_few(change) => Some(Note::Few),
            Verdict::TooFewRuns | Verdict::TooFewPairs => Some(Note::OutOfReach),
            Verdict::NoDifference if change.test.is_some() => Some(Note::NotSignificant),
            Verdict::NoDifference if change.percent != Some(0.0) => Some(Note::Overlap),
            Verdict::NoDifference
            | Verdict::Better
            | Verdict::Worse
            | Verdict::Differs
            | Verdict::NotJudged => None,
        };
        note.map_or_else(String::new, |note| format!("[{}]", self.number(note)))
    }

    fn number(&mut self, note: Note) -> String {
        let met = self.met.iter().position(|other| *other == note).unwrap_or_else(|| {
            self.met.push(note);
            self.met.len() - 1
        });
        (met + 1).to_string()
    }

    /// Returns all footnotes that were met, each with its number.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        let numbered = self.met.iter().enumerate();
        numbered.map(|(index, note)| format!("[{}] {}", index + 1, self.text(*note)))
    }

    fn text(&self, note: Note) -> String {
        match note {
            Note::Basis(basis) => legend::basis_line(self.of, basis),
            Note::Neither => "neither direction is better".to_owned(),
            Note::Few => "too few runs: fewer than 6 samples say nothing of how much".to_owned(),
            Note::OutOfReach => {
                "too few runs: not significant whatever they gave, with so many tests".to_owned()
            }
            Note::NotSignificant => format!("not significant at {}", self.of.alpha),
            Note::Overlap => "no difference shown: the samples of the two overlap".to_owned(),
        }
    }
}
