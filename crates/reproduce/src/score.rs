//! How good predictions are: how often a thread's figure lies outside, how wide they are, and how
//! often they go the way that the thread's difference goes.

use super::answer::RATIO;
use super::rows::Row;
use pageout_record::render::rounded;
use pageout_record::schema::{Claim, Ground};
use pageout_record::stats::median;
use std::fmt;

/// How good predictions are.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Score {
    figures: usize,
    answered: usize,
    times: Intervals,
    ratios: Intervals,
    sides: Vec<Sides>,
}

/// Intervals with a thread's figure to compare with.
#[derive(Clone, PartialEq, Debug, Default)]
struct Intervals {
    widths: Vec<f64>,
    misses: usize,
}

/// Differences that the threads give, on one ground.
#[derive(Clone, PartialEq, Debug)]
struct Sides {
    name: &'static str,
    said: &'static str,
    given: usize,
    compared: usize,
    agree: usize,
}

const GROUNDS: [(Ground, &str); 3] =
    [(Ground::Model, "predicted"), (Ground::Linux, "counted"), (Ground::Host, "measured here")];
const SAID: [&str; 2] = ["tested", "claimed"];

impl Score {
    pub(super) fn of(rows: &[Row<'_>]) -> Self {
        let mut times = Intervals::default();
        let mut ratios = Intervals::default();
        for row in rows {
            for line in &row.lines {
                let (Some(holds), Some(interval)) = (row.holds(line), line.interval) else {
                    continue;
                };
                let of = if line.quantity == RATIO { &mut ratios } else { &mut times };
                of.widths.push(interval.high / interval.low);
                of.misses += usize::from(!holds);
            }
        }
        let sides = SAID.into_iter().flat_map(|said| {
            GROUNDS.into_iter().map(move |(ground, name)| sides(rows, said, ground, name))
        });
        Self {
            figures: rows.len(),
            answered: rows.iter().filter(|row| !row.lines.is_empty()).count(),
            times,
            ratios,
            sides: sides.collect(),
        }
    }
}

fn sides(rows: &[Row<'_>], said: &'static str, ground: Ground, name: &'static str) -> Sides {
    let given = || rows.iter().filter(|row| row.said == said && row.side != Claim::NoDifference);
    let compared = given().filter_map(|row| {
        let lines = row.lines.iter().filter(|line| line.ground == ground);
        let side = lines.filter_map(|line| row.side_of(line)).next()?;
        Some(side == row.side)
    });
    let compared: Vec<_> = compared.collect();
    let agree = compared.iter().filter(|agrees| **agrees).count();
    Sides { name, said, given: given().count(), compared: compared.len(), agree }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "figures with a line of ours: {} of {}", self.answered, self.figures)?;
        for (what, of) in [("times and variations", &self.times), ("ratios", &self.ratios)] {
            let (n, misses) = (of.widths.len(), of.misses);
            let Some(width) = median(&of.widths) else {
                writeln!(f, "predicted {what}: none")?;
                continue;
            };
            let share = 100.0 * misses as f64 / n as f64;
            writeln!(
                f,
                "predicted {what}: {misses} of {n} missed ({share:.0} %), median width {} (high / \
                 low)",
                rounded(width)
            )?;
        }
        for Sides { name, said, given, compared, agree } in &self.sides {
            writeln!(
                f,
                "sign of differences {said}, {name}: {agree} of {compared} agree, of {given} given"
            )?;
        }
        Ok(())
    }
}
