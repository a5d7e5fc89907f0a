//! The ideal walker: hardware without a TLB, which sets young on each access and dirty on each
//! store.

use pageout_paging::walk::{Descent, Span, descend, spans};
use pageout_paging::{Env, Format, Level, Pfn, Table, VirtAddr, VirtRange};

/// What an access met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    /// A translation: its young bit is set now, and on a store its dirty bit.
    Done,
    /// No valid translation, or a store to one that does not permit it.
    Fault,
}

/// One access to `addr` in the address space under `root`.
pub fn touch<E: Env>(env: &E, root: Pfn, addr: VirtAddr, store: bool) -> Touch {
    match descend(env, root, addr) {
        Descent::PteTable(frame, _) => touch_entry(env, frame, Level::Pte, addr, store),
        Descent::PmdLeaf(frame) => touch_entry(env, frame, Level::Pmd, addr, store),
        Descent::Absent(_) => Touch::Fault,
    }
}

fn touch_entry<E: Env>(env: &E, table: Pfn, level: Level, addr: VirtAddr, store: bool) -> Touch {
    let table = env.table(table);
    let i = E::Format::index(level, addr);
    let mut old = table.load(i);
    loop {
        let dirty = if store { E::Format::hardware_dirty(old) } else { Some(old) };
        let Some(seen) = dirty.filter(|_| E::Format::is_valid(old)) else {
            return Touch::Fault;
        };
        let new = E::Format::mkyoung(seen);
        if new == old {
            return Touch::Done;
        }
        match table.cas(i, old, new) {
            Ok(()) => return Touch::Done,
            Err(found) => old = found,
        }
    }
}

/// Plays hardware while nothing else runs: makes young those valid leaves of `range` for whose
/// number, counted from 0 in address order, `chosen` holds; returns how many there are.
pub fn make_young<E: Env>(
    env: &E,
    root: Pfn,
    range: VirtRange,
    mut chosen: impl FnMut(u64) -> bool,
) -> u64 {
    let mut young = 0;
    let mut leaf = 0;
    for span in spans(env, root, range) {
        let (frame, level, range) = match span {
            Span::Ptes { frame, range, .. } => (frame, Level::Pte, range),
            Span::PmdLeaf { frame, range } => (frame, Level::Pmd, range),
        };
        let table = env.table(frame);
        let first = E::Format::index(level, range.start);
        let covered = (range.end.get() - range.start.get()).div_ceil(1 << E::Format::shift(level));
        for i in first..first + covered as usize {
            let pte = table.load(i);
            if E::Format::is_valid(pte) {
                if chosen(leaf) {
                    young += 1;
                    table.set(i, E::Format::mkyoung(pte));
                }
                leaf += 1;
            }
        }
    }
    young
}
