//! `thpscale`.

use crate::declare::{Checked, Declared, Lists};
use crate::fields::{FieldError, display_size};
use crate::formats::FormatName;
use crate::kinds::{Choice, Fitting, Kind, Number, SizeIn};
use crate::scenario;

/// Bytes of a slot, which one page table maps.
pub const SLOT: u64 = 2 << 20;
/// Least and most memory.
const LEAST_MEMORY: u64 = 16 << 20;
const MOST_MEMORY: u64 = 16 << 30;

/// Whether anonymous memory can be swapped out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swap {
    /// No: reclaim has the file alone.
    None,
    /// To compressed memory.
    Zram,
}

impl Choice for Swap {
    const NAMES: &'static [(&'static str, Self)] = &[("none", Self::None), ("zram", Self::Zram)];
}

/// Memory in whole slots.
type Slots = SizeIn<SLOT, LEAST_MEMORY, MOST_MEMORY>;

/// A format whose huge pages are slots.
#[derive(Debug)]
pub(super) enum SlotFormat {}

impl Kind for SlotFormat {
    type Value = FormatName;

    fn accepted() -> String {
        "x86-64, arm64-4k or riscv64: huge pages of 2 MiB".to_owned()
    }

    fn names() -> Vec<String> {
        let all = crate::kinds::Format::names();
        all.into_iter().filter(|name| Self::read(name).is_some()).collect()
    }

    fn read(text: &str) -> Option<FormatName> {
        let huge = |format: FormatName| 1 << (format.page_shift() + u32::from(format.pmd_order()));
        crate::kinds::Format::read(text).filter(|format| huge(*format) == SLOT)
    }

    fn text(value: &FormatName) -> String {
        value.name().to_owned()
    }
}

scenario! {
    /// Threads fragment memory, then fill slots of 2 MiB, for which the kernel compacts and
    /// reclaims, as mmtests' benchmark of that name.
    pub struct Thpscale, ThpscaleLists: "thpscale" {
        /// entry format; without a platform the thread's, arm64-4k
        format: FormatName, "format" as SlotFormat = FormatName::Arm64_4K;
        /// threads of the process
        threads: u32, "threads" as Number<1, 128> = 1, in Thpscale::THREADS;
        /// bytes of memory; about 1GiB, so that slots come out even
        memory: Option<u64>, "memory" as Fitting<Slots> = None;
        /// whether anonymous memory can be swapped out
        swap: Swap, "swap" as Swap = Swap::None;
    }
}

impl Checked for Thpscale {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        let mut all = lists.combinations();
        for one in &mut all {
            one.memory = Some(one.memory.unwrap_or_else(|| near(Self::MEMORY, one.threads)));
            one.check()?;
        }
        Ok(all)
    }
}

impl Thpscale {
    /// The rows of the thread's table.
    pub const THREADS: [u32; 9] = [1, 3, 5, 7, 12, 18, 24, 30, 32];
    /// About the memory with which one run takes a second of this program's time.
    const MEMORY: u64 = 1 << 30;

    /// The same with about so much memory.
    #[must_use]
    pub fn near(self, bytes: u64) -> Self {
        Self { memory: Some(near(bytes, self.threads)), ..self }
    }

    fn check(&self) -> Result<(), FieldError> {
        if self.slots() > 0 {
            return Ok(());
        }
        let (memory, threads) = (display_size(self.bytes()), self.threads);
        let problem = format!("{memory} has no slot of 2 MiB for each of {threads} threads");
        Err(FieldError::together(Self::NAME, problem))
    }

    /// Bytes of memory.
    ///
    /// # Panics
    /// If none were given and none chosen yet.
    pub fn bytes(&self) -> u64 {
        self.memory.expect("memory was given or chosen")
    }

    /// Bytes of all threads' shares.
    pub fn total(&self) -> u64 {
        self.bytes() / 10 * 8
    }

    /// Bytes of a thread's first area.
    pub fn share(&self) -> u64 {
        self.total() / u64::from(self.threads) / SLOT * SLOT
    }

    /// Slots of a thread's second area.
    pub fn slots(&self) -> u64 {
        self.total() / u64::from(self.threads) / SLOT / 2
    }

    /// Bytes of the file that a thread reads.
    pub fn file(&self) -> u64 {
        self.share() / 4
    }
}

/// The memory nearest to `bytes` of which 80 % give each thread whole slots in both areas: what the
/// program rounds off is next to nothing of a large memory, and would be much of a small one.
fn near(bytes: u64, threads: u32) -> u64 {
    let whole = u64::from(threads) * SLOT / 8 * 20;
    let grain = if whole.is_multiple_of(SLOT) { whole } else { 2 * whole };
    ((bytes + grain / 2) / grain).max(1) * grain
}
