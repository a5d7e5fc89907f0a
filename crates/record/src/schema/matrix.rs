//! Numbers over two axes.

use serde::{Deserialize, Serialize};

use super::checks::{as_many, ascending, finite, named, printable};
use super::problem::Problem;

/// A number for each cell of a grid: of pages by address and time, for example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// The columns.
    pub x: Edges,
    /// The rows.
    pub y: Edges,
    /// For each row a number for each column, in the metric's unit; `None` where there is nothing
    /// to show.
    pub rows: Vec<Vec<Option<f64>>>,
}

/// Neighbouring ranges of a quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edges {
    /// The quantity, such as `address`.
    pub name: String,
    /// The quantity's unit; empty for a pure number.
    pub unit: String,
    /// The starts of the ranges, in ascending order, and the end of the last one.
    pub edges: Vec<f64>,
}

impl Edges {
    /// Returns the number of ranges.
    pub fn ranges(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    fn check(&self, what: &'static str) -> Result<(), Problem> {
        named("axis", &self.name)?;
        printable("the axis's unit", &self.unit)?;
        if self.edges.len() < 2 {
            return Err(Problem::Short { what, found: self.edges.len(), least: 2 });
        }
        ascending(what, &self.edges)
    }
}

impl Matrix {
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.x.check("x.edges")?;
        self.y.check("y.edges")?;
        as_many("rows", self.y.ranges(), self.rows.len())?;
        for (index, row) in self.rows.iter().enumerate() {
            as_many("cells of a row", self.x.ranges(), row.len())?;
            row.iter()
                .flatten()
                .try_for_each(|value| finite(|| format!("a cell of rows[{index}]"), *value))?;
        }
        Ok(())
    }
}
