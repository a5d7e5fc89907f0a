//! Repetitions, as many as the time allows.

use super::effort::Effort;
use std::time::Instant;

/// The numbers of the repetitions of one kind of measurement. Each `next` reports progress.
pub(super) type Rounds<'a> = &'a mut dyn Iterator<Item = usize>;

/// The minimum number of repetitions, however long they take.
const AT_LEAST: usize = 5;

/// An iterator over the repetitions of one kind of measurement after another.
pub(super) struct Repeat<'a> {
    effort: Effort,
    /// The number of kinds.
    kinds: usize,
    /// The kind that is repeated now.
    kind: usize,
    done: usize,
    since: Instant,
    progress: &'a mut dyn FnMut(usize, usize),
}

impl<'a> Repeat<'a> {
    /// Makes an iterator that calls `progress` with the number of repetitions done, and with their
    /// most, over all kinds.
    pub(super) fn new(
        effort: Effort,
        kinds: usize,
        progress: &'a mut dyn FnMut(usize, usize),
    ) -> Self {
        Self { effort, kinds, kind: 0, done: 0, since: Instant::now(), progress }
    }

    /// Returns the repetitions of a kind, whose time begins now.
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
