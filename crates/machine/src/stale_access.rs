//! Accesses that stale entries of TLBs hid from page aging, and for how long.

use crate::Time;

/// The log2 of the buckets for each doubling of a duration: quantiles are exact to one part in 32.
const PARTS_LOG2: u32 = 5;

/// The accesses that were hidden, and for how long entries hid some.
///
/// An entry that hides accesses is counted once, from the first of them to its end. It ends when it
/// is invalidated or gives way, or when the page is seen young again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StaleAccessHistogram {
    /// The accesses through entries whose page was old: aging does not see them.
    pub accesses: u64,
    /// The accesses through entries whose page was not mapped any more.
    pub after_unmap: u64,
    /// The durations by bucket, as far as the longest.
    buckets: Vec<u64>,
    longest: Time,
}

impl StaleAccessHistogram {
    /// Notes the end of an entry that hid accesses for so long.
    pub fn ends(&mut self, after: Time) {
        let bucket = bucket(after.ps());
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.longest = self.longest.max(after);
    }

    /// Returns the number of durations that have ended.
    pub fn ended(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Returns the duration that a share `part` of all durations don't exceed, or `None` if there
    /// are none. It is too large by a 32nd part at most.
    ///
    /// # Panics
    /// Unless `part` is from 0 to 1.
    pub fn quantile(&self, part: f64) -> Option<Time> {
        assert!((0.0..=1.0).contains(&part), "a share is from 0 to 1, not {part}");
        let rank = ((self.ended() as f64 * part).ceil() as u64).max(1);
        let mut below = 0;
        let found = self.buckets.iter().position(|nr| {
            below += nr;
            below >= rank
        })?;
        Some(Time::from_ps(last_of(found)).min(self.longest))
    }

    /// Returns the longest duration, or zero before the first.
    pub fn longest(&self) -> Time {
        self.longest
    }

    /// Returns the part that came since `before`, when no entry hid anything. The longest duration
    /// is as exact as quantiles are, unless it is the longest of all.
    ///
    /// # Panics
    /// If `before` counts more than this does.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut since = self.clone();
        since.accesses -= before.accesses;
        since.after_unmap -= before.after_unmap;
        for (nr, earlier) in since.buckets.iter_mut().zip(&before.buckets) {
            *nr -= earlier;
        }
        if before.longest >= self.longest {
            let last = since.buckets.iter().rposition(|nr| *nr > 0);
            let most = last.map_or(Time::ZERO, |last| Time::from_ps(last_of(last)));
            since.longest = most.min(self.longest);
        }
        since
    }

    /// Adds the counts of another core.
    pub fn add(&mut self, other: &Self) {
        self.accesses += other.accesses;
        self.after_unmap += other.after_unmap;
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (nr, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *nr += more;
        }
        self.longest = self.longest.max(other.longest);
    }
}

/// Returns the bucket of a duration: the duration itself below 2^5, then 32 for each doubling.
fn bucket(ps: u64) -> usize {
    let doublings = (u64::BITS - ps.leading_zeros()).saturating_sub(PARTS_LOG2 + 1);
    ((u64::from(doublings) << PARTS_LOG2) + (ps >> doublings)) as usize
}

/// Returns the longest duration of a bucket.
fn last_of(bucket: usize) -> u64 {
    let doublings = (bucket >> PARTS_LOG2).saturating_sub(1);
    let part = (bucket - (doublings << PARTS_LOG2)) as u64;
    (part << doublings) + ((1 << doublings) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_one_another() {
        for ps in (0..5000).chain([u64::MAX - 1, u64::MAX, 1 << 40, (1 << 40) - 1]) {
            let last = last_of(bucket(ps));
            assert!(last >= ps && last - ps <= ps / 32, "{ps} in a bucket up to {last}");
            assert_eq!(bucket(last), bucket(ps));
            assert!(last == u64::MAX || bucket(last + 1) == bucket(ps) + 1);
        }
    }

    #[test]
    fn nothing_hidden_has_no_quantiles() {
        assert_eq!(StaleAccessHistogram::default().quantile(0.5), None);
        assert_eq!(StaleAccessHistogram::default().longest(), Time::ZERO);
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_durations(
            one in prop::collection::vec(0_u64..1 << 30, 1..100),
            other in prop::collection::vec(0_u64..1 << 50, 0..100),
            percent in 0_usize..=100,
        ) {
            let of = |all: &[u64]| {
                let mut hidden = StaleAccessHistogram::default();
                all.iter().for_each(|ps| hidden.ends(Time::from_ps(*ps)));
                hidden
            };
            let mut hidden = of(&one);
            hidden.add(&of(&other));
            let since = hidden.since(&of(&one));
            prop_assert_eq!(since.ended(), other.len() as u64);
            let longest = other.iter().max().copied().unwrap_or(0);
            prop_assert!(since.longest().ps() >= longest);
            prop_assert!(since.longest().ps() - longest <= longest / 32);
            let mut all = [one, other].concat();
            prop_assert_eq!(&hidden, &of(&all));
            all.sort_unstable();
            let exact = all[(all.len() * percent).div_ceil(100).max(1) - 1];
            let found = hidden.quantile(percent as f64 / 100.0).expect("some ended").ps();
            prop_assert!(found >= exact && found - exact <= exact / 32, "{} for {}", found, exact);
            prop_assert_eq!(hidden.longest().ps(), all[all.len() - 1]);
        }
    }
}
