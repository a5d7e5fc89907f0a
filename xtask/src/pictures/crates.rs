//! The map of the crates: an arrow from each to those that it imports.
//!
//! An import that follows from others is left out, so that what remains is the order in which the
//! crates stand.

use std::collections::{BTreeMap, BTreeSet};

use super::svg::{Svg, WIDTH, width};
use crate::tidy::Workspace;

/// The crates that a kernel links.
const LINKED: [&str; 3] = ["capi", "paging", "reclaim"];

const BOX: f64 = 28.0;
const ROW: f64 = 74.0;

type Imports = BTreeMap<String, BTreeSet<String>>;

/// Draws the map of the workspace's crates.
pub(crate) fn draw(workspace: &Workspace) -> String {
    drawing(&direct(&workspace.imports()))
}

fn drawing(imports: &Imports) -> String {
    let rows = rows(imports);
    let mut svg = Svg::new(
        "The engine imports none of the instrument",
        "Each crate imports those that its lines lead down to; a kernel links those in bold",
    );
    let top = svg.bottom;
    let mut places = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        let row = middles(row);
        places.extend(row.map(|(name, middle)| (name, (middle, top + ROW * at as f64))));
    }
    svg.bottom = top + ROW * (rows.len() as f64 - 1.0) + BOX;
    for (name, on) in imports {
        let (x, y) = places[name.as_str()];
        for on in on {
            let (to_x, to_y) = places[on.as_str()];
            svg.path("line", &[(x, y + BOX), (to_x, to_y)]);
        }
    }
    for (name, (x, y)) in places {
        let room = width("strong", name) + 8.0;
        svg.rect("box", [x - room / 2.0, y, room, BOX]);
        let class = if LINKED.contains(&name) { "strong middle" } else { "middle" };
        svg.text(class, (x, y + 19.0), name);
    }
    svg.done()
}

/// Leaves out the imports that follow from others.
fn direct(all: &Imports) -> Imports {
    let through = |name: &str, on: &str| -> bool {
        all[name].iter().any(|other| other != on && reaches(all, other, on))
    };
    let kept = |(name, on): (&String, &BTreeSet<String>)| {
        let on = on.iter().filter(|on| !through(name, on)).cloned().collect();
        (name.clone(), on)
    };
    all.iter().map(kept).collect()
}

fn reaches(all: &Imports, from: &str, to: &str) -> bool {
    all[from].iter().any(|on| on == to || reaches(all, on, to))
}

/// Returns the crates in rows from the top down, such that each stands right above the highest of
/// those that it imports. Within a row they stand in the order of the mean place of what they
/// import.
fn rows(imports: &Imports) -> Vec<Vec<&str>> {
    let heights: BTreeMap<&str, usize> =
        imports.keys().map(|name| (name.as_str(), height(imports, name))).collect();
    let highest = heights.values().copied().max().unwrap_or(0);
    let mut place: BTreeMap<&str, f64> = BTreeMap::new();
    let mut rows = Vec::new();
    for at in 0..=highest {
        let of_row = heights.iter().filter(|(_, height)| **height == at);
        let mut row: Vec<&str> = of_row.map(|(name, _)| *name).collect();
        let wanted = |name: &str| -> f64 {
            let below = &imports[name];
            let sum: f64 = below.iter().map(|on| place[on.as_str()]).sum();
            sum / below.len().max(1) as f64
        };
        row.sort_by(|a, b| wanted(a).total_cmp(&wanted(b)).then(a.cmp(b)));
        place.extend(middles(&row));
        rows.push(row);
    }
    rows.reverse();
    rows
}

/// Returns the crates of a row, each with its middle.
fn middles<'n>(row: &[&'n str]) -> impl Iterator<Item = (&'n str, f64)> {
    let step = WIDTH / row.len() as f64;
    row.iter().enumerate().map(move |(at, name)| (*name, step * (at as f64 + 0.5)))
}

/// Returns the longest way down from a crate.
fn height(imports: &Imports, name: &str) -> usize {
    imports[name].iter().map(|on| height(imports, on) + 1).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(of: &[(&str, &[&str])]) -> Imports {
        let set = |on: &[&str]| on.iter().map(|name| (*name).to_owned()).collect();
        of.iter().map(|(name, on)| ((*name).to_owned(), set(on))).collect()
    }

    #[test]
    fn imports_that_follow_from_others_are_left_out() {
        let all = imports(&[("a", &["b", "c", "d"]), ("b", &["c"]), ("c", &["d"]), ("d", &[])]);
        let direct = direct(&all);
        assert_eq!(direct, imports(&[("a", &["b"]), ("b", &["c"]), ("c", &["d"]), ("d", &[])]));
        assert_eq!(rows(&direct), [["a"], ["b"], ["c"], ["d"]]);
    }

    #[test]
    fn a_new_import_changes_the_map() {
        let before = imports(&[("a", &["c"]), ("b", &["c"]), ("c", &[])]);
        let after = imports(&[("a", &["c"]), ("b", &["a"]), ("c", &[])]);
        assert_ne!(drawing(&before), drawing(&direct(&after)));
    }
}
