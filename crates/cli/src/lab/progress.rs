//! The progress of the lab's work: bars on a terminal, lines elsewhere, and the number of pieces
//! that are done.

use crate::output::say;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use pageout_lab::{Progress, Task};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time between two lines on a long piece of work.
const EVERY: Duration = Duration::from_secs(30);

/// The maximum number of characters of a line on the work.
const COLUMNS: usize = 80;

/// The state of the progress that is shown.
pub(super) struct ShownProgress {
    /// The bars, only on a terminal; the last one shows the number of pieces done.
    bars: Option<(MultiProgress, ProgressBar)>,
    expected: AtomicUsize,
    done: AtomicUsize,
}

/// A piece of work under way.
struct UnderWay<'a> {
    told: &'a ShownProgress,
    what: String,
    /// True if the work is one of the expected pieces.
    is_piece: bool,
    since: Instant,
    shown: Shown,
}

enum Shown {
    Bar(ProgressBar),
    /// The time of the last line.
    Lines(Mutex<Instant>),
}

impl ShownProgress {
    pub(super) fn new() -> Self {
        let bars = || {
            let all = MultiProgress::new();
            let left = all.add(ProgressBar::no_length());
            left.set_style(style("{msg}"));
            (all, left)
        };
        let bars = std::io::stderr().is_terminal().then(bars);
        Self { bars, expected: AtomicUsize::new(0), done: AtomicUsize::new(0) }
    }

    fn start(&self, what: &str, is_piece: bool) -> Box<dyn Task + '_> {
        let since = Instant::now();
        let shown = match &self.bars {
            None => {
                say(what);
                Shown::Lines(Mutex::new(since))
            }
            Some((all, left)) => {
                let bar = all.insert_before(left, ProgressBar::no_length());
                bar.set_style(style("{prefix}, {elapsed}  {wide_msg}"));
                bar.set_prefix(what.to_owned());
                bar.enable_steady_tick(Duration::from_millis(200));
                Shown::Bar(bar)
            }
        };
        Box::new(UnderWay { told: self, what: what.to_owned(), is_piece, since, shown })
    }

    /// Shows the number of pieces done.
    fn tell_left(&self) {
        if let Some((_, left)) = &self.bars {
            left.set_message(self.left());
            left.tick();
        }
    }

    fn left(&self) -> String {
        let expected = self.expected.load(Ordering::Relaxed);
        format!("{} of {expected} done", self.done.load(Ordering::Relaxed))
    }
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        if let Some((_, left)) = &self.bars {
            left.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is valid")
}

impl Progress for ShownProgress {
    fn begin(&self, what: &str) -> Box<dyn Task + '_> {
        self.start(what, false)
    }

    fn begin_piece(&self, what: &str) -> Box<dyn Task + '_> {
        self.start(what, true)
    }

    fn expect(&self, pieces: usize) {
        self.expected.fetch_add(pieces, Ordering::Relaxed);
        self.tell_left();
    }

    fn note(&self, text: &str) {
        match &self.bars {
            None => say(text),
            Some((all, _)) => all.suspend(|| say(text)),
        }
    }
}

impl Task for UnderWay<'_> {
    fn tell(&self, done: u64, of: Option<u64>, now: &str) {
        let step = match of {
            Some(of) => format!("{}%: ", 100 * done / of.max(1)),
            None if done > 0 => format!("step {done}: "),
            None => String::new(),
        };
        // The text may come from a test machine.
        let now: String = now.chars().filter(|c| !c.is_control()).take(COLUMNS).collect();
        match &self.shown {
            Shown::Bar(bar) => bar.set_message(step + &now),
            Shown::Lines(last) => {
                let mut last = last.lock().expect("no panics");
                if last.elapsed() >= EVERY {
                    *last = Instant::now();
                    let (what, seconds) = (&self.what, self.seconds());
                    say(&format!("  {what}, after {seconds} s: {step}{now}"));
                }
            }
        }
    }
}

impl UnderWay<'_> {
    fn seconds(&self) -> u64 {
        self.since.elapsed().as_secs()
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.is_piece {
            self.told.done.fetch_add(1, Ordering::Relaxed);
            self.told.tell_left();
        }
        match &self.shown {
            Shown::Bar(bar) => bar.finish_and_clear(),
            Shown::Lines(_) if self.is_piece => {
                let (what, seconds) = (&self.what, self.seconds());
                say(&format!("  {what}: {seconds} s; {}", self.told.left()));
            }
            Shown::Lines(_) => {}
        }
    }
}
