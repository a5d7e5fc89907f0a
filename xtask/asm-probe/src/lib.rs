//! A function for each young-bit helper and entry format, over tables in ordinary memory. `cargo
//! xtask asm` finds the functions by their names and reads their machine code.

#![no_std]
#![forbid(unsafe_code)]

mod ground;

use ground::Ground;
use pageout_paging::batch::batch_and_clear_young;
use pageout_paging::pte::{Arm64_4K, X86_64};
use pageout_paging::table::HostTable;
use pageout_paging::young::{batched, line, per_entry};
use pageout_paging::{Format, Pte, Run};

/// Defines the probes of one entry format.
macro_rules! probes {
    ($format:ty, $per_entry:ident, $batched:ident, $line:ident, $fused:ident) => {
        /// Checks young bits with one call for each entry.
        #[inline(never)]
        pub fn $per_entry(table: HostTable<'_, $format>, run: Run) -> bool {
            per_entry::test_and_clear_young::<Ground<'_, $format>>(table, run)
        }

        /// Checks young bits with one call for a run of entries, as merged in Linux.
        #[inline(never)]
        pub fn $batched(table: HostTable<'_, $format>, run: Run) -> bool {
            batched::test_and_clear_young::<Ground<'_, $format>>(table, run)
        }

        /// Checks eight entries at a time and prefetches the next table.
        #[inline(never)]
        pub fn $line(
            table: HostTable<'_, $format>,
            ahead: Option<HostTable<'_, $format>>,
            run: Run,
        ) -> bool {
            line::test_and_clear_young(table, ahead, run, <$format as Format>::YOUNG)
        }

        /// Checks eight entries at a time and finds the batch in the same pass.
        #[inline(never)]
        pub fn $fused(table: HostTable<'_, $format>, run: Run, pte: Pte) -> (usize, bool) {
            // Only pages that hardware reaches: another helper handles the others.
            let valid = Pte(pte.0 | <$format as Format>::VALID);
            let found = batch_and_clear_young::<$format, _>(table, None, run, valid);
            (found.nr, found.young)
        }
    };
}

probes!(
    X86_64,
    probe_per_entry_x86_64,
    probe_batched_x86_64,
    probe_line_x86_64,
    probe_fused_x86_64
);
probes!(Arm64_4K, probe_per_entry_arm64, probe_batched_arm64, probe_line_arm64, probe_fused_arm64);
