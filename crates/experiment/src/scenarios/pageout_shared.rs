//! The scenario `pageout-shared`.

use crate::declare::{Checked, Declared, Lists};
use crate::fields::{FieldError, check_size};
use crate::formats::FormatName;
use crate::kinds::{Choice, Format, Number, Size};
use crate::scenario;

/// The maximum memory size, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// The way in which memory is paged out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Out {
    /// `madvise(MADV_PAGEOUT)`, which skips pages that other processes map.
    Madvise,
    /// A write to `memory.reclaim` of the processes' cgroup.
    MemoryReclaim,
}

impl Choice for Out {
    const NAMES: &'static [(&'static str, Self)] =
        &[("madvise", Self::Madvise), ("memory.reclaim", Self::MemoryReclaim)];
}

/// The content of the pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// The same word over and over: zram keeps only the word, and compresses nothing.
    Same,
    /// Any other content: zram compresses it.
    Mixed,
}

impl Choice for Content {
    const NAMES: &'static [(&'static str, Self)] = &[("same", Self::Same), ("mixed", Self::Mixed)];
}

scenario! {
    /// Anonymous memory is read in from compressed swap and paged out, in turn.
    pub struct PageoutShared, PageoutSharedLists: "pageout-shared" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// bytes of the memory
        bytes: u64, "size" as Size = 1 << 20;
        /// processes that map it, each on a core of its own
        processes: u32, "processes" as Number<1, 1024> = 1;
        /// repetitions that are counted, after one that is not
        times: u32, "times" as Number<1, 1_000_000> = 100;
        /// how it is paged out: madvise (MADV_PAGEOUT) with one process alone
        out: Out, "out" as Out = Out::Madvise;
        /// what pages hold: one word over and over, which zram keeps uncompressed, or anything else
        content: Content, "content" as Content = Content::Same;
    }
}

impl Checked for PageoutShared {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        let all = lists.combinations();
        all.iter().try_for_each(Self::check)?;
        Ok(all)
    }
}

impl PageoutShared {
    fn check(&self) -> Result<(), FieldError> {
        if self.out == Out::Madvise && self.processes > 1 {
            let problem = "MADV_PAGEOUT leaves alone what other processes map: with processes=2 \
                or more, give out=memory.reclaim";
            return Err(FieldError::together(Self::NAME, problem));
        }
        check_size(self.bytes, 1 << self.format.page_shift(), "page", MAX_BYTES)
    }
}
