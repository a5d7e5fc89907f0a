//! Tags of the buckets of the file index, which lead to dirty folios: a bit for each bucket, and a
//! summary with a bit for each word of tags (Linux: the tags of an xarray).

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

/// The number of tags in a word.
const BITS: u64 = u64::BITS as u64;

/// The tags of all buckets of the file index.
#[derive(Debug)]
pub(crate) struct Tags<'m> {
    words: &'m [AtomicU64],
    /// A bit for each word that is not 0.
    summary: &'m [AtomicU64],
}

/// Returns the number of words for the tags of `buckets` buckets, the summary included.
pub(crate) const fn words_for(buckets: usize) -> usize {
    let words = buckets.div_ceil(BITS as usize);
    words + words.div_ceil(BITS as usize)
}

impl<'m> Tags<'m> {
    /// Makes tags of `buckets` buckets, none of them set, in [`words_for`] words.
    pub(crate) fn new(words: &'m [AtomicU64], buckets: usize) -> Self {
        words.iter().for_each(|word| word.store(0, Relaxed));
        let (words, summary) = words.split_at(buckets.div_ceil(BITS as usize));
        Self { words, summary }
    }

    pub(super) fn set(&self, bucket: u64) {
        let before = self.words[(bucket / BITS) as usize].fetch_or(bit(bucket), AcqRel);
        if before == 0 {
            self.summarize(bucket / BITS);
        }
    }

    pub(super) fn clear(&self, bucket: u64) {
        let word = &self.words[(bucket / BITS) as usize];
        if word.fetch_and(!bit(bucket), AcqRel) != bit(bucket) {
            return;
        }
        let number = bucket / BITS;
        self.summary[(number / BITS) as usize].fetch_and(!bit(number), AcqRel);
        // A tag that was set in between keeps the word in the summary.
        if word.load(Acquire) != 0 {
            self.summarize(number);
        }
    }

    fn summarize(&self, number: u64) {
        self.summary[(number / BITS) as usize].fetch_or(bit(number), AcqRel);
    }

    /// Returns the first bucket of a range whose tag is set.
    pub(super) fn first_in(&self, buckets: Range<u64>) -> Option<u64> {
        let mut from = buckets.start;
        while from < buckets.end {
            let number = from / BITS;
            let word = self.words[number as usize].load(Acquire) & from_bit(from);
            if word != 0 {
                let found = number * BITS + u64::from(word.trailing_zeros());
                return (found < buckets.end).then_some(found);
            }
            from = self.next_word(number + 1)? * BITS;
        }
        None
    }

    /// Returns the number of the first word from this one on that the summary has.
    fn next_word(&self, number: u64) -> Option<u64> {
        let first = (number / BITS) as usize;
        let within = |(k, word): (usize, &AtomicU64)| {
            let mask = if k == 0 { from_bit(number) } else { u64::MAX };
            let word = word.load(Acquire) & mask;
            let at = (first + k) as u64 * BITS + u64::from(word.trailing_zeros());
            (word != 0).then_some(at)
        };
        self.summary.iter().skip(first).enumerate().find_map(within)
    }
}

fn bit(number: u64) -> u64 {
    1 << (number % BITS)
}

/// Returns the bits of a number and of those after it in one word.
fn from_bit(number: u64) -> u64 {
    u64::MAX << (number % BITS)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    #[test]
    fn random_tags_agree_with_a_set() {
        const BUCKETS: usize = 64 * 64 * 3;
        let words: Vec<AtomicU64> = (0..words_for(BUCKETS)).map(|_| AtomicU64::new(7)).collect();
        let tags = Tags::new(&words, BUCKETS);
        let mut model = BTreeSet::new();
        let mut random = crate::mm::numbers(1);
        for step in 0..4_000 {
            let bucket = random(BUCKETS) as u64;
            // Mostly few tags, so that whole words and their summaries are 0.
            if random(4) > 0 && !model.is_empty() {
                let gone = *model.range(bucket..).chain(&model).next().expect("one");
                tags.clear(gone);
                model.remove(&gone);
            } else if step < 3_000 || random(2) == 0 {
                tags.set(bucket);
                model.insert(bucket);
            }
            let start = random(BUCKETS) as u64;
            let end = (start + random(BUCKETS) as u64).min(BUCKETS as u64);
            assert_eq!(tags.first_in(start..end), model.range(start..end).next().copied());
        }
    }
}
