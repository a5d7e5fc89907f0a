//! Software priced in instructions: the cost of each operation of the engine in a kernel.
//!
//! The efforts are a closed table. The engine does not name its efforts: they are inferred from the
//! stages it enters, the entries it reads and changes there, the invalidations it issues, and the
//! frames it frees. No effort depends on the variant.

mod costs;
mod counted;
#[cfg(test)]
mod tests;

pub use costs::{COSTS, Cost};
pub(crate) use counted::instruction;

use crate::architecture_of;
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::ReclaimFile;
use pageout_experiment::variant::Variant;
use pageout_machine::platform::Architecture;
use pageout_paging::{Order, Stage};
use std::cell::Cell;

/// An instruction, in the fixed-point unit of [`Software`].
const ONE: u64 = 1 << 20;

/// Declares efforts with their names.
macro_rules! efforts {
    ($($(#[$doc:meta])* $effort:ident = $name:literal,)*) => {
        /// An effort: a piece of kernel code, priced in instructions each time it runs.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum KernelOp {
            $($(#[$doc])* $effort,)*
        }

        impl KernelOp {
            /// Every effort.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$effort),*];

            /// Returns the effort's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$effort => $name,)*
                }
            }
        }
    };
}

efforts! {
    /// Taking a folio off its list and asking its reverse map, without its entries.
    Ask = "folio asked",
    /// Putting back a folio that stays.
    Keep = "folio kept",
    /// Stepping to a run of entries and asking whether it is young.
    Check = "run asked",
    /// Reading an entry of a contiguous block in a reverse-map walk, with the gather of its block.
    AskBlock = "block entry read, rmap walk",
    /// Reading an entry within the check of a run, or to find its end.
    RunRead = "entry read, young check",
    /// Clearing the young bit of an entry, old or not.
    Clear = "young bit cleared",
    /// Reading an entry in an aging walk or a look-around.
    AgeRead = "entry read, aging",
    /// Reading an entry of a contiguous block in aging, with the gather of its block.
    AgeBlock = "block entry read, aging",
    /// Checking a run that an aging walk found, and promoting its folio.
    AgeRun = "run aged",
    /// Reading a line of eight entries, as our own check does.
    Line = "line read",
    /// Asking a folio's reverse map for entries to unmap.
    Unmap = "folio unmapped",
    /// Unmapping a run of entries: rmap, counters, and noting the owed flush.
    Take = "run taken out",
    /// Removing or rewriting an entry.
    TakeEntry = "entry taken out",
    /// The part of unmapping that each page of a folio adds.
    UnmapPage = "page unmapped",
    /// Taking a folio out of the page cache or the swap cache.
    Remove = "folio removed",
    /// Emptying a slot of the tree of such a cache.
    Slot = "slot emptied",
    /// Freeing a folio, or a page table.
    Free = "folio freed",
    /// The part of freeing that each page of a folio adds.
    FreePage = "page freed",
    /// Issuing an invalidation after a young bit was cleared.
    Invalidate = "invalidation issued",
    /// Reading or changing an entry elsewhere.
    Entry = "entry touched",
    /// Handling a page fault.
    Fault = "fault",
    /// Allocating a folio or a page table.
    Alloc = "folio allocated",
    /// The part of allocating that each page adds.
    AllocPage = "page allocated",
    /// Asking the storage device, and its interrupt.
    Submit = "request submitted",
    /// A call of a secondary MMU's notifier, without its entries.
    Notify = "notifier called",
    /// Looking at an entry of a secondary MMU.
    NotifyEntry = "secondary entry read",
    /// A fault of a guest: its exit, its entry, and mapping the page.
    GuestExit = "guest exit",
}

/// Instructions by effort, on one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Software {
    costs: [u32; KernelOp::ALL.len()],
    /// The factor of all costs, in units of 2^-20: a real kernel's count of the whole over that of
    /// the efforts.
    factor: u64,
}

impl Software {
    /// Returns the costs of kernels of a format's architecture.
    pub fn of<F: Arch>() -> Self {
        let costs = COSTS.map(|cost| match architecture_of::<F>() {
            Architecture::Arm64 => cost.arm64,
            Architecture::X86 | Architecture::Riscv => cost.x86,
        });
        Self { costs, factor: ONE }
    }

    /// Returns the costs scaled so that all efforts of a request add up to the count of Linux 7.3,
    /// if the lab has a row of the scenario and the variant; otherwise the costs as fitted.
    #[must_use]
    pub fn counted(self, scenario: &ReclaimFile, variant: Variant) -> Self {
        let factor = counted::factor(scenario, variant).map(|factor| (factor * ONE as f64) as u64);
        Self { factor: factor.unwrap_or(self.factor), ..self }
    }

    /// Returns the cost of one effort in 2^-20 instructions.
    const fn parts(&self, effort: KernelOp) -> u64 {
        self.costs[effort as usize] as u64 * self.factor
    }
}

/// Counts of each effort.
#[derive(Debug, Default)]
pub struct Done {
    times: [Cell<u64>; KernelOp::ALL.len()],
    /// Instructions, in units of 2^-20.
    parts: Cell<u64>,
}

impl Done {
    /// Returns the number of times that this effort was made.
    pub fn times(&self, effort: KernelOp) -> u64 {
        self.times[effort as usize].get()
    }

    /// Returns the number of instructions in all.
    pub fn instructions(&self) -> u64 {
        self.parts.get() / ONE
    }
}

/// An operation on a page table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reading an entry; true if it belongs to a contiguous block.
    Read(bool),
    /// Reading a line of entries.
    Line,
    /// An atomic change, or a store.
    Change,
}

/// Infers efforts from the operations of one task.
#[derive(Debug)]
pub struct Meter<'k> {
    software: &'k Software,
    done: &'k Done,
    stage: Cell<Stage>,
    /// True while a run is checked, until the engine reports its end.
    in_run: Cell<bool>,
    /// True if the entries read in stage `Young` are candidates, of an aging walk or a look-around.
    searching: Cell<bool>,
    /// True if a folio was asked and has not been unmapped since.
    asked: Cell<bool>,
}

/// Methods return the instructions of what they count, for the task to spend.
impl<'k> Meter<'k> {
    /// Makes a meter that has counted no effort.
    pub fn new(software: &'k Software, done: &'k Done) -> Self {
        let (in_run, searching, asked) = Default::default();
        Self { software, done, stage: Cell::new(Stage::Other), in_run, searching, asked }
    }

    /// Returns the stage that the engine is in.
    pub fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Counts an effort `times` times.
    #[inline]
    pub fn does(&self, effort: KernelOp, times: u64) -> u64 {
        let before = self.done.instructions();
        let count = &self.done.times[effort as usize];
        count.set(count.get() + times);
        self.done.parts.set(self.done.parts.get() + self.software.parts(effort) * times);
        self.done.instructions() - before
    }

    /// Notes that the engine leaves its stage for `next`. The folio asked last stays if it is not
    /// unmapped by then.
    pub fn leave(&self, next: Stage) -> u64 {
        let checked = matches!((self.stage.get(), next), (_, Stage::Young) | (Stage::Young, _));
        let kept = !checked && next != Stage::Unmap && self.asked.take();
        if kept { self.does(KernelOp::Keep, 1) } else { 0 }
    }

    /// Notes that the engine enters a stage.
    pub fn enter(&self, stage: Stage) -> u64 {
        let before = self.stage.replace(stage);
        self.searching.set(before == Stage::Aging);
        match (before, stage) {
            // The engine comes back from the check of a run.
            (Stage::Young, Stage::RmapWalk) => 0,
            (Stage::RmapWalk, Stage::Young) => self.does(KernelOp::Check, 1),
            (_, Stage::RmapWalk) => {
                self.asked.set(true);
                self.does(KernelOp::Ask, 1)
            }
            (_, Stage::Unmap) => {
                self.asked.set(false);
                self.does(KernelOp::Unmap, 1)
            }
            (_, Stage::CacheRemoval) => self.does(KernelOp::Remove, 1),
            _ => 0,
        }
    }

    /// Notes that an aging walk begins to check a run.
    pub fn begin_run(&self) -> u64 {
        self.in_run.set(true);
        // Later reads are those of a look-around, after the run it was called for.
        self.searching.set(true);
        self.does(KernelOp::AgeRun, 1)
    }

    /// Notes that the check of the run has ended.
    pub fn end_run(&self) {
        self.in_run.set(false);
    }

    /// Counts an operation on a page table.
    #[inline]
    pub fn accesses(&self, access: Access) -> u64 {
        let searching = self.searching.get() && !self.in_run.get();
        let effort = match (self.stage.get(), access) {
            (_, Access::Line) => KernelOp::Line,
            (Stage::Young, Access::Change) => KernelOp::Clear,
            (Stage::Young, Access::Read(true)) if searching => KernelOp::AgeBlock,
            (Stage::Young, Access::Read(false)) if searching => KernelOp::AgeRead,
            (Stage::Young, Access::Read(_)) => KernelOp::RunRead,
            (Stage::Unmap, Access::Change) => KernelOp::TakeEntry,
            (Stage::RmapWalk, Access::Read(true)) => KernelOp::AskBlock,
            // It is part of asking, of unmapping or of walking upper levels.
            (Stage::RmapWalk | Stage::Unmap | Stage::Aging, _) => return 0,
            _ => KernelOp::Entry,
        };
        self.does(effort, 1)
    }

    /// Counts an invalidation that is issued or put off: one for each run of entries that is
    /// unmapped.
    pub fn invalidates(&self) -> u64 {
        match self.stage.get() {
            Stage::Unmap => self.does(KernelOp::Take, 1),
            _ => self.does(KernelOp::Invalidate, 1),
        }
    }

    /// Returns the number of slots that a reclaimed folio of this order had in the tree of its
    /// cache. If it ends in the middle of a node it has several, otherwise one of a node further up
    /// (Linux 6.12, xas_store; a node has 64).
    pub fn slots_of(&self, order: Order) -> Option<u64> {
        let reclaimed = matches!(self.stage.get(), Stage::Free | Stage::Flush);
        reclaimed.then(|| 1 << (order.get() % 6))
    }
}
