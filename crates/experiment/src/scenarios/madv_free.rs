//! The scenario `madv-free`.

use super::AgeFile;
use crate::declare::{Checked, Lists};
use crate::fields::{FieldError, OrderName, check_size, distinct};
use crate::formats::FormatName;
use crate::kinds::{Format, Order, Percent, Size};
use crate::scenario;

/// The maximum memory size, in bytes.
const MAX_BYTES: u64 = 64 << 30;

scenario! {
    /// Anonymous memory is given up with MADV_FREE, some of its folios are stored to again, and
    /// memory.reclaim asks for the others: nothing is written, each folio is unmapped and freed.
    pub struct MadvFree, MadvFreeLists: "madv-free" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// order of the folios
        order: OrderName, "order" as Order = OrderName::Number(4), in AgeFile::ORDERS;
        /// bytes of the memory
        bytes: u64, "size" as Size = 1 << 30;
        /// folios that are stored to again, chosen at random: reclaim finds them dirty
        stored_percent: u8, "stored" as Percent<0, 90> = 0;
    }
}

impl Checked for MadvFree {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        distinct(&lists.order, &lists.format)?;
        let all = lists.combinations();
        let check = |one: &Self| check_size(one.bytes, one.folio_bytes(), "folio", MAX_BYTES);
        all.iter().try_for_each(check)?;
        Ok(all)
    }
}

impl MadvFree {
    /// Returns the bytes of a folio.
    pub fn folio_bytes(&self) -> u64 {
        (1 << self.format.page_shift()) << self.order.in_format(self.format)
    }
}
