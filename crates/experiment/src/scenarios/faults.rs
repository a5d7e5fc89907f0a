//! The scenario `faults`.

use crate::declare::{Checked, Declared, Lists};
use crate::fields::{FieldError, check_size};
use crate::formats::FormatName;
use crate::kinds::{Choice, Format, Number, Size};
use crate::scenario;

/// The maximum memory size of a task, in bytes.
const MAX_BYTES: u64 = 1 << 26;

/// The address spaces of the tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// A single one for all tasks, which are threads.
    Shared,
    /// A separate one for each task, which is a process.
    Own,
}

impl Choice for Space {
    const NAMES: &'static [(&'static str, Self)] = &[("shared", Self::Shared), ("own", Self::Own)];
}

/// The memory that faults bring in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultedIn {
    /// Anonymous pages, by stores.
    Anon,
    /// Pages of a file that are in the page cache, by loads.
    File,
}

impl Choice for FaultedIn {
    const NAMES: &'static [(&'static str, Self)] = &[("anon", Self::Anon), ("file", Self::File)];
}

/// The reclaim beside the faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beside {
    /// There is none.
    No,
    /// A task on a core of its own writes to `memory.reclaim` as long as others fault.
    Yes,
}

impl Choice for Beside {
    const NAMES: &'static [(&'static str, Self)] = &[("no", Self::No), ("yes", Self::Yes)];
}

scenario! {
    /// Tasks on cores of their own fault pages in, all at once.
    pub struct Faults, FaultsLists: "faults" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// tasks that fault, each on a core of its own and with a mapping of its own
        tasks: u32, "tasks" as Number<1, 255> = 1, in [1, 2, 4, 8, 16, 32, 64];
        /// address spaces: shared by all tasks, which are threads, or one for each process
        space: Space, "space" as Space = Space::Shared;
        /// memory: anonymous pages by stores, or pages of one file by loads, all of them cached
        memory: FaultedIn, "memory" as FaultedIn = FaultedIn::Anon;
        /// bytes that each task faults in, page by page
        bytes: u64, "size" as Size = 1 << 20;
        /// reclaim by one more task, of clean pages that the others map, from their cgroup
        reclaim: Beside, "reclaim" as Beside = Beside::No;
    }
}

impl Checked for Faults {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        let all = lists.combinations();
        let check =
            |one: &Self| check_size(one.bytes, 1 << one.format.page_shift(), "page", MAX_BYTES);
        all.iter().try_for_each(check)?;
        Ok(all)
    }
}

impl Faults {
    /// Returns the number of cores that the tasks need.
    pub const fn cores(&self) -> u16 {
        self.tasks as u16 + matches!(self.reclaim, Beside::Yes) as u16
    }

    /// Checks that a machine of `cores` cores has one for each task.
    ///
    /// # Errors
    /// [`FieldError::Together`] with the number of cores needed.
    pub fn check_cores(&self, cores: u16) -> Result<(), FieldError> {
        let needed = self.cores();
        if needed <= cores {
            return Ok(());
        }
        let problem = format!("its tasks need {needed} cores, and the machine has {cores}");
        Err(FieldError::together(Self::NAME, problem))
    }
}
