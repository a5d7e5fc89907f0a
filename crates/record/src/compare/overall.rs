//! The verdict on each variant: the verdicts on its wholes, taken together.

use serde::Serialize;

use super::row::{Change, Row};
use super::verdict::Verdict;

/// The verdict on one variant against the base.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overall {
    /// Title of the variant.
    pub variant: String,
    /// The sum of the wholes of all cells.
    pub standing: Standing,
    /// Wholes that are better.
    pub better: Wholes,
    /// Wholes that are worse.
    pub worse: Wholes,
    /// Wholes for which no difference is shown.
    pub no_difference: Wholes,
    /// Wholes about which nothing is known: runs are too few, or one side has no figure.
    pub undecided: Wholes,
}

/// The sum of several wholes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Some are better, and none is worse.
    Better,
    /// Some are worse, and none is better.
    Worse,
    /// Some are better, and some are worse.
    Mixed,
    /// No difference is shown in any whole.
    NoDifference,
    /// There is no whole, or every whole is undecided.
    Undecided,
}

/// Wholes with one verdict.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Wholes {
    /// The number of these wholes.
    pub cells: usize,
    /// The smallest and the largest change of the wholes in per cent of the base, positive if
    /// better. `None` if no change has a percentage.
    pub percent: Option<[f64; 2]>,
}

/// Returns the verdict on each of these variants.
pub(super) fn overall(others: &[String], rows: &[Row]) -> Vec<Overall> {
    let of = |(index, variant): (usize, &String)| {
        let judged = rows.iter().filter(|row| row.is_judged());
        Overall::of(variant, judged.map(|row| (row, row.others[index].as_ref())))
    };
    others.iter().enumerate().map(of).collect()
}

impl Overall {
    fn of<'a>(variant: &str, wholes: impl Iterator<Item = (&'a Row, Option<&'a Change>)>) -> Self {
        let [mut better, mut worse, mut no_difference, mut undecided] = [Wholes::default(); 4];
        for (row, change) in wholes {
            let change = change.filter(|_| row.base.is_some());
            let group = match change.map(|change| change.verdict) {
                Some(Verdict::Better) => &mut better,
                Some(Verdict::Worse) => &mut worse,
                Some(Verdict::NoDifference | Verdict::Differs) => &mut no_difference,
                Some(Verdict::TooFewRuns | Verdict::TooFewPairs | Verdict::NotJudged) | None => {
                    &mut undecided
                }
            };
            let told = change.filter(|change| !row.has_too_few(change));
            group.add(told.and_then(|change| change.percent));
        }
        let standing = match (better.cells, worse.cells, no_difference.cells) {
            (0, 0, 0) => Standing::Undecided,
            (0, 0, _) => Standing::NoDifference,
            (_, 0, _) => Standing::Better,
            (0, _, _) => Standing::Worse,
            (_, _, _) => Standing::Mixed,
        };
        Self { variant: variant.to_owned(), standing, better, worse, no_difference, undecided }
    }

    /// Returns the number of wholes.
    pub const fn cells(&self) -> usize {
        self.better.cells + self.worse.cells + self.no_difference.cells + self.undecided.cells
    }
}

impl Wholes {
    fn add(&mut self, percent: Option<f64>) {
        self.cells += 1;
        let Some(percent) = percent else { return };
        let [low, high] = self.percent.unwrap_or([percent; 2]);
        self.percent = Some([low.min(percent), high.max(percent)]);
    }
}
