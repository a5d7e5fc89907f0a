//! The lab's work as it goes: bars on a terminal, a line for each piece of it elsewhere.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use pageout_sim::lab::{Progress, Silent, Task};
use std::io::IsTerminal;
use std::time::Duration;

/// How it is told.
pub(super) enum Told {
    Bars(MultiProgress),
    Lines,
}

/// A piece of work as a bar, which goes with it.
struct Bar(ProgressBar);

impl Told {
    pub(super) fn new() -> Self {
        if std::io::stderr().is_terminal() { Self::Bars(MultiProgress::new()) } else { Self::Lines }
    }
}

impl Progress for Told {
    fn begin(&self, what: &str) -> Box<dyn Task + '_> {
        match self {
            Self::Lines => {
                eprintln!("{what}");
                Box::new(Silent)
            }
            Self::Bars(bars) => {
                let bar = bars.add(ProgressBar::no_length());
                let style = ProgressStyle::with_template("{prefix}, {elapsed}  {wide_msg}");
                bar.set_style(style.expect("the template is valid"));
                bar.set_prefix(what.to_owned());
                bar.enable_steady_tick(Duration::from_millis(200));
                Box::new(Bar(bar))
            }
        }
    }
}

impl Task for Bar {
    fn tell(&self, done: u64, of: Option<u64>, now: &str) {
        let Some(of) = of else {
            let step = if done > 0 { format!("step {done}: ") } else { String::new() };
            return self.0.set_message(step + now);
        };
        if self.0.length() != Some(of) {
            let style = "{prefix}, {elapsed} [{bar:20}] {percent:>3}%  {wide_msg}";
            let style = ProgressStyle::with_template(style).expect("the template is valid");
            self.0.set_style(style.progress_chars("=> "));
            self.0.set_length(of);
        }
        self.0.set_position(done);
        self.0.set_message(now.to_owned());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
