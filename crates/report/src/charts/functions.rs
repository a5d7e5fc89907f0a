//! Functions of kernels whose own cost is higher or lower than under the base.

use super::{Drawn, Key, Panel, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, tooltip};
use crate::text::first;
use pageout_record::chart::FUNCTION;
use pageout_record::compare::Row;
use pageout_record::render::figure;
use pageout_record::schema::{Basis, Ground, Labels, Record};
use pageout_record::stats::median;
use serde_json::json;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A function's cost without its callees. Such costs add up, and those with callees do not.
const OWN: &str = "exclusive";
/// The two directions of a change.
const WAYS: [&str; 2] = ["shrank", "grew"];
/// The number of functions shown in each direction.
const EACH_WAY: usize = 15;

/// A function before and after the change.
struct Changed<'a> {
    name: &'a str,
    before: f64,
    after: f64,
}

impl Changed<'_> {
    fn difference(&self) -> f64 {
        self.after - self.before
    }
}

/// The labels that the functions of one profile share: all but the function's name.
type Profile<'a> = (&'a str, Ground, u64, Vec<(&'a String, &'a String)>);

/// Returns the profile that a function is of; `None` if the record is no function.
fn profile<'a>(
    scenario: &'a str,
    ground: Ground,
    seed: u64,
    fields: &'a Labels,
) -> Option<Profile<'a>> {
    let rest = fields.iter().filter(|(field, _)| *field != FUNCTION).collect();
    fields.contains_key(FUNCTION).then_some((scenario, ground, seed, rest))
}

impl<'a> Drawn<'a> {
    /// Returns a chart for each other variant and profile.
    pub(super) fn functions(&self, budget: &mut Budget) -> Panel {
        let profiles = self.profiles();
        let mut seen = HashSet::new();
        let own = self.of.rows.iter().filter(|row| row.metric == OWN);
        let keyed = own.filter_map(|row| {
            Some((row, profile(&row.scenario, row.ground, row.seed, &row.fields)?))
        });
        let firsts = keyed.filter(|(_, profile)| seen.insert(profile.clone()));
        let columns = 1..self.columns.len();
        let pairs = firsts.flat_map(|(row, profile)| {
            let records = profiles.get(&profile);
            columns.clone().filter_map(move |column| Some((row, records?, column)))
        });
        let charts = pairs.filter_map(|(row, records, column)| {
            let changed = self.changed(records, column);
            (!changed.is_empty()).then_some((row, column, changed))
        });
        let charts: Vec<_> = charts.collect();
        let charts = some(charts, (16, "functions"), budget, |(row, column, changed), budget| {
            self.growth(row, column, changed, budget)
        });
        let reading = format!(
            "A bar is a function's cost without its callees, minus that under {}: to the right it \
             grew, to the left it shrank.",
            self.columns[0]
        );
        Panel { title: "Functions that grew and shrank", reading, key: Key::Labels, charts }
    }

    /// Returns the records of functions, by profile.
    fn profiles(&self) -> HashMap<Profile<'a>, Vec<&'a Record>> {
        let mut profiles: HashMap<Profile<'a>, Vec<&'a Record>> = HashMap::new();
        for record in self.lookup.records() {
            let of = profile(&record.scenario, record.ground, record.seed, &record.fields);
            if let Some(of) = of {
                profiles.entry(of).or_default().push(record);
            }
        }
        profiles
    }

    /// Returns the functions of one profile that differ under a column, by name. A function that
    /// one side lacks costs nothing there. Rows need the base, so the search uses the records.
    fn changed(&self, records: &[&'a Record], column: usize) -> Vec<Changed<'a>> {
        let mut functions: BTreeMap<&'a str, [f64; 2]> = BTreeMap::new();
        for record in records {
            let title = self.of.title(&record.variant);
            let side = [0, column].iter().position(|column| self.columns[*column] == title);
            let own = record.metric(OWN);
            if let (Some(side), Some(own)) = (side, own.and_then(|own| median(&own.values))) {
                functions.entry(&record.fields[FUNCTION]).or_default()[side] = own;
            }
        }
        let all = functions.into_iter();
        let all = all.map(|(name, [before, after])| Changed { name, before, after });
        all.filter(|one| one.difference() != 0.0).collect()
    }

    fn growth(
        &self,
        row: &Row,
        column: usize,
        mut changed: Vec<Changed<'_>>,
        budget: &mut Budget,
    ) -> Chart {
        changed.sort_by(|one, other| other.difference().total_cmp(&one.difference()));
        let all = changed.len();
        let sum: f64 = changed.iter().map(Changed::difference).sum();
        let grew = changed.iter().take_while(|one| one.difference() > 0.0).count();
        let shrank = all - grew;
        let tail = changed.split_off(all - shrank.min(EACH_WAY));
        changed.truncate(grew.min(EACH_WAY));
        changed.extend(tail);
        let said = |one: &Changed<'_>| {
            let number = |value| figure(Basis::Counted, value);
            format!("{} {} to {}", one.name, number(one.before), number(one.after))
        };
        let most: Vec<String> = changed.iter().take(grew).take(3).map(said).collect();
        let least: Vec<String> = changed.iter().rev().take(shrank).take(3).map(said).collect();
        let of = |said: &[String]| {
            if said.is_empty() { "none".to_owned() } else { first(said, 3, ", ") }
        };
        let sentence = format!(
            "{grew} grew, most of all {}; {shrank} shrank, most of all {}. All together {:+.4}.",
            of(&most),
            of(&least),
            sum
        );
        let note = (changed.len() < all)
            .then(|| format!("{} of {all} functions that differ are drawn.", changed.len()));
        let title = format!("{}: {} against {}", row.unit, self.columns[column], self.columns[0]);
        budget.took_points(changed.len());
        let rows = changed.iter().enumerate().map(|(index, one)| {
            let numbers = [one.difference(), one.before, one.after].map(Cell::Number);
            let way = Cell::Word(usize::from(one.difference() > 0.0));
            [&[Cell::Word(index)], &numbers[..], &[way]].concat()
        });
        Chart {
            title,
            sentence,
            note,
            columns: vec![
                Column::words(
                    "function",
                    "function",
                    changed.iter().map(|one| one.name.to_owned()).collect(),
                ),
                Column::numbers("difference", format!("difference, {}", row.unit)),
                Column::numbers("before", self.columns[0].clone()),
                Column::numbers("after", self.columns[column].clone()),
                Column::words("way", "it", WAYS.map(str::to_owned).to_vec()),
            ],
            rows: rows.collect(),
            spec: json!({
                "height": changed.len() * 16,
                "mark": { "type": "bar", "tooltip": tooltip() },
                "encoding": {
                    "y": { "field": "function", "type": "nominal", "sort": null, "title": null },
                    "x": { "field": "difference", "type": "quantitative",
                           "title": format!("difference, {}", row.unit) },
                    "color": { "field": "way", "type": "nominal", "title": null,
                               "scale": { "domain": WAYS }, "legend": { "orient": "bottom" } },
                },
            }),
        }
    }
}
