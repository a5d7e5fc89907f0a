//! The scenario `age-file`.

use super::reclaim_file::too_many_tables;
use crate::declare::{Checked, Declared, Lists};
use crate::fields::{FieldError, OrderName, check_size, distinct};
use crate::formats::FormatName;
use crate::kinds::{Format, Number, Order, Percent, Size};
use crate::scenario;
use pageout_reclaim::MapAs;

/// The largest file, in bytes.
const MAX_BYTES: u64 = 1 << 40;

scenario! {
    /// A clean file mapped by processes; one aging pass over all of its folios.
    pub struct AgeFile, AgeFileLists: "age-file" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// folio order
        order: OrderName, "order" as Order = OrderName::Number(4), in AgeFile::ORDERS;
        /// bytes of the file
        bytes: u64, "size" as Size = 10 << 30;
        /// processes that map it
        processes: u32, "processes" as Number<1, 1024> = 1;
        /// leaf entries that are young when the pass begins, chosen at random
        young_percent: u8, "young" as Percent<0, 100> = 100;
        /// entries that map a folio
        map: MapAs, "map" as MapAs = MapAs::Ptes;
    }
}

impl Checked for AgeFile {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        distinct(&lists.order, &lists.format)?;
        let all = lists.combinations();
        all.iter().try_for_each(Self::check)?;
        Ok(all)
    }
}

impl AgeFile {
    /// The orders of the main table.
    pub const ORDERS: [OrderName; 3] = [OrderName::Number(0), OrderName::Number(4), OrderName::Pmd];

    fn check(&self) -> Result<(), FieldError> {
        let folio = (1u64 << self.format.page_shift()) << self.order.in_format(self.format);
        check_size(self.bytes, folio, "folio", MAX_BYTES)?;
        let pmd = self.order.in_format(self.format) == self.format.pmd_order();
        let problem = if self.map == MapAs::PmdLeaf && !pmd {
            Some(format!("map=pmd-leaf needs order=pmd, not order={}", self.order))
        } else {
            too_many_tables(self.format, self.map, self.bytes, self.processes)
        };
        problem.map_or(Ok(()), |problem| Err(FieldError::together(Self::NAME, problem)))
    }
}
