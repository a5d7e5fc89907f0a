//! Progress of long work on standard error: a bar on a terminal, elsewhere occasional lines.

use crate::output::say;
use indicatif::{ProgressBar, ProgressStyle};
use pageout_record::schema::Record;
use pageout_run::{Plan, QuestionError};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The time between two lines on progress.
const EVERY: Duration = Duration::from_secs(10);

/// Returns a bar. It is hidden if standard error is no terminal; then [`steps`] prints lines.
pub(crate) fn bar(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent:>3}%  {elapsed} elapsed")
        .expect("the template is valid");
    shown(ProgressBar::new(0)).with_style(style.progress_chars("=> ")).with_message(what)
}

/// Returns a spinner with a count for [`references`], hidden likewise.
pub(crate) fn counter(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {human_pos} references, {elapsed} elapsed")
        .expect("the template is valid");
    shown(ProgressBar::no_length()).with_style(style).with_message(what)
}

fn shown(bar: ProgressBar) -> ProgressBar {
    if std::io::stderr().is_terminal() { bar } else { ProgressBar::hidden() }
}

/// Returns a function that shows the number of steps done, and their most.
pub(crate) fn steps(bar: &ProgressBar) -> impl FnMut(usize, usize) {
    let mut heart = Heart::new(bar);
    move |done, most| {
        bar.set_length(most as u64);
        bar.set_position(done as u64);
        heart.beat(|| format!("{}%", 100 * done / most.max(1)));
    }
}

/// Runs a plan behind a bar, and returns its records.
///
/// # Errors
/// [`QuestionError`] of a trace.
pub(crate) fn records(plan: &dyn Plan, what: &'static str) -> Result<Vec<Record>, QuestionError> {
    let bar = bar(what);
    let records = plan.records(&mut steps(&bar));
    bar.finish_and_clear();
    records
}

/// Returns a function that shows the number of references seen.
pub(crate) fn references(counter: &ProgressBar) -> impl FnMut(u64) {
    let mut heart = Heart::new(counter);
    move |seen| {
        counter.set_position(seen);
        heart.beat(|| format!("{seen} references"));
    }
}

/// Lines in place of a hidden bar.
struct Heart {
    hidden: bool,
    what: String,
    since: Instant,
    last: Instant,
}

impl Heart {
    fn new(bar: &ProgressBar) -> Self {
        let since = Instant::now();
        Self { hidden: bar.is_hidden(), what: bar.message(), since, last: since }
    }

    fn beat(&mut self, done: impl FnOnce() -> String) {
        if self.hidden && self.last.elapsed() >= EVERY {
            self.last = Instant::now();
            let seconds = self.since.elapsed().as_secs();
            say(&format!("{}: {} after {seconds} s", self.what, done()));
        }
    }
}
