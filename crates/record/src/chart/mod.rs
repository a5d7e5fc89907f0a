//! The pictures of a comparison and of its records, for any renderer.

mod naming;
mod quantity;
mod thin;

pub use naming::Naming;
pub use thin::{bands, largest, parts, thin, thin_with_ends};

use std::collections::HashMap;

use crate::compare::{Comparison, Role, Row};
use crate::render::{Label, Labelling, is_same};
use crate::schema::{Better, Ground, Labels};

/// The field that names a function of a profile.
pub const FUNCTION: &str = "function";
/// The minimum number of places that make a curve.
const PLACES: usize = 3;
/// The number of rows of bars in one picture.
const BARS: usize = 24;

/// Returns the rows worth a picture: one direction is better, and the figures differ. With no other
/// variant, the figure is not zero. Functions have separate pictures.
pub fn telling(of: &Comparison) -> impl Iterator<Item = &Row> {
    judged(of).filter(|row| tells(of, row))
}

/// Returns the rows of which one direction is better.
fn judged(of: &Comparison) -> impl Iterator<Item = &Row> {
    let is_judged = |row: &&Row| row.better != Better::Neither && row.role != Role::Diagnostic;
    of.rows.iter().filter(is_judged).filter(|row| !row.fields.contains_key(FUNCTION))
}

/// Returns true if the row's figures differ, or if its only figure is not zero.
fn tells(of: &Comparison, row: &Row) -> bool {
    let zero = |row: &Row| row.base.is_none_or(|base| base.is_constant() && base.median == 0.0);
    if of.others.is_empty() { !zero(row) } else { !is_same(row) }
}

/// Returns the rows of each picture of bars, which have the same group and unit.
pub fn medians(of: &Comparison) -> Vec<Vec<&Row>> {
    let same = |one: &Row, other: &Row| {
        (&one.scenario, one.ground, one.seed) == (&other.scenario, other.ground, other.seed)
            && (&one.fields, &one.unit) == (&other.fields, &other.unit)
    };
    let mut bars: Vec<Vec<&Row>> = Vec::new();
    // Rows of one group are consecutive.
    for row in telling(of) {
        let near = bars.iter_mut().rev().take(16);
        match near.into_iter().find(|bars| same(bars[0], row)) {
            Some(bars) if bars.len() < BARS => bars.push(row),
            _ => bars.push(vec![row]),
        }
    }
    // Pictures with the same unit become neighbours.
    let mut units: HashMap<&str, usize> = HashMap::new();
    for bars in &bars {
        let next = units.len();
        units.entry(&bars[0].unit).or_insert(next);
    }
    bars.sort_by_key(|bars| units[bars[0].unit.as_str()]);
    bars
}

/// Names and values of fields.
type Fields<'a> = Vec<(&'a String, &'a String)>;

/// The properties that rows of one curve share.
type Key<'a> = (&'a str, Ground, u64, Fields<'a>, &'a Labels, &'a str);

/// Rows along a field whose values are numbers.
#[derive(Debug, Clone)]
pub struct Curve<'a> {
    /// The field.
    pub field: &'a str,
    /// The rows by their places, in ascending order; three or more.
    pub rows: Vec<(f64, &'a Row)>,
    /// The other fields that vary.
    pub others: Vec<(&'a String, &'a String)>,
}

impl Curve<'_> {
    /// Returns the unit of the field's numbers: `MiB`, `%` or nothing.
    pub fn unit(&self) -> &'static str {
        quantity::unit(self.value(self.rows[0].1))
    }

    /// Returns the field's value of a row.
    pub fn value<'a>(&self, row: &'a Row) -> &'a str {
        row.fields.get(self.field).map_or("", String::as_str)
    }

    /// Returns true if the places lie so far apart that the axis is logarithmic.
    pub fn is_logarithmic(&self) -> bool {
        let (first, last) = (self.rows[0].0, self.rows[self.rows.len() - 1].0);
        first > 0.0 && last / first >= 64.0
    }
}

/// Returns the curve of each metric along each field that has three or more numbers as values, if
/// figures differ at any of them.
pub fn curves<'a>(of: &'a Comparison, labelling: &'a Labelling) -> Vec<Curve<'a>> {
    let mut curves = Vec::new();
    for label in &labelling.varying {
        if let Label::Field(field) = label {
            curves.extend(along(of, labelling, field));
        }
    }
    curves
}

fn along<'a>(of: &'a Comparison, labelling: &Labelling, field: &'a str) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    let mut curve_of: HashMap<Key<'a>, usize> = HashMap::new();
    let varying = &labelling.varying;
    let varies = |name: &str| varying.iter().any(|of| matches!(of, Label::Field(f) if f == name));
    for row in judged(of) {
        let Some(place) = row.fields.get(field).and_then(|value| quantity::of(value)) else {
            continue;
        };
        let rest: Fields<'a> = row.fields.iter().filter(|(name, _)| *name != field).collect();
        let others = rest.iter().copied().filter(|(name, _)| varies(name)).collect();
        let key = (&*row.scenario, row.ground, row.seed, rest, &row.axes, &*row.metric);
        let at = *curve_of.entry(key).or_insert(curves.len());
        if at == curves.len() {
            curves.push(Curve { field, rows: Vec::new(), others });
        }
        curves[at].rows.push((place, row));
    }
    for curve in &mut curves {
        curve.rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    let says = |curve: &Curve<'_>| curve.rows.iter().any(|(_, row)| tells(of, row));
    curves.retain(|curve| curve.rows.len() >= PLACES && says(curve));
    curves
}
