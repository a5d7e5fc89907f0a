//! The costs of a run, function by function: the plugin's counts by call path, summed, as records,
//! as a table and as folded stacks.

mod samples;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pageout_record::render::{Align, Grid};
use pageout_record::schema::{Better, Metric, Record};

use pageout_experiment::metrics::counted;
use samples::Sample;
pub(super) use samples::{RECLAIM, WHOLE, costs};

/// The form of the plugin's line of a call path.
const PATH_LINE: &str = "root;callee;... INSTRUCTIONS CALLS CAS ATOMICS TLBI DSB DSBST LINES";
/// The beginning of the profile's last line.
const LAST_LINE: &str = "# lost-returns ";

/// The unit of instructions. The benchmark has the same for times that the emulator's clock counts.
const INSTRUCTIONS: &str = "instructions/4K page";
const PER_PAGE: &str = "per 4K page";

/// The reason why a profile cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProfileError {
    /// A line that the plugin does not write.
    #[error(
        "line {line} of the profile, `{text}`, is neither `{PATH_LINE}`, `{}` nor \
         `{LAST_LINE}NUMBER`",
        samples::LINE
    )]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The line's text.
        text: String,
    },
    /// A path that begins with another function than the first path does.
    #[error("line {line} of the profile begins with `{found}`; every path begins with `{root}`")]
    Root {
        /// The line's number, from 1.
        line: usize,
        /// The function that the path begins with.
        found: String,
        /// The function that the first path begins with.
        root: String,
    },
    /// The emulator was ended before it wrote everything.
    #[error("the profile ends without `{LAST_LINE}NUMBER`: the emulator was stopped too early")]
    Truncated,
    /// The plugin and the benchmark counted different numbers of samples.
    #[error("the profile has {found} samples, the benchmark's record {expected}")]
    Samples {
        /// The number of the profile's samples.
        found: usize,
        /// The number of the record's samples.
        expected: usize,
    },
    /// The profile has no call path.
    #[error("the profile is empty: its root function never ran; --root SYMBOL names another one")]
    Empty,
}

/// Counts of instructions and of the lines that they touch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Costs {
    /// All instructions.
    pub instructions: u64,
    /// CAS and CASP on arm64, locked `CMPXCHG` on x86-64, AMOCAS on riscv64.
    pub compare_and_swaps: u64,
    /// Other atomic instructions: those of LSE, and each store-exclusive that a loop tries; what
    /// x86-64 locks, and `XCHG` with memory; AMO and SC.
    pub atomics: u64,
    /// Invalidations of TLB entries: TLBI; `INVLPG`, `INVPCID` and loads of CR3; `SFENCE.VMA` and
    /// `SINVAL.VMA`.
    pub invalidations: u64,
    /// DSB on arm64, which waits for invalidations and all accesses; none on x86-64; FENCE on
    /// riscv64, also where arm64 has a DMB.
    pub barriers: u64,
    /// Barriers that wait only for stores: DSB ISHST and its kind, FENCE after stores alone.
    pub store_barriers: u64,
    /// Lines of 64 bytes, by virtual address, that a CPU loads from or stores to for the first time
    /// in a sample.
    pub lines: u64,
}

/// A metric of costs: its name, and the count.
pub(super) type Count = (&'static str, fn(&Costs) -> u64);

/// The metrics of costs besides instructions.
pub(super) const COUNTS: [Count; 6] = [
    ("compare-and-swaps", |costs| costs.compare_and_swaps),
    ("other atomics", |costs| costs.atomics),
    ("invalidations", |costs| costs.invalidations),
    ("barriers", Costs::all_barriers),
    ("barriers for stores", |costs| costs.store_barriers),
    ("lines first touched", |costs| costs.lines),
];

impl Costs {
    /// Makes costs of the plugin's columns, without that of calls.
    pub(super) const fn of(columns: [u64; 7]) -> Self {
        let [
            instructions,
            compare_and_swaps,
            atomics,
            invalidations,
            barriers,
            store_barriers,
            lines,
        ] = columns;
        Self {
            instructions,
            compare_and_swaps,
            atomics,
            invalidations,
            barriers,
            store_barriers,
            lines,
        }
    }

    const fn all_barriers(&self) -> u64 {
        self.barriers.saturating_add(self.store_barriers)
    }

    pub(super) fn add(&mut self, more: &Self) {
        let sum = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        sum(&mut self.instructions, more.instructions);
        sum(&mut self.compare_and_swaps, more.compare_and_swaps);
        sum(&mut self.atomics, more.atomics);
        sum(&mut self.invalidations, more.invalidations);
        sum(&mut self.barriers, more.barriers);
        sum(&mut self.store_barriers, more.store_barriers);
        sum(&mut self.lines, more.lines);
    }
}

/// A call path, from the root, and the costs of its last function itself when called by this path.
#[derive(Clone, PartialEq, Eq, Debug)]
struct CallPath {
    functions: Vec<String>,
    calls: u64,
    own: Costs,
}

/// A function's part in a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// The function's symbol. Functions of one name are counted as one.
    pub name: String,
    /// The number of calls of the function.
    pub calls: u64,
    /// Instructions of the function itself, without those that it calls.
    pub exclusive: u64,
    /// Costs of the function and of all that it called. In recursion they count once.
    pub inclusive: Costs,
}

/// The profile of all that ran under one function of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    paths: Vec<CallPath>,
    /// The costs of each of the benchmark's samples, if it marked their ends.
    samples: Vec<Sample>,
    lost_returns: u64,
}

impl FromStr for Profile {
    type Err = ProfileError;

    /// Parses the text that the plugin wrote.
    fn from_str(text: &str) -> Result<Self, ProfileError> {
        let mut paths: Vec<CallPath> = Vec::new();
        let (mut samples, mut lost_returns) = (Vec::new(), None);
        for (line, text) in (1..).zip(text.lines()) {
            let unknown = || ProfileError::Line { line, text: text.to_owned() };
            if lost_returns.is_some() {
                return Err(unknown());
            } else if let Some(number) = text.strip_prefix(LAST_LINE) {
                lost_returns = Some(number.parse().map_err(|_| unknown())?);
                continue;
            } else if let Some(numbers) = text.strip_prefix(samples::START) {
                samples.push(Sample::parse(numbers).ok_or_else(unknown)?);
                continue;
            }
            let path = path(text).ok_or_else(unknown)?;
            let root = &paths.first().unwrap_or(&path).functions[0];
            if path.functions[0] != *root {
                let (found, root) = (path.functions[0].clone(), root.clone());
                return Err(ProfileError::Root { line, found, root });
            }
            paths.push(path);
        }
        let lost_returns = lost_returns.ok_or(ProfileError::Truncated)?;
        if paths.is_empty() {
            return Err(ProfileError::Empty);
        }
        Ok(Self { paths, samples, lost_returns })
    }
}

/// Parses the line of a path.
fn path(line: &str) -> Option<CallPath> {
    let (functions, numbers) = line.split_once(' ')?;
    let functions: Vec<String> = functions.split(';').map(str::to_owned).collect();
    if functions.iter().any(String::is_empty) {
        return None;
    }
    let numbers: Result<Vec<u64>, _> = numbers.split(' ').map(str::parse).collect();
    let mut numbers = numbers.ok()?;
    let calls = (numbers.len() > 1).then(|| numbers.remove(1))?;
    Some(CallPath { functions, calls, own: Costs::of(numbers.try_into().ok()?) })
}

impl Profile {
    /// Returns the function under which everything ran.
    pub fn root(&self) -> &str {
        &self.paths[0].functions[0]
    }

    /// Returns the costs of everything that ran.
    pub fn total(&self) -> Costs {
        let mut total = Costs::default();
        self.paths.iter().for_each(|path| total.add(&path.own));
        total
    }

    /// Returns the number of function returns whose call was not seen. If there are any, paths are
    /// not reliable; instructions are counted all the same.
    pub fn lost_returns(&self) -> u64 {
        self.lost_returns
    }

    /// Returns all functions, those with the most instructions of their own first.
    pub fn functions(&self) -> Vec<Function> {
        let mut functions: BTreeMap<&str, Function> = BTreeMap::new();
        for path in &self.paths {
            let names: BTreeSet<&str> = path.functions.iter().map(String::as_str).collect();
            let last = path.functions.last().map_or("", String::as_str);
            for name in names {
                let function = functions.entry(name).or_insert_with(|| Function {
                    name: name.to_owned(),
                    calls: 0,
                    exclusive: 0,
                    inclusive: Costs::default(),
                });
                function.inclusive.add(&path.own);
                if name == last {
                    function.calls = function.calls.saturating_add(path.calls);
                    let exclusive = function.exclusive.saturating_add(path.own.instructions);
                    function.exclusive = exclusive;
                }
            }
        }
        let mut functions: Vec<Function> = functions.into_values().collect();
        functions.sort_by_key(|function| std::cmp::Reverse(function.exclusive));
        functions
    }

    /// Returns a record for each function: a copy of `run` with the field `function`, and with the
    /// function's metrics in place of the run's. Counts are divided by `pages`.
    pub fn records(&self, run: &Record, pages: u64) -> Vec<Record> {
        let record = |function: Function| {
            let mut record = run.clone();
            record.metrics = function.metrics(pages as f64);
            record.fields.insert("function".to_owned(), function.name);
            record
        };
        self.functions().into_iter().map(record).collect()
    }

    /// Returns a table in lines of at most `columns`: the `top` functions with the most
    /// instructions of their own, then a line for the others and one for everything. Counts are
    /// divided by `pages`.
    pub fn table(&self, top: usize, pages: u64, columns: usize) -> String {
        let total = self.total();
        let per_page =
            |count: u64, decimals: usize| format!("{:.decimals$}", count as f64 / pages as f64);
        let share = |instructions: u64| {
            format!("{:.1}%", 100.0 * instructions as f64 / total.instructions as f64)
        };
        let row = |name: &str, calls: u64, exclusive: u64, inclusive: &Costs| {
            [
                name.to_owned(),
                per_page(exclusive, 1),
                share(exclusive),
                per_page(inclusive.instructions, 1),
                share(inclusive.instructions),
                per_page(calls, 3),
                per_page(inclusive.compare_and_swaps, 2),
                per_page(inclusive.atomics, 2),
                per_page(inclusive.invalidations, 2),
                per_page(inclusive.all_barriers(), 2),
                per_page(inclusive.lines, 2),
            ]
        };
        let headers =
            ["own", "", "with callees", "", "calls", "CAS", "atomics", "TLBI", "DSB", "lines"];
        let heads = headers.map(|header| (header, Align::Right));
        let mut grid = Grid::new([("function", Align::Left)].into_iter().chain(heads));
        let functions = self.functions();
        let shown = &functions[..top.min(functions.len())];
        for Function { name, calls, exclusive, inclusive } in shown {
            grid.row(row(name, *calls, *exclusive, inclusive));
        }
        grid.rule();
        let rest: u64 = functions[shown.len()..].iter().map(|function| function.exclusive).sum();
        if shown.len() < functions.len() {
            let name = format!("{} more functions", functions.len() - shown.len());
            let cells = [name, per_page(rest, 1), share(rest)];
            grid.row(cells.into_iter().chain(std::iter::repeat_n(String::new(), 8)));
        }
        let calls = self.paths[0].calls;
        let root = self.root();
        grid.row(row(&format!("all of {root}"), calls, total.instructions, &total));
        let mut text = grid.text(columns);
        text += &format!(
            "\nper 4K page of {pages}: instructions with their share of {root}, calls; \
             with callees: CAS, other atomics, TLBI, DSB, and \
             lines first touched\n"
        );
        if self.lost_returns > 0 {
            let lost = self.lost_returns;
            text += &format!("{lost} returns went astray: columns with callees are not exact\n");
        }
        text
    }

    /// Returns lines of a path and its instructions, as flame graph programs read them.
    pub fn folded(&self) -> String {
        let line =
            |path: &CallPath| format!("{} {}\n", path.functions.join(";"), path.own.instructions);
        self.paths.iter().filter(|path| path.own.instructions > 0).map(line).collect()
    }
}

impl Function {
    fn metrics(&self, pages: f64) -> Vec<Metric> {
        let Self { inclusive, .. } = self;
        let metric = |name: &str, unit: &str, count: u64| {
            counted(name, unit, count as f64 / pages, Better::Lower)
        };
        let instructions = [
            metric("exclusive", INSTRUCTIONS, self.exclusive),
            metric("inclusive", INSTRUCTIONS, inclusive.instructions),
            metric("calls", PER_PAGE, self.calls),
        ];
        let others = COUNTS.map(|(name, count)| metric(name, PER_PAGE, count(inclusive)));
        instructions.into_iter().chain(others).collect()
    }
}
