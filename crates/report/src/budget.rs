//! The room on a page, and the notes on omitted content.

/// The points that an activity of a flame graph is counted as: the page itself draws it, with a row
/// in its table.
const ACTIVITY: usize = 24;

/// The room that is left on a page. A caller that gets less than it wants adds a note.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The number of charts.
    charts: usize,
    /// The number of points, bars and cells of all charts.
    points: usize,
    /// The number of cells of all tables.
    cells: usize,
    left_out: Vec<String>,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { charts: 160, points: 60_000, cells: 16_000, left_out: Vec::new() }
    }

    /// Adds a note on omitted content, as a sentence.
    pub(crate) fn note(&mut self, what: String) {
        self.left_out.push(what);
    }

    /// Takes room for a chart; returns true if there was any.
    pub(crate) fn chart(&mut self) -> bool {
        let is_left = self.charts > 0;
        self.charts = self.charts.saturating_sub(1);
        is_left
    }

    /// Returns the room for the points of one chart of `lines` lines, for each line.
    pub(crate) fn points_of_each(&self, lines: usize) -> usize {
        // A quarter of the rest, so that later charts have room too.
        (self.points / 4 / lines.max(1)).clamp(24, 400)
    }

    /// Returns the room for the cells of one map: a legible map has many.
    pub(crate) fn cells_of_a_map(&self) -> usize {
        (self.points / 4).max(600)
    }

    /// Returns the room for the activities of one flame graph.
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

    /// Takes room for rows of `cells` cells, and returns the number of rows that fit.
    pub(crate) fn rows(&mut self, rows: usize, cells: usize) -> usize {
        let cells = cells.max(1);
        let fitting = rows.min((self.cells / cells).max(8));
        self.cells = self.cells.saturating_sub(fitting * cells);
        fitting
    }

    /// Returns the notes on everything that was left out.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }
}
