//! Repetitions, as many as there is time for.

use super::effort::Effort;
use std::time::Instant;

/// The numbers of the repetitions of one kind of measurement; taking one tells of progress.
pub(super) type Rounds<'a> = &'a mut dyn Iterator<Item = usize>;

/// At least so many repetitions, however long they take.
const AT_LEAST: usize = 5;

/// Gives out the repetitions of one kind of measurement after another.
pub(super) struct Repeat<'a> {
    effort: Effort,
    /// How many kinds there are,
    kinds: usize,
    /// which is repeated now,
    kind: usize,
    done: usize,
    since: Instant,
    progress: &'a mut dyn FnMut(usize, usize),
}

impl<'a> Repeat<'a> {
    /// Tells `progress` the repetitions done and the most that there are, of all kinds.
    pub(super) fn new(
        effort: Effort,
        kinds: usize,
        progress: &'a mut dyn FnMut(usize, usize),
    ) -> Self {
        Self { effort, kinds, kind: 0, done: 0, since: Instant::now(), progress }
    }

    /// The repetitions of a kind, from now on.
    pub(super) fn kind(&mut self, kind: usize) -> &mut Self {
        (self.kind, self.done, self.since) = (kind, 0, Instant::now());
        self
    }
}

impl Iterator for Repeat<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let (rounds, round) = (self.effort.rounds, self.done);
        let over = round >= AT_LEAST && self.since.elapsed() > self.effort.budget;
        if round == rounds || over {
            return None;
        }
        (self.progress)(self.kind * rounds + round, self.kinds * rounds);
        self.done += 1;
        Some(round)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn repeated(effort: Effort) -> (usize, Vec<(usize, usize)>) {
        let mut told = Vec::new();
        let mut progress = |done, most| told.push((done, most));
        let mut repeat = Repeat::new(effort, 4, &mut progress);
        let first = repeat.kind(0).count();
        assert_eq!(repeat.kind(1).count(), first);
        (first, told)
    }

    #[test]
    fn repetitions_end_with_their_number_or_their_time() {
        let effort = Effort { rounds: 9, budget: Duration::MAX, ..Effort::QUICK };
        let (count, told) = repeated(effort);
        assert_eq!(count, 9);
        assert_eq!((told[0], told[9], told[17]), ((0, 36), (9, 36), (17, 36)));
        let (count, told) = repeated(Effort { budget: Duration::ZERO, ..effort });
        assert_eq!((count, told[5]), (AT_LEAST, (9, 36)));
    }
}
