//! The scenario `reclaim-shmem`.

use super::AgeFile;
use super::reclaim_file::too_many_tables;
use crate::declare::{Checked, Declared, Lists};
use crate::fields::{FieldError, OrderName, check_request, check_size, distinct};
use crate::formats::FormatName;
use crate::kinds::{Format, Number, Order, Percent, Size};
use crate::scenario;
use pageout_reclaim::MapAs;

/// The maximum memory size, in bytes.
const MAX_BYTES: u64 = 64 << 30;

scenario! {
    /// Shared memory that processes map and that was stored to; a part of it is reclaimed through
    /// memory.reclaim: each folio leaves every process, is written to swap, and its index keeps the
    /// slots.
    pub struct ReclaimShmem, ReclaimShmemLists: "reclaim-shmem" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// order of the folios
        order: OrderName, "order" as Order = OrderName::Number(4), in AgeFile::ORDERS;
        /// bytes of the memory
        bytes: u64, "size" as Size = 1 << 30;
        /// part of it that is to be reclaimed
        reclaim_percent: u8, "reclaim" as Percent<1, 100> = 80;
        /// processes that map it
        processes: u32, "processes" as Number<1, 1024> = 4;
        /// folios that were stored to, chosen at random; the others are zeros, which are dropped
        stored_percent: u8, "stored" as Percent<0, 100> = 100;
        /// leaf entries that are young at the start, chosen at random; a folio found young is kept
        /// once, and reclaimed when it is met again
        young_percent: u8, "young" as Percent<0, 100> = 100;
    }
}

impl ReclaimShmemLists {
    /// Returns the defaults on a modelled machine. The memory is a sixteenth of that on the host,
    /// which runs sooner and takes the same time per page.
    pub fn modelled() -> Self {
        Self { bytes: vec![64 << 20], ..Self::default() }
    }
}

impl Checked for ReclaimShmem {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        distinct(&lists.order, &lists.format)?;
        let all = lists.combinations();
        all.iter().try_for_each(Self::check)?;
        Ok(all)
    }
}

impl ReclaimShmem {
    fn check(&self) -> Result<(), FieldError> {
        check_size(self.bytes, self.folio_bytes(), "folio", MAX_BYTES)?;
        check_request(self.bytes, self.reclaim_percent, 1 << self.format.page_shift())?;
        let problem = too_many_tables(self.format, MapAs::Ptes, self.bytes, self.processes);
        problem.map_or(Ok(()), |problem| Err(FieldError::together(Self::NAME, problem)))
    }

    /// Returns the bytes of a folio.
    pub fn folio_bytes(&self) -> u64 {
        (1 << self.format.page_shift()) << self.order.in_format(self.format)
    }

    /// Returns the bytes that are asked of `memory.reclaim`.
    pub fn reclaim_bytes(&self) -> u64 {
        (u128::from(self.bytes) * u128::from(self.reclaim_percent) / 100) as u64
    }
}
