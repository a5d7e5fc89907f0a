//! The tables of an address space, read from memory.

use super::held::{Cached, page_of};
use super::rule::Rule;
use crate::mmu::Asid;
use crate::pte::{Format, Level, Pte};
use crate::{Pfn, VirtAddr};
use core::ops::{ControlFlow, Range};

/// The place of an entry in an address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The root of the address space.
    pub(super) root: Pfn,
    /// The first address that the entry maps.
    pub(super) addr: VirtAddr,
    /// The level of the entry.
    pub(super) level: Level,
}

/// Returns the entry of `level` for `addr`, decoded, or `None` if no table has it.
pub(super) fn entry<F: Format>(
    read: &dyn Fn(Pfn, usize) -> Pte,
    root: Pfn,
    addr: VirtAddr,
    level: Level,
) -> Option<Pte> {
    let (mut table, mut at) = (root, Level::Pgd);
    loop {
        let i = F::index(at, addr);
        let raw = read(table, i);
        if at == level {
            return Some(decode::<F>(raw, at, i));
        }
        if !F::is_table(raw) {
            return None;
        }
        (table, at) = (F::pfn(raw), at.below()?);
    }
}

/// Calls `f` with each entry of `deepest` or a level above that hardware uses, decoded, parents
/// before children, until it breaks.
pub(super) fn visit<F: Format>(
    read: &dyn Fn(Pfn, usize) -> Pte,
    root: Pfn,
    deepest: Level,
    f: &mut dyn FnMut(Place, Pte) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let first = Place { root, addr: VirtAddr::new(0), level: Level::Pgd };
    visit_table::<F>(read, root, (first, deepest), f)
}

/// Visits the entries of a table, of which the first is at `first`, and those below.
fn visit_table<F: Format>(
    read: &dyn Fn(Pfn, usize) -> Pte,
    table: Pfn,
    (first, deepest): (Place, Level),
    f: &mut dyn FnMut(Place, Pte) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for i in 0..F::PTES {
        let raw = read(table, i);
        if !F::is_valid(raw) {
            continue;
        }
        let addr = first.addr.add((i as u64) << F::shift(first.level));
        let place = Place { addr, ..first };
        f(place, decode::<F>(raw, first.level, i))?;
        let below = first.level.below().filter(|level| *level >= deepest && F::is_table(raw));
        if let Some(level) = below {
            visit_table::<F>(read, F::pfn(raw), (Place { level, ..place }, deepest), f)?;
        }
    }
    ControlFlow::Continue(())
}

/// Returns an entry as it counts: one of the last level, decoded.
pub(super) fn decode<F: Format>(raw: Pte, level: Level, i: usize) -> Pte {
    if level == Level::Pte { F::decode(raw, i) } else { raw }
}

/// Checks that no entry leads to one of these frames, which are about to be freed.
///
/// # Panics
/// If one does.
pub(super) fn check_unlinked<F: Format>(
    read: &dyn Fn(Pfn, usize) -> Pte,
    root: Pfn,
    frames: &Range<Pfn>,
) {
    let _ = visit::<F>(read, root, Level::Pte, &mut |place, pte| {
        let what = Cached::of::<F>(Asid::default(), page_of::<F>(place.addr), place.level, pte);
        if what.is_some_and(|what| what.leads_to(frames)) {
            Rule::FlushBeforeFree.broken(format_args!(
                "{frames:?} are freed while the {:?} entry for {:?} leads there",
                place.level, place.addr
            ));
        }
        ControlFlow::Continue(())
    });
}
