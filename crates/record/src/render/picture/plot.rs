//! Lines over an axis, or shares one upon the other, by marks of characters.

use crate::render::text::{cut, width};

/// The number of rows of characters over which values are spread.
const ROWS: usize = 12;
/// The marks of the lines, one each.
const MARKS: &[u8] = b"ox+*#@%$abcdefghijklmnpqrstuvwyz";
/// The mark of a place where several lines meet.
const SEVERAL: char = '&';

/// The content of a plot.
pub(super) struct Plot {
    pub(super) title: String,
    /// Name and unit of the axis.
    pub(super) axis: String,
    /// True if the axis is logarithmic. Then all places are above zero.
    pub(super) logarithmic: bool,
    /// Places of the axis that are named, in ascending order.
    pub(super) ticks: Vec<(f64, String)>,
    /// Names, each with places and values.
    pub(super) lines: Vec<(String, Vec<(f64, f64)>)>,
    /// True if lines are shares of a whole, from bottom to top.
    pub(super) stacked: bool,
    /// A function that writes values in a few characters.
    pub(super) figure: Box<dyn Fn(f64) -> String>,
}

impl Plot {
    /// The maximum number of lines that each have a mark.
    pub(super) const LINES: usize = MARKS.len();

    /// Returns the plot in lines of at most `columns` columns.
    pub(super) fn draw(&self, columns: usize) -> Vec<String> {
        let points = || self.lines.iter().flat_map(|(_, points)| points.iter().copied());
        let mut text = vec![cut(&self.title, columns)];
        let sums = if self.stacked { self.sums() } else { Vec::new() };
        let tops = points().chain(sums.iter().filter_map(|(at, sums)| Some((*at, *sums.last()?))));
        let (low, high) = tops.fold((0.0_f64, f64::MIN), |(l, h), (_, v)| (l.min(v), h.max(v)));
        if points().next().is_none() {
            text.push("  nothing to draw".to_owned());
            return text;
        }
        let high = if high > low { high } else { low + 1.0 };
        let middle = low / 2.0 + high / 2.0;
        let named = [(0, high), (ROWS / 2, middle), (ROWS - 1, low)];
        let named = named.map(|(row, value)| (row, (self.figure)(value)));
        let label = named.iter().map(|(_, name)| width(name)).max().unwrap_or(0);
        let across = columns.saturating_sub(label + 2);
        let scale = |value: f64| if self.logarithmic { value.ln() } else { value };
        let (first, last) = points()
            .fold((f64::MAX, f64::MIN), |(f, l), (at, _)| (f.min(scale(at)), l.max(scale(at))));
        let column = |at: f64| spread(scale(at), [first, last], across);
        let mut grid = vec![vec![' '; across]; ROWS];
        if self.stacked {
            fill(&mut grid, &sums, high, column);
        } else {
            self.connect(&mut grid, column, |value| ROWS - 1 - spread(value, [low, high], ROWS));
        }
        let several = grid.iter().flatten().any(|cell| *cell == SEVERAL);
        for (at, cells) in grid.iter().enumerate() {
            let name = named.iter().find(|(row, _)| *row == at).map_or("", |(_, name)| name);
            let edge = if name.is_empty() { '│' } else { '┤' };
            let cells: String = cells.iter().collect();
            text.push(format!("{name:>label$} {edge}{}", cells.trim_end()));
        }
        let (marks, names) = self.ticks(across, column);
        text.push(format!("{:label$} └{marks}", ""));
        text.push(format!("{:label$}  {names}", "").trim_end().to_owned());
        let axis = cut(&self.axis, columns);
        text.push(format!(
            "{axis:>columns$}",
            columns = columns.saturating_sub(width(&axis)) + axis.chars().count()
        ));
        text.extend(self.key(several, columns));
        text
    }

    /// Returns the sum of the lines up to each one at each place, in ascending order of places.
    fn sums(&self) -> Vec<(f64, Vec<f64>)> {
        let places = self.lines.iter().flat_map(|(_, points)| points).map(|(at, _)| *at);
        let mut places: Vec<f64> = places.collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let of = |at: f64| {
            let share = |points: &[(f64, f64)]| {
                points.iter().find(|(place, _)| *place == at).map_or(0.0, |(_, value)| *value)
            };
            let add = |sum: &mut f64, (_, points): &(String, Vec<(f64, f64)>)| {
                *sum += share(points);
                Some(*sum)
            };
            self.lines.iter().scan(0.0, add).collect()
        };
        places.into_iter().map(|at| (at, of(at))).collect()
    }

    /// Marks every point, with dots from one to the next.
    fn connect(
        &self,
        grid: &mut [Vec<char>],
        column: impl Fn(f64) -> usize,
        row: impl Fn(f64) -> usize,
    ) {
        for (_, points) in &self.lines {
            for pair in points.windows(2) {
                let [from, to] = [column(pair[0].0), column(pair[1].0)];
                (from + 1..to).for_each(|between| {
                    let share = (between - from) as f64 / (to - from) as f64;
                    let value = pair[0].1 * (1.0 - share) + pair[1].1 * share;
                    grid[row(value)][between] = '·';
                });
            }
        }
        for ((_, points), mark) in self.lines.iter().zip(MARKS) {
            let mark = char::from(*mark);
            for (at, value) in points {
                let cell = &mut grid[row(*value)][column(*at)];
                *cell = if [' ', '·', mark].contains(cell) { mark } else { SEVERAL };
            }
        }
    }

    /// Returns the axis with a mark at each named place, and the names for which there is room.
    fn ticks(&self, across: usize, column: impl Fn(f64) -> usize) -> (String, String) {
        let mut marks = vec!['─'; across];
        let mut names = String::new();
        for (at, name) in &self.ticks {
            let (at, wide) = (column(*at), width(name));
            marks[at] = '┬';
            let start = at.saturating_sub(wide / 2).min(across.saturating_sub(wide));
            let taken = width(&names);
            let apart = if names.is_empty() { taken } else { taken + 1 };
            if start >= apart && start + wide <= across {
                names += &" ".repeat(start - taken);
                names += name;
            }
        }
        (marks.into_iter().collect(), names)
    }

    /// Returns the key of marks and lines, with as many in a line of text as fit.
    fn key(&self, several: bool, columns: usize) -> Vec<String> {
        let marks = self.lines.iter().zip(MARKS);
        let marks = marks.map(|((name, _), mark)| format!("{} {name}", char::from(*mark)));
        let mut key: Vec<String> = Vec::new();
        for one in marks.chain(several.then(|| format!("{SEVERAL} several"))) {
            let one = cut(&one, columns);
            match key.last_mut().filter(|line| width(line) + 3 + width(&one) <= columns) {
                Some(line) => *line += &format!("   {one}"),
                None => key.push(one),
            }
        }
        key
    }
}

/// Fills each column with the shares at its place, or at the last place before it.
fn fill(
    grid: &mut [Vec<char>],
    sums: &[(f64, Vec<f64>)],
    high: f64,
    column: impl Fn(f64) -> usize,
) {
    let rows = grid.len();
    let ends = sums.iter().skip(1).map(|(at, _)| column(*at)).chain([grid[0].len()]);
    for ((at, sums), end) in sums.iter().zip(ends) {
        let tops = sums.iter().map(|sum| spread(*sum, [0.0, high], rows + 1));
        let mut filled = 0;
        for (top, mark) in tops.zip(MARKS) {
            for row in filled..top {
                grid[rows - 1 - row][column(*at)..end].fill(char::from(*mark));
            }
            filled = filled.max(top);
        }
    }
}

/// Returns the place of a value between two ends, of `places` places.
fn spread(value: f64, [low, high]: [f64; 2], places: usize) -> usize {
    let last = places.saturating_sub(1) as f64;
    // It uses halves, because the difference of the ends may be too large for a number.
    let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    if share.is_finite() { (share.clamp(0.0, 1.0) * last).round() as usize } else { 0 }
}
