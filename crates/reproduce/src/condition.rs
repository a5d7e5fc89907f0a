//! Necessary conditions: the time of flushes that a thread's effect needs, and the cost of a flush.
//!
//! Flushes can explain an effect only if they take at least as large a part of the time that the
//! program waits for. Both sides are bounded in the effect's favour: the program's time is the
//! least that its device allows, and it includes every flush.

use super::answer::{Answer, Quantity, TIMES, drawn, one};
use super::figure::{Figure, Theirs};
use super::material::Material;
use super::method::{Policy, Test};
use pageout_machine::platform::{Draw, InvalidationPrices, Platform, Prices};
use pageout_machine::{CoreId, Machine, Setup, Time};
use pageout_paging::mmu::{Asid, Barrier, Invalidate, Mmu};
use pageout_paging::pte::Arm64_4K;
use pageout_paging::table::HostTables;
use pageout_paging::{Format, Level, Pfn, VirtAddr};
use std::sync::atomic::AtomicU64;

const HOW: &str = "necessary condition: one flush a page read, all of it waited for, in the least \
    time that the device takes for a page";
const SLOTS_HOW: &str = "necessary condition: 256 flushes a slot, half of its 2 MiB, through an \
    interconnect that takes one after the other (dsb_serial)";
/// Flushes for each slot: one for each 4K page of the half of 2 MiB that has to be freed for it.
const PAGES_A_SLOT: f64 = 256.0;
const PAGE: u64 = 4096;
const US: &str = "us/page";

impl Test {
    /// Returns the least time from one page of the file to the next: no program is faster than its
    /// device.
    fn page(self, prices: &Prices) -> Time {
        let read = prices.bandwidth_read.time(PAGE);
        match self {
            Self::SeqRead => read,
            Self::SeqWrite => read + prices.bandwidth_write.time(PAGE),
            // A store into a page that is not in memory reads it first.
            Self::RandomRead | Self::RandomWrite => prices.fault + prices.read_latency + read,
        }
    }
}

/// Returns a number at nominal prices, and at the prices of each draw.
fn priced(
    name: &'static str,
    unit: &'static str,
    draws: u32,
    value: impl Fn(Draw) -> f64,
) -> Quantity {
    let drawn_values: Vec<_> = (0..u64::from(draws)).map(|k| value(Draw::Seeded(k))).collect();
    drawn(name, unit, value(Draw::Nominal), &drawn_values)
}

/// Returns the condition under which a test's effect follows from replacing `before`'s flushes by
/// `after`'s.
///
/// # Errors
/// If no platform answers to the figure's system.
pub(super) fn of_test(
    test: Test,
    [before, after]: [Policy; 2],
    figure: &Figure,
    material: &Material,
) -> Result<Answer, String> {
    let platform = material.platform(figure)?;
    let costs = |draw| {
        let flush = |policy| flush(&platform, draw, policy).ns();
        (flush(before) - flush(after)) / 1e3
    };
    let page = |draw| test.page(&platform.prices(draw)).ns() / 1e3;
    let number =
        |name, unit, value: &dyn Fn(Draw) -> f64| priced(name, unit, material.draws(), value);
    let mut quantities = Vec::new();
    if let Theirs::Ratio { least, .. } = figure.theirs {
        quantities.push(number("needed", US, &|draw| page(draw) * (1.0 - 1.0 / least)));
    }
    quantities.push(number("costs", US, &costs));
    quantities.push(number("ratio, at most", TIMES, &|draw| 1.0 + costs(draw) / page(draw)));
    Ok(Answer::bounded(HOW, quantities))
}

/// Returns the condition under which leaving out flushes saves as much as a row of `threads`
/// threads did. Each thread waits for the flushes of all, one after the other. So a slot's saving,
/// divided by the threads, is the time of the slot's own flushes.
///
/// # Errors
/// If no platform answers to the figure's system.
///
/// # Panics
/// If the figure is not a cost before and after, or its platform sends interrupts.
pub(super) fn of_slots(
    threads: u32,
    figure: &Figure,
    material: &Material,
) -> Result<Answer, String> {
    let platform = material.platform(figure)?;
    let Theirs::Costs { before, after, .. } = figure.theirs else {
        panic!("{} has a cost before and after", figure.id)
    };
    let saved = (before - after) / f64::from(threads);
    let costs =
        priced("costs", US, material.draws(), |draw| match platform.prices(draw).invalidation {
            InvalidationPrices::Broadcast(prices) => prices.dsb_serial.ns() / 1e3,
            InvalidationPrices::Ipi(_) => panic!("{} is of a machine with TLBI", figure.id),
        });
    let needed = one("needed", US, saved / PAGES_A_SLOT);
    let saved = one("saved", "us/thread", saved);
    Ok(Answer::bounded(SLOTS_HOW, vec![saved, needed, costs]))
}

/// Returns the time of the flush that follows a young bit, on a core that has nothing else
/// outstanding.
fn flush(platform: &Platform, draw: Draw, policy: Policy) -> Time {
    let memory: Vec<_> = (0..Arm64_4K::PTES).map(|_| AtomicU64::new(0)).collect();
    let setup = Setup::new(platform.shape().clone(), platform.prices(draw), 1);
    let tables = HostTables::<Arm64_4K>::new(&memory, Pfn::new(0));
    let machine = Machine::new(setup, tables);
    let task = machine.alone(CoreId(0));
    let (start, level) = (VirtAddr::new(0), Level::Pte);
    if policy != Policy::None {
        task.barrier(Barrier::Publish);
        task.invalidate(Invalidate::Range { asid: Asid(1), start, nr: 1, level });
    }
    if policy == Policy::Sync {
        task.barrier(Barrier::Complete);
    }
    task.now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platforms::CARMEL;

    #[test]
    fn a_flush_that_is_waited_for_costs_most_and_none_costs_nothing() {
        let platform = Platform::named(CARMEL).expect("a shipped platform");
        let of = |policy| flush(&platform, Draw::Nominal, policy);
        assert_eq!(of(Policy::None), Time::ZERO);
        let prices = platform.prices(Draw::Nominal);
        let InvalidationPrices::Broadcast(prices) = prices.invalidation else { panic!() };
        assert!(of(Policy::Nosync) >= prices.tlbi_issue);
        assert!(of(Policy::Sync) >= of(Policy::Nosync) + prices.dsb_base);
    }

    #[test]
    fn pages_at_random_take_longer_than_in_order() {
        let prices = Platform::named(CARMEL).expect("a shipped platform").prices(Draw::Nominal);
        assert!(Test::SeqRead.page(&prices) < Test::SeqWrite.page(&prices));
        assert!(Test::SeqWrite.page(&prices) < Test::RandomRead.page(&prices));
        assert!(Test::RandomRead.page(&prices) > prices.read_latency);
    }
}
