//! `access-patterns`.

use crate::declare::{Checked, Declared, Lists};
use crate::fields::{FieldError, display_size};
use crate::formats::FormatName;
use crate::kinds::{Choice, Fitting, Format, Percent, SizeIn};
use crate::scenario;
use pageout_record::schema::Labels;

/// Bytes that are read ahead at once: 32 pages. Sizes are multiples of it.
pub const READ_AHEAD_BYTES: u64 = 32 * 4096;
const LEAST_MEMORY: u64 = 2 << 20;
const MOST_MEMORY: u64 = 4 << 30;
const MAX_BYTES: u64 = 16 << 30;

/// In which order pages are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// One after the other, each line of each, from a page chosen at random around the file's end
    /// once.
    Seq,
    /// Pages chosen at random, a word of each.
    Random,
    /// The same, and among them one page again and again.
    HotRandom,
}

/// How pages are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Loads.
    Read,
    /// Stores.
    Write,
}

impl Choice for Pattern {
    const NAMES: &'static [(&'static str, Self)] =
        &[("seq", Self::Seq), ("random", Self::Random), ("hot-random", Self::HotRandom)];
}

impl Choice for Use {
    const NAMES: &'static [(&'static str, Self)] = &[("read", Self::Read), ("write", Self::Write)];
}

/// Bytes of memory, in what is read ahead at once.
type Memory = SizeIn<READ_AHEAD_BYTES, LEAST_MEMORY, MOST_MEMORY>;

/// Bytes of a file, likewise.
type FileSize = SizeIn<READ_AHEAD_BYTES, READ_AHEAD_BYTES, MAX_BYTES>;

scenario! {
    /// A program uses a file larger than memory, mapped shared, in order or at random; compared by
    /// what follows a young bit, as in 2018.
    pub struct AccessPatterns, AccessPatternsLists: "access-patterns" {
        /// entry format; without a platform the thread's, arm64-4k
        format: FormatName, "format" as Format = FormatName::Arm64_4K;
        /// how pages are used
        access: Use, "access" as Use = Use::Read, in [Use::Read, Use::Write];
        /// in which order pages are used
        pattern: Pattern, "pattern" as Pattern = Pattern::Seq,
            in [Pattern::Seq, Pattern::Random, Pattern::HotRandom];
        /// uses that are of the hot page, where there is one
        hot_percent: u8, "hot" as Percent<1, 99> = 10;
        /// bytes of memory
        memory: u64, "memory" as Memory = 32 << 20;
        /// bytes of the file; without it, twice the memory
        bytes: Option<u64>, "size" as Fitting<FileSize> = None;
    }
}

impl Checked for AccessPatterns {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        let mut all = lists.combinations();
        for one in &mut all {
            let bytes = one.file_bytes();
            one.bytes = Some(bytes);
            if bytes <= one.memory {
                let (file, memory) = (display_size(bytes), display_size(one.memory));
                let problem = format!("size={file} has to be larger than memory={memory}");
                return Err(FieldError::together(Self::NAME, problem));
            }
        }
        Ok(all)
    }

    /// `hot` only where there is a hot page.
    fn record_labels(&self) -> Labels {
        let mut labels = self.labels();
        if self.pattern != Pattern::HotRandom {
            labels.retain(|name, _| name != "hot");
        }
        labels
    }
}

impl AccessPatterns {
    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.bytes.unwrap_or(2 * self.memory)
    }
}
