//! Reports of the progress of long work.

/// A receiver of reports about pieces of work. Several may be under way at once.
pub trait Progress: Sync {
    /// Reports that a piece of work begins. It ends when the task is dropped.
    fn begin(&self, what: &str) -> Box<dyn Task + '_>;

    /// Reports that one of the expected pieces begins. It ends when the task is dropped.
    fn begin_piece(&self, what: &str) -> Box<dyn Task + '_>;

    /// Reports that `pieces` more pieces of work are to come.
    fn expect(&self, pieces: usize);

    /// Reports a fact that is of use before or after the work.
    fn note(&self, text: &str);
}

/// A piece of work under way.
pub trait Task: Send {
    /// Reports that `done` steps are done, of `of` if their number is known. `now` names the
    /// current step.
    fn tell(&self, done: u64, of: Option<u64>, now: &str);
}

/// A receiver that ignores all reports.
#[derive(Debug)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str) -> Box<dyn Task + '_> {
        Box::new(Self)
    }

    fn begin_piece(&self, _: &str) -> Box<dyn Task + '_> {
        Box::new(Self)
    }

    fn expect(&self, _: usize) {}

    fn note(&self, _: &str) {}
}

impl Task for Silent {
    fn tell(&self, _: u64, _: Option<u64>, _: &str) {}
}
