//! Progress of long work, on a terminal only.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// A bar on standard error if that is a terminal, otherwise nothing.
pub(crate) fn bar(what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent:>3}%  {elapsed} elapsed")
        .expect("the template is valid");
    ProgressBar::new(0).with_style(style.progress_chars("=> ")).with_message(what)
}

/// A spinner with a count.
pub(crate) fn counter(what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {human_pos} references, {elapsed} elapsed")
        .expect("the template is valid");
    ProgressBar::no_length().with_style(style).with_message(what)
}

/// Tells a bar the steps done of at most so many.
pub(crate) fn steps(bar: &ProgressBar) -> impl FnMut(usize, usize) {
    move |done, most| {
        bar.set_length(most as u64);
        bar.set_position(done as u64);
    }
}
