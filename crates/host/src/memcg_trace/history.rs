//! The history of a program's memory from epoch to epoch: the pages that it used, those that were
//! reclaimed and refaulted, and the number of pages on each list.

use super::pages::Pages;
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::trace::{BY_LIST, RECLAIMED_AT, USED, USED_AGAIN};
use pageout_experiment::variant::Lru;
use pageout_reclaim::mglru::{MAX_NR_GENS, MAX_NR_ZONES};
use pageout_reclaim::{LruList, MemcgId, MmState};
use pageout_record::schema::{Axis, Edges, Line, Matrix, Metric, Part, Series};

/// The maximum number of ranges of pages that are distinguished.
const ROWS: usize = 48;
/// The maximum number of ranges of epochs that are distinguished.
const COLUMNS: usize = 96;

const LISTS: [LruList; 4] =
    [LruList::InactiveAnon, LruList::ActiveAnon, LruList::InactiveFile, LruList::ActiveFile];
/// Generations by age: the oldest is the last.
const AGES: [&str; MAX_NR_GENS] =
    ["youngest generation", "second youngest", "third youngest", "fourth youngest"];

/// The history so far. Pages are those of the trace's reference string.
#[derive(Debug)]
pub(super) struct History {
    /// For each page, its place among all in the order of their first addresses.
    places: Vec<u32>,
    /// The areas that rows lie in.
    parts: Vec<Part>,
    /// For each page, the epoch after the one in which it was last used.
    used_in: Vec<u64>,
    epoch: u64,
    /// The number of epochs in a column.
    span: u64,
    used: Grid,
    reclaimed: Grid,
    refaulted: Grid,
    /// Pages on each list, after the epochs that end columns.
    lists: Vec<Vec<u64>>,
}

/// A count for each row, column after column.
#[derive(Debug, Default)]
struct Grid(Vec<[u64; ROWS]>);

impl History {
    /// Returns an empty history of a program that uses these pages.
    pub(super) fn new(pages: &Pages) -> Self {
        let rows = nr_rows(pages.nr());
        let starts: Vec<usize> = (0..rows).map(|row| first_of(row, pages.nr())).collect();
        let by_address = pages.by_address();
        Self {
            used_in: vec![0; pages.nr()],
            places: by_address.places(),
            parts: by_address.parts(&starts),
            epoch: 0,
            span: 1,
            used: Grid::default(),
            reclaimed: Grid::default(),
            refaulted: Grid::default(),
            lists: Vec::new(),
        }
    }

    /// Counts a use of a page by the program; several uses in an epoch are one.
    pub(super) fn used(&mut self, page: usize) {
        if self.used_in[page] <= self.epoch {
            self.used_in[page] = self.epoch + 1;
            let (row, column) = self.cell(page);
            self.used.add(row, column);
        }
    }

    /// Counts a page that was reclaimed.
    pub(super) fn reclaimed(&mut self, page: usize) {
        let (row, column) = self.cell(page);
        self.reclaimed.add(row, column);
    }

    /// Counts a use of a page that had been reclaimed.
    pub(super) fn refaulted(&mut self, page: usize) {
        let (row, column) = self.cell(page);
        self.refaulted.add(row, column);
    }

    fn cell(&self, page: usize) -> (usize, usize) {
        let row = self.places[page] as usize * nr_rows(self.places.len()) / self.places.len();
        (row, (self.epoch / self.span) as usize)
    }

    /// Ends `nr` epochs; `lists` returns the pages on each list at their ends.
    pub(super) fn end_epochs(&mut self, nr: u64, lists: impl Fn() -> Vec<u64>) {
        let end = self.epoch + nr;
        while self.epoch < end {
            let column_ends = (self.epoch + 1).next_multiple_of(self.span);
            self.epoch = end.min(column_ends);
            if self.epoch == column_ends {
                self.lists.push(lists());
            }
            if self.epoch == self.span * COLUMNS as u64 {
                self.widen();
            }
        }
    }

    /// Merges each two columns into one.
    fn widen(&mut self) {
        self.span *= 2;
        for grid in [&mut self.used, &mut self.reclaimed, &mut self.refaulted] {
            grid.halve();
        }
        self.lists = self.lists.drain(..).skip(1).step_by(2).collect();
    }

    /// Returns the metrics of records. They are empty for a program without a page, or that ended
    /// within its first column.
    pub(super) fn metrics(&self, lru: Lru) -> Vec<Metric> {
        if self.places.is_empty() || self.lists.is_empty() {
            return Vec::new();
        }
        let grid = |metric: MetricSpec, grid: &Grid| Metric {
            matrix: Some(self.matrix(grid).into()),
            ..metric.of(&[])
        };
        vec![
            Metric { series: Some(self.series(lru).into()), ..BY_LIST.of(&[]) },
            grid(USED, &self.used),
            grid(RECLAIMED_AT, &self.reclaimed),
            grid(USED_AGAIN, &self.refaulted),
        ]
    }

    fn series(&self, lru: Lru) -> Series {
        let names: Vec<&str> = match lru {
            Lru::Classic => LISTS.iter().map(|list| list.name()).collect(),
            Lru::Mglru => AGES.to_vec(),
        };
        let line = |(list, name): (usize, &&str)| Line {
            name: (*name).to_owned(),
            values: self.lists.iter().map(|sizes| Some(sizes[list] as f64)).collect(),
        };
        let ends = (1..=self.lists.len() as u64).map(|column| (column * self.span) as f64);
        Series {
            x: Axis::new("epoch", ""),
            at: ends.collect(),
            lines: names.iter().enumerate().map(line).collect(),
            stacked: true,
        }
    }

    /// Returns the counts as a matrix. A page is counted once for each epoch, so a column of
    /// several epochs counts it several times.
    fn matrix(&self, grid: &Grid) -> Matrix {
        let nr = self.places.len();
        let (rows, columns) = (nr_rows(nr), self.epoch.div_ceil(self.span) as usize);
        let last = |column: u64| (column * self.span).min(self.epoch) as f64;
        let edges = |name: &str, edges, parts| Edges {
            name: name.to_owned(),
            unit: String::new(),
            edges,
            parts,
        };
        let row = |row: usize| (0..columns).map(move |column| Some(grid.at(row, column) as f64));
        Matrix {
            x: edges("epoch", (0..=columns as u64).map(last).collect(), Vec::new()),
            y: edges(
                "page in the order of addresses",
                (0..=rows).map(|row| first_of(row, nr) as f64).collect(),
                self.parts.clone(),
            ),
            rows: (0..rows).map(|at| row(at).collect()).collect(),
        }
    }
}

/// Returns the number of ranges that this many pages are divided into.
fn nr_rows(pages: usize) -> usize {
    ROWS.min(pages)
}

/// Returns the first page of a range, if this many pages are divided.
fn first_of(row: usize, pages: usize) -> usize {
    (row * pages).div_ceil(nr_rows(pages).max(1))
}

impl Grid {
    fn add(&mut self, row: usize, column: usize) {
        if self.0.len() <= column {
            self.0.resize(column + 1, [0; ROWS]);
        }
        self.0[column][row] += 1;
    }

    fn at(&self, row: usize, column: usize) -> u64 {
        self.0.get(column).map_or(0, |column| column[row])
    }

    /// Merges each two columns into one.
    fn halve(&mut self) {
        let pair = |pair: &[[u64; ROWS]]| {
            std::array::from_fn(|row| pair.iter().map(|column| column[row]).sum())
        };
        self.0 = self.0.chunks(2).map(pair).collect();
    }
}

/// Returns the pages on the lists that count: classic lists, or generations by age.
pub(super) fn on_lists(maps: &MmState<'_>, memcg: MemcgId, lru: Lru) -> Vec<u64> {
    let (youngest, oldest) = maps.lru_gen_seqs(memcg).expect("it is online");
    let of_kind = |seq: u64, kind: usize| -> i64 {
        let generation = (seq % MAX_NR_GENS as u64) as usize;
        let zones = 0..MAX_NR_ZONES;
        zones
            .map(|zone| maps.lru_gen_size(memcg, generation, kind, zone).expect("it is online"))
            .sum()
    };
    let of_age = |age: usize| -> u64 {
        let seq = youngest.checked_sub(age as u64);
        let kinds = [0, 1].map(|kind| match seq {
            Some(seq) if seq >= oldest[kind] => of_kind(seq, kind).max(0) as u64,
            _ => 0,
        });
        kinds.into_iter().sum()
    };
    match lru {
        Lru::Classic => {
            LISTS.map(|list| maps.lru_size_own(memcg, list).expect("it is online")).into()
        }
        Lru::Mglru => (0..MAX_NR_GENS).map(of_age).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_trace::Kind;
    use proptest::prelude::*;

    fn anonymous(addresses: &[u64]) -> Pages {
        let mut pages = Pages::default();
        addresses.iter().for_each(|number| pages.push(*number, Some(Kind::Anonymous)));
        pages
    }

    proptest! {
        /// With any number of epochs, every use stays counted, in its row, and columns cover each
        /// epoch once.
        #[test]
        fn columns_that_are_made_one_keep_what_was_counted(
            uses in prop::collection::vec((0..1000u64, 0..200usize), 1..60),
        ) {
            let addresses: Vec<u64> = (0..200).map(|page| page * 37 % 200).collect();
            let mut history = History::new(&anonymous(&addresses));
            let mut uses = uses;
            uses.sort_unstable();
            uses.dedup();
            let mut expected = [0; ROWS];
            for (epoch, page) in &uses {
                history.end_epochs(*epoch - history.epoch, Vec::new);
                history.used(*page);
                history.used(*page);
                expected[addresses[*page] as usize * ROWS / 200] += 1;
            }
            history.end_epochs(1, Vec::new);
            let matrix = history.matrix(&history.used);
            let rows: Vec<f64> = matrix.rows.iter().map(|row| row.iter().flatten().sum()).collect();
            prop_assert_eq!(rows, expected.map(f64::from).to_vec());
            prop_assert!(matrix.x.ranges() <= COLUMNS);
            prop_assert_eq!(matrix.x.edges.last(), Some(&(history.epoch as f64)));
            prop_assert!(matrix.x.edges.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(matrix.y.edges.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn epochs_that_end_at_once_are_as_those_that_end_one_by_one() {
        for nr in [1, 95, 96, 97, 191, 192, 1000, 12_345] {
            let (mut one_by_one, mut at_once) =
                (History::new(&anonymous(&[0])), History::new(&anonymous(&[0])));
            (0..nr).for_each(|_| one_by_one.end_epochs(1, Vec::new));
            at_once.end_epochs(nr, Vec::new);
            let state = |of: &History| (of.epoch, of.span, of.lists.len());
            assert_eq!(state(&at_once), state(&one_by_one), "{nr} epochs");
        }
    }
}
