//! The instructions of Linux 7.3.4 for a reclaimed 4K page, as the lab counted them, and the sum of
//! the fitted efforts. Their ratio scales the efforts, so that the whole is as counted.
//!
//! The rows are those of the lab with all entries young, the process asleep, and 80 % of 1 GiB
//! reclaimed (`crates/lab/files/records/linux-7.3.json`: kernels no-batch, no-young or no-mglru,
//! no-unmap and stock). Atomics are those of the same kernels with the process on a second CPU,
//! where it waits in user mode: the records have no others. A boot with one CPU counts 4 % more on
//! x86-64, stock, order 4. `tests.rs` checks all columns against the lab's records and the engine's
//! runs.

use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::FormatName::{self, Arm64_4K, X86_64};
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_experiment::variant::Lru::{self, Classic, Mglru};
use pageout_experiment::variant::Variant;
use pageout_machine::Time;
use pageout_machine::platform::Prices;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{MapAs, UnmapGranularity};

/// The counts of one order on the same lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) of: (FormatName, Lru, u8),
    /// Instructions of Linux for a 4K page: with nothing batched, with unmapping batched, with
    /// young bits batched, and with both.
    pub(super) linux: [f64; 4],
    /// Instructions of the fitted efforts, in the same order.
    pub(super) fitted: [f64; 4],
    /// Linux's atomic read-modify-writes, in the same order, where the lab counted them.
    pub(super) atomics: Option<[f64; 4]>,
}

const fn row(of: (FormatName, Lru, u8), linux: [f64; 4], fitted: [f64; 4]) -> Row {
    Row { of, linux, fitted, atomics: None }
}

impl Row {
    const fn atomics(self, atomics: [f64; 4]) -> Self {
        Self { atomics: Some(atomics), ..self }
    }

    /// Returns the share of instructions that are atomic, if the atomics were counted.
    fn density(&self, place: usize) -> Option<f64> {
        self.atomics.map(|atomics| atomics[place] / self.linux[place])
    }
}

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row((Arm64_4K, Classic, 0), [5010.7, 5007.1, 4920.6, 4920.6], [4276.5, 4276.5, 4276.5, 4276.5])
        .atomics([51.23, 51.23, 51.23, 51.22]),
    row((Arm64_4K, Classic, 4), [2952.0, 2279.4, 1458.8, 787.7], [2655.0, 2187.0, 1061.2, 593.2])
        .atomics([52.75, 44.23, 19.0, 10.48]),
    row((Arm64_4K, Classic, 5), [2807.3, 2100.5, 1276.9, 571.6], [2544.3, 2062.6, 925.0, 443.3]),
    row((Arm64_4K, Classic, 8), [2477.7, 1740.4, 915.1, 179.1], [2295.9, 1802.2, 667.5, 173.8]),
    row((Arm64_4K, Classic, 9), [2459.0, 1737.8, 896.7, 176.8], [2289.0, 1794.5, 659.0, 164.5]),
    row((Arm64_4K, Mglru, 0), [4023.0, 4021.0, 3999.3, 3999.3], [3235.0, 3235.0, 3235.0, 3235.0])
        .atomics([34.68, 34.68, 34.68, 34.68]),
    row((Arm64_4K, Mglru, 4), [2136.8, 1462.6, 1215.0, 543.9], [2061.2, 1593.2, 991.1, 523.1])
        .atomics([30.79, 22.27, 15.79, 7.27]),
    row((Arm64_4K, Mglru, 5), [2028.0, 1319.7, 1082.8, 377.5], [1998.1, 1516.4, 894.6, 412.9]),
    row((Arm64_4K, Mglru, 8), [1866.7, 1127.7, 898.8, 162.8], [1843.3, 1349.6, 675.2, 181.5]),
    row((Arm64_4K, Mglru, 9), [1858.4, 1135.5, 889.0, 169.1], [1908.4, 1413.9, 678.9, 184.4]),
    row((X86_64, Classic, 0), [4367.6, 4362.2, 4282.2, 4281.2], [4456.4, 4456.4, 4456.4, 4456.4])
        .atomics([37.91, 37.91, 37.91, 37.91]),
    row((X86_64, Classic, 4), [1343.7, 820.7, 1093.4, 574.9], [1102.4, 715.2, 935.9, 548.7])
        .atomics([11.99, 7.28, 11.99, 7.28]),
    row((X86_64, Classic, 9), [957.7, 416.3, 693.5, 156.6], [742.3, 330.1, 566.4, 154.2]),
    row((X86_64, Mglru, 0), [3538.6, 3542.4, 3552.0, 3551.1], [3530.2, 3530.2, 3530.2, 3530.2])
        .atomics([23.35, 23.35, 23.35, 23.35]),
    row((X86_64, Mglru, 4), [1243.1, 722.9, 981.7, 463.2], [1158.6, 771.5, 878.2, 491.0])
        .atomics([10.06, 5.36, 10.06, 5.36]),
    row((X86_64, Mglru, 9), [994.8, 455.8, 700.6, 163.6], [1062.2, 650.0, 568.4, 156.2]),
];

/// Returns the index of a variant in a row. An algorithm of young checks that no kernel has counts
/// as batched.
pub(super) fn place(variant: Variant) -> usize {
    2 * usize::from(variant.young != YoungAlgorithm::PerEntry)
        + usize::from(variant.unmap != UnmapGranularity::PerEntry)
}

fn find(of: (FormatName, Lru, u8)) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.of == of)
}

/// Returns the lab's row of the order, if there is one.
fn row_of(scenario: &ReclaimFile, lru: Lru) -> Option<&'static Row> {
    let Orders::All(OrderName::Number(order)) = scenario.orders else { return None };
    find((scenario.format, lru, order)).filter(|_| scenario.map == MapAs::Ptes)
}

/// Returns Linux's instructions over the efforts' in the lab's row of the order and the variant, if
/// there is one.
pub(super) fn factor(scenario: &ReclaimFile, variant: Variant) -> Option<f64> {
    let (row, place) = (row_of(scenario, variant.lru)?, place(variant));
    Some(row.linux[place] / row.fitted[place])
}

/// Returns the mean price of an instruction under `prices`, atomics included.
///
/// The platform's price of an instruction is that of stock Linux on classic lists at order 0. The
/// share that atomics take of it at `nominal` prices is taken out, and the atomics of the row are
/// put in. Without a row whose atomics were counted, the platform's price is returned.
pub(crate) fn instruction(
    scenario: &ReclaimFile,
    variant: Variant,
    nominal: &Prices,
    prices: &Prices,
) -> Time {
    let stock = place(Variant::of(YoungAlgorithm::Batched));
    let reference = find((scenario.format, Classic, 0)).and_then(|row| row.density(stock));
    let density = row_of(scenario, variant.lru).and_then(|row| row.density(place(variant)));
    let (Some(reference), Some(density)) = (reference, density) else { return prices.instruction };
    let share = reference * nominal.rmw.ns() / nominal.instruction.ns();
    let plain = prices.instruction.ns() * (1.0 - share).max(0.0) / (1.0 - reference);
    let mixed = plain * (1.0 - density) + prices.rmw.ns() * density;
    Time::from_ps((1e3 * mixed).round() as u64)
}
