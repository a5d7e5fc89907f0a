//! How long work is told to whoever asked for it.

/// Is told of pieces of work; several may be under way at once.
pub trait Progress: Sync {
    /// Work begins; it ends when the task is dropped.
    fn begin(&self, what: &str) -> Box<dyn Task + '_>;

    /// The same of one of the pieces that are expected.
    fn begin_piece(&self, what: &str) -> Box<dyn Task + '_>;

    /// So many more pieces of work are to come.
    fn expect(&self, pieces: usize);

    /// Something to know before or after.
    fn note(&self, text: &str);
}

/// A piece of work under way.
pub trait Task: Send {
    /// So many steps are done, of so many where that is known; `now` is what is worked on.
    fn tell(&self, done: u64, of: Option<u64>, now: &str);
}

/// Tells nobody.
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
