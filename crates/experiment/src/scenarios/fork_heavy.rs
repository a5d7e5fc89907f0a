//! `fork-heavy`.

use crate::declare::{Checked, Lists};
use crate::fields::{FieldError, check_size};
use crate::formats::FormatName;
use crate::kinds::{Choice, Format, Number, Size};
use crate::scenario;

/// The most memory of a shell.
const MAX_BYTES: u64 = 64 << 20;

/// Whether the shells' cgroup is reclaimed from meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reclaim {
    /// By a task of its own, all the time.
    Running,
    /// No: nothing is ever put off.
    Never,
}

impl Choice for Reclaim {
    const NAMES: &'static [(&'static str, Self)] =
        &[("running", Self::Running), ("never", Self::Never)];
}

scenario! {
    /// A shell on every core but the last forks; its child writes, protects, unmaps and exits,
    /// while their cgroup is reclaimed from on the last core.
    pub struct ForkHeavy, ForkHeavyLists: "fork-heavy" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// bytes of a shell's anonymous memory
        bytes: u64, "size" as Size = 512 << 10;
        /// times that each forks, after one that is not counted
        loops: u32, "loops" as Number<1, 100_000> = 10;
        /// whether they are reclaimed from
        reclaim: Reclaim, "reclaim" as Reclaim = Reclaim::Running;
    }
}

impl Checked for ForkHeavy {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        let all = lists.combinations();
        // Its eighths are whole pages.
        let check = |one: &Self| {
            check_size(one.bytes, 8 << one.format.page_shift(), "eight-page", MAX_BYTES)
        };
        all.iter().try_for_each(check)?;
        Ok(all)
    }
}
