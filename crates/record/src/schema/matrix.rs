//! Numbers over two axes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{as_many, ascending, finite, named, printable};
use super::kinds::{Cells, Name, Text};
use super::problem::Problem;

/// A number for each cell of a grid: of pages by address and time, for example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// The columns.
    pub x: Edges,
    /// The rows.
    pub y: Edges,
    /// For each row a number for each column, in the metric's unit; `None` where there is nothing
    /// to show.
    #[schemars(with = "Vec<Cells>")]
    pub rows: Vec<Vec<Option<f64>>>,
}

/// Neighbouring ranges of a quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edges {
    /// The quantity, such as `address`.
    #[schemars(with = "Name")]
    pub name: String,
    /// The quantity's unit; empty for a pure number.
    #[schemars(with = "Text")]
    pub unit: String,
    /// The starts of the ranges, in ascending order, and the end of the last one.
    #[schemars(length(min = 2))]
    pub edges: Vec<f64>,
    /// Named parts of the quantity, in ascending order; each ends where the next one begins. A
    /// program's files, its heap and its stack, for example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A named part of an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The part's name, such as `heap`.
    #[schemars(with = "Name")]
    pub name: String,
    /// The part's start, in the axis's unit.
    pub start: f64,
}

impl Edges {
    /// Returns the number of ranges.
    pub fn ranges(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    /// Returns the name of the part that holds a place on the axis; `None` below the first part.
    pub fn part_at(&self, place: f64) -> Option<&str> {
        self.parts.iter().rev().find(|part| part.start <= place).map(|part| part.name.as_str())
    }

    fn check(&self, what: &'static str) -> Result<(), Problem> {
        named("axis", &self.name)?;
        printable("the axis's unit", &self.unit)?;
        if self.edges.len() < 2 {
            return Err(Problem::Short { what, found: self.edges.len(), least: 2 });
        }
        self.parts.iter().try_for_each(|part| named("part", &part.name))?;
        ascending("parts", &self.parts.iter().map(|part| part.start).collect::<Vec<f64>>())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_where_the_next_begins() {
        let part = |(name, start): (&str, f64)| Part { name: name.to_owned(), start };
        let parts = [("heap", 4.0), ("stack", 9.0)].map(part).into();
        let edges = Edges { name: String::new(), unit: String::new(), edges: Vec::new(), parts };
        let found = [0.0, 4.0, 8.9, 9.0, 1e9].map(|place| edges.part_at(place));
        assert_eq!(found, [None, Some("heap"), Some("heap"), Some("stack"), Some("stack")]);
    }
}
