//! How much a page has room for, and what had to be left out.

/// Points that an activity of a flame graph has the room of: it is drawn by the page itself, with a
/// row in its table.
const ACTIVITY: usize = 24;

/// What is left of a page's room. Whoever takes less than there was says so.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Charts.
    charts: usize,
    /// Points, bars and cells of all charts.
    points: usize,
    /// Cells of all tables.
    cells: usize,
    left_out: Vec<String>,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { charts: 160, points: 60_000, cells: 16_000, left_out: Vec::new() }
    }

    /// Notes what is not shown, as a sentence.
    pub(crate) fn note(&mut self, what: String) {
        self.left_out.push(what);
    }

    /// Takes room for a chart, if there is any.
    pub(crate) fn chart(&mut self) -> bool {
        let is_left = self.charts > 0;
        self.charts = self.charts.saturating_sub(1);
        is_left
    }

    /// Room for the points of one chart of `lines` lines: so many for each of them.
    pub(crate) fn points_of_each(&self, lines: usize) -> usize {
        // A quarter of what is left, so that later charts have room too.
        (self.points / 4 / lines.max(1)).clamp(24, 400)
    }

    /// Room for the cells of one map, which are many where it is to be read.
    pub(crate) fn cells_of_a_map(&self) -> usize {
        (self.points / 4).max(600)
    }

    /// Room for the activities of one flame graph.
    pub(crate) fn activities(&self) -> usize {
        (self.points / 4 / ACTIVITY).clamp(24, 600)
    }

    /// Takes room for activities.
    pub(crate) fn took_activities(&mut self, activities: usize) {
        self.took_points(activities * ACTIVITY);
    }

    /// Takes room for points.
    pub(crate) fn took_points(&mut self, points: usize) {
        self.points = self.points.saturating_sub(points);
    }

    /// Takes room for rows of so many cells, and tells how many fit.
    pub(crate) fn rows(&mut self, rows: usize, cells: usize) -> usize {
        let cells = cells.max(1);
        let fitting = rows.min((self.cells / cells).max(8));
        self.cells = self.cells.saturating_sub(fitting * cells);
        fitting
    }

    /// Everything that was left out.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }
}
