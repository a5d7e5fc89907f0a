//! The file that defines the cells: the parameters that all of them share, and a grid, a list or
//! draws of the others.

use crate::cell::{Cell, ParameterError};
use pageout_experiment::scenarios::Scenario;
use pageout_experiment::variant::{Variant, VariantError};
use pageout_record::schema::Ground;
use pageout_refusal::UnknownName;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// The maximum number of cells of a sweep: a mistake in the file makes more.
const MOST_CELLS: u64 = 100_000;
/// The bounds of numbers, as on the command line.
const RUNS: (u32, u32) = (1, 1000);
const DRAWS: (u32, u32) = (1, 10_000);

/// The content of a sweep's file.
#[derive(Debug)]
pub struct Spec {
    all: Cell,
    scenario: Scenario,
    cells: Cells,
}

/// The parameters in which cells differ, with their values.
#[derive(Debug)]
enum Cells {
    /// Every combination of values.
    Grid(Values),
    /// The listed cells.
    List(Vec<BTreeMap<String, String>>),
    /// Different combinations, drawn at random.
    Random { cells: u64, seed: u64, from: Values },
}

/// Values by parameter, the last parameter's changing fastest.
type Values = BTreeMap<String, Vec<String>>;

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    scenario: String,
    #[serde(default = "host")]
    ground: String,
    #[serde(default)]
    variants: Vec<String>,
    #[serde(default = "yes")]
    times: bool,
    runs: Option<u32>,
    draws: Option<u32>,
    #[serde(default = "one")]
    seed: u64,
    cores: Option<u16>,
    platform: Option<String>,
    trace: Option<String>,
    #[serde(default)]
    fields: Table,
    grid: Option<Table>,
    list: Option<Vec<Table>>,
    random: Option<Random>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Random {
    cells: u64,
    #[serde(default = "one")]
    seed: u64,
    from: Table,
}

/// Returns a message of the reader in the words of the file.
fn in_words(message: &str) -> String {
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("no {key}: expected {} = VALUE", key.trim_matches('`'));
    }
    let Some((found, expected)) =
        message.strip_prefix("invalid type: ").and_then(|types| types.split_once(", expected "))
    else {
        return message.to_owned();
    };
    let found = match found.split(' ').next() {
        Some("string") => "a text",
        Some("integer") => "a whole number",
        Some("floating") => "a number with a fraction",
        Some("boolean") => "true or false",
        Some("sequence") => "a list",
        Some("map") => "a table",
        _ => found,
    };
    let expected = match expected {
        "a string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        number if number.starts_with(['u', 'i']) => "a whole number",
        other => other,
    };
    format!("found {found}, expected {expected}")
}

/// The reason why a file was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SpecError {
    /// The file is not TOML, or has an unknown key, or lacks one.
    #[error("line {line}: {message}")]
    Toml {
        /// The line, from 1.
        line: usize,
        /// The error.
        message: String,
    },
    /// The value of a key is invalid.
    #[error("`{key}`: {problem}")]
    Key {
        /// The key, with the table it is in.
        key: String,
        /// The error.
        problem: Problem,
    },
    /// The file has no cells, or several kinds of them.
    #[error("expected one of [grid], [[list]] and [random], found {0}")]
    Kinds(&'static str),
}

/// An error in a key's value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// An unknown scenario, or a ground where it does not run.
    #[error(transparent)]
    Name(#[from] UnknownName),
    /// A variant.
    #[error(transparent)]
    Variant(#[from] VariantError),
    /// A parameter or its value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A value of a kind that no parameter has.
    #[error(
        "found {0}, expected a text, a whole number, true or false, or in [grid] and \
         [random.from] a list of these"
    )]
    Kind(&'static str),
    /// A number out of its bounds.
    #[error("found {found}, expected {least} to {most}")]
    Bounds {
        /// The given number.
        found: u64,
        /// The lower bound.
        least: u64,
        /// The upper bound.
        most: u64,
    },
    /// A grid or list without entries, or a parameter without values.
    #[error("it is empty, and no cell follows: expected one {0} or more")]
    Empty(&'static str),
    /// More cells than a sweep may have.
    #[error("it comes to more than {MOST_CELLS} cells, the maximum of a sweep")]
    TooMany,
    /// More draws than combinations.
    #[error("found {cells}, and there are {there} different cells to draw")]
    Draws {
        /// The requested number.
        cells: u64,
        /// The number of combinations.
        there: u64,
    },
    /// A parameter that all cells share, and in which some differ.
    #[error("it is in [fields] too: expected once")]
    Twice,
}

impl Spec {
    /// Reads a file.
    ///
    /// # Errors
    /// [`SpecError`] names the place, the value found and the accepted values.
    pub fn read(text: &str) -> Result<Self, SpecError> {
        let written: Written = toml::from_str(text).map_err(|error| {
            let before = error.span().map_or("", |span| &text[..span.start.min(text.len())]);
            let line = before.matches('\n').count() + 1;
            let unknown = UnknownName::of_serde("key", error.message())
                .map(|unknown| unknown.listed_by("pageout sweep plan --help").to_string());
            let message = unknown.unwrap_or_else(|| in_words(error.message()));
            SpecError::Toml { line, message }
        })?;
        let (scenario, ground) = written.scenario()?;
        let of = Target { scenario, ground };
        let cells = match (written.grid, written.list, written.random) {
            (Some(grid), None, None) => Cells::Grid(of.values("grid", &grid)?),
            (None, Some(list), None) => Cells::List(of.list(&list)?),
            (None, None, Some(random)) => {
                let Random { cells, seed, from } = random;
                Cells::Random { cells, seed, from: of.values("random.from", &from)? }
            }
            (None, None, None) => return Err(SpecError::Kinds("none")),
            _ => return Err(SpecError::Kinds("several")),
        };
        let mut fields = BTreeMap::new();
        for (field, value) in &written.fields {
            let key = format!("fields.{field}");
            let text = text_of(value).map_err(|problem| at(&key, problem))?;
            let values = scenario.values(ground, field, &text);
            let values = values.map_err(|error| at(&key, ParameterError::from(error)))?;
            fields.insert(field.clone(), values.join(","));
        }
        for variant in &written.variants {
            Variant::parse_on(None, variant).map_err(|error| at("variants", error))?;
        }
        let bounds = |key, given: Option<u32>, (least, most): (u32, u32)| match given {
            Some(found) if !(least..=most).contains(&found) => {
                let (found, least, most) = (found.into(), least.into(), most.into());
                Err(at(key, Problem::Bounds { found, least, most }))
            }
            given => Ok(given),
        };
        let all = Cell {
            scenario: scenario.name().to_owned(),
            ground,
            fields,
            variants: written.variants,
            seed: written.seed,
            times: written.times,
            runs: bounds("runs", written.runs, RUNS)?.map(|runs| runs as u16),
            draws: bounds("draws", written.draws, DRAWS)?,
            cores: bounds("cores", written.cores.map(u32::from), (1, 256))?.map(|n| n as u16),
            platform: written.platform,
            trace: written.trace,
        };
        Ok(Self { all, scenario, cells })
    }

    /// Returns the scenario of all cells.
    pub const fn scenario(&self) -> Scenario {
        self.scenario
    }

    /// Returns the cells, in the order of the file, or of the values with the last parameter's
    /// changing fastest.
    ///
    /// # Errors
    /// [`SpecError`] for none, too many, or a parameter given twice.
    pub fn cells(&self) -> Result<Vec<Cell>, SpecError> {
        match &self.cells {
            Cells::Grid(grid) => {
                let there = combinations("grid", grid)?;
                if there > MOST_CELLS {
                    return Err(at("grid", Problem::TooMany));
                }
                (0..there).map(|nr| self.cell("grid", nth(grid, nr))).collect()
            }
            Cells::List(list) => {
                if list.is_empty() {
                    return Err(at("list", Problem::Empty("cell")));
                }
                let all =
                    list.iter().map(|own| own.iter().map(|(name, value)| (&**name, &**value)));
                all.map(|own| self.cell("list", own)).collect()
            }
            Cells::Random { cells, seed, from } => {
                let there = combinations("random.from", from)?;
                let cells = *cells;
                if cells == 0 || cells > MOST_CELLS {
                    let bounds = Problem::Bounds { found: cells, least: 1, most: MOST_CELLS };
                    return Err(at("random.cells", bounds));
                }
                if cells > there {
                    return Err(at("random.cells", Problem::Draws { cells, there }));
                }
                let drawn = draw(cells, there, *seed);
                drawn.into_iter().map(|nr| self.cell("random.from", nth(from, nr))).collect()
            }
        }
    }

    fn cell<'v>(
        &self,
        table: &str,
        own: impl Iterator<Item = (&'v str, &'v str)>,
    ) -> Result<Cell, SpecError> {
        let mut cell = self.all.clone();
        for (parameter, value) in own {
            let key = format!("{table}.{parameter}");
            if cell.fields.contains_key(parameter) {
                return Err(at(&key, Problem::Twice));
            }
            cell.set(parameter, value).map_err(|problem| at(&key, problem))?;
        }
        Ok(cell)
    }
}

impl Written {
    fn scenario(&self) -> Result<(Scenario, Ground), SpecError> {
        let scenario = Scenario::find(&self.scenario).map_err(|error| at("scenario", error))?;
        let grounds = [Ground::Host, Ground::Model];
        let there: Vec<_> = grounds.into_iter().filter(|one| scenario.runs_on(*one)).collect();
        let ground = there.iter().find(|ground| ground.name() == self.ground).ok_or_else(|| {
            let names: Vec<_> = there.iter().map(|ground| ground.name()).collect();
            at("ground", UnknownName::new("ground", &self.ground, names).of(scenario.name()))
        })?;
        Ok((scenario, *ground))
    }
}

/// The scenario and the ground whose parameters are read.
#[derive(Clone, Copy)]
struct Target {
    scenario: Scenario,
    ground: Ground,
}

impl Target {
    /// Reads the values of each parameter: a text, or a list of them. Lists and ranges in a text
    /// are split into single values.
    fn values(self, table: &str, given: &Table) -> Result<Values, SpecError> {
        let mut all = Values::new();
        for (parameter, value) in given {
            let key = format!("{table}.{parameter}");
            let texts = match value {
                Value::Array(list) => list.iter().map(text_of).collect(),
                one => text_of(one).map(|one| vec![one]),
            };
            let mut values = Vec::new();
            for text in texts.map_err(|problem| at(&key, problem))? {
                let read = Cell::values(self.scenario, self.ground, parameter, &text);
                values.extend(read.map_err(|problem| at(&key, problem))?);
            }
            all.insert(parameter.clone(), values);
        }
        Ok(all)
    }

    /// Reads a table for each cell. Each parameter has one value, or several that its cell runs
    /// together.
    fn list(self, given: &[Table]) -> Result<Vec<BTreeMap<String, String>>, SpecError> {
        let one = |table: &Table| {
            let mut own = BTreeMap::new();
            for (parameter, value) in table {
                let key = format!("list.{parameter}");
                let text = text_of(value).map_err(|problem| at(&key, problem))?;
                let values = Cell::values(self.scenario, self.ground, parameter, &text);
                let values = values.map_err(|problem| at(&key, problem))?;
                own.insert(parameter.clone(), values.join(","));
            }
            Ok(own)
        };
        given.iter().map(one).collect()
    }
}

fn at(key: &str, problem: impl Into<Problem>) -> SpecError {
    SpecError::Key { key: key.to_owned(), problem: problem.into() }
}

/// Returns a value as the command line takes it.
fn text_of(value: &Value) -> Result<String, Problem> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(yes) => Ok(if *yes { "yes" } else { "no" }.to_owned()),
        Value::Float(_) => Err(Problem::Kind("a number with a point")),
        Value::Datetime(_) => Err(Problem::Kind("a date")),
        Value::Array(_) => Err(Problem::Kind("a list")),
        Value::Table(_) => Err(Problem::Kind("a table")),
    }
}

/// Returns the number of combinations, or the greatest number if there are more.
fn combinations(table: &str, values: &Values) -> Result<u64, SpecError> {
    if values.is_empty() {
        return Err(at(table, Problem::Empty("parameter")));
    }
    if let Some((parameter, _)) = values.iter().find(|(_, values)| values.is_empty()) {
        return Err(at(&format!("{table}.{parameter}"), Problem::Empty("value")));
    }
    Ok(values.values().map(|values| values.len() as u64).fold(1, u64::saturating_mul))
}

/// Returns the combination of this number.
fn nth(values: &Values, mut nr: u64) -> impl Iterator<Item = (&str, &str)> {
    let chosen = values.iter().rev().map(|(parameter, values)| {
        let of = values.len() as u64;
        let value = &values[(nr % of) as usize];
        nr /= of;
        (&**parameter, &**value)
    });
    let mut chosen: Vec<_> = chosen.collect();
    chosen.reverse();
    chosen.into_iter()
}

/// Draws `cells` different numbers below `there` by Floyd's algorithm; returns them in ascending
/// order.
fn draw(cells: u64, there: u64, seed: u64) -> BTreeSet<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut drawn = BTreeSet::new();
    for last in there - cells..there {
        if !drawn.insert(random.u64(..=last)) {
            drawn.insert(last);
        }
    }
    drawn
}

fn host() -> String {
    Ground::Host.name().to_owned()
}

const fn yes() -> bool {
    true
}

const fn one() -> u64 {
    1
}
