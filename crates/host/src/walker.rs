//! The ideal walker: hardware without a TLB, which sets young on each access and dirty on each
//! store. It also sets young in the entry that leads to the PTE table, if the architecture's
//! hardware does.

use pageout_paging::mmu::Mmu;
use pageout_paging::walk::{Descent, Span, descend, spans};
use pageout_paging::{Env, Format, Level, Pfn, Table, VirtAddr, VirtRange};

/// The result of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    /// A translation: its young bit is set now, and on a store its dirty bit.
    Done,
    /// No valid translation, or a store to one that does not permit it.
    Fault,
}

/// Accesses `addr` once in the address space under `root`.
pub fn touch<E: Env>(env: &E, root: Pfn, addr: VirtAddr, store: bool) -> Touch {
    match descend(env, root, addr) {
        Descent::PteTable(frame, pmds) => {
            touch_table(env, pmds, addr);
            touch_entry(env, frame, Level::Pte, addr, store)
        }
        Descent::PmdLeaf(frame) => touch_entry(env, frame, Level::Pmd, addr, store),
        Descent::Absent(_) => Touch::Fault,
    }
}

/// Uses the entry of the PMD table `pmds` that leads to the PTE table of `addr`.
fn touch_table<E: Env>(env: &E, pmds: Pfn, addr: VirtAddr) {
    if !env.mmu().caps().nonleaf_af {
        return;
    }
    let (table, i) = (env.table(pmds), E::Format::index(Level::Pmd, addr));
    let mut old = table.load(i);
    while E::Format::mkyoung_table(old) != old {
        match table.cas(i, old, E::Format::mkyoung_table(old)) {
            Ok(()) => return,
            Err(found) => old = found,
        }
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

/// Sets young bits as hardware would, while nothing else runs. Of the valid leaves of `range`,
/// those become young for whose addresses `chosen` is true, in ascending order, and the others old.
/// Returns the number of young ones.
pub fn make_young<E: Env>(
    env: &E,
    root: Pfn,
    range: VirtRange,
    mut chosen: impl FnMut(VirtAddr) -> bool,
) -> u64 {
    let mut young = 0;
    for span in spans(env, root, range) {
        let (frame, level, range) = match span {
            Span::Ptes { frame, range, .. } => (frame, Level::Pte, range),
            Span::PmdLeaf { frame, range } => (frame, Level::Pmd, range),
        };
        let table = env.table(frame);
        let first = E::Format::index(level, range.start);
        let shift = E::Format::shift(level);
        let covered = (range.end.get() - range.start.get()).div_ceil(1 << shift);
        let before = young;
        for k in 0..covered {
            let i = first + k as usize;
            let pte = table.load(i);
            if E::Format::is_valid(pte) {
                let chosen = chosen(range.start.add(k << shift));
                let made = if chosen { E::Format::mkyoung(pte) } else { E::Format::mkold(pte) };
                young += u64::from(chosen);
                table.set(i, made);
            }
        }
        if young > before
            && let Descent::PteTable(_, pmds) = descend(env, root, range.start)
        {
            touch_table(env, pmds, range.start);
        }
    }
    young
}

/// Makes all of `range` old, and the entries that lead to its tables too, while nothing else runs:
/// this is the state that walks leave in an unused address space.
pub fn make_old<E: Env>(env: &E, root: Pfn, range: VirtRange) {
    make_young(env, root, range.clone(), |_| false);
    for span in spans(env, root, range) {
        if let Span::Ptes { range, .. } = span
            && let Descent::PteTable(_, pmds) = descend(env, root, range.start)
        {
            let (table, i) = (env.table(pmds), E::Format::index(Level::Pmd, range.start));
            if E::Format::NONLEAF_YOUNG {
                table.set(i, E::Format::mkold(table.load(i)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Arena, tables_of};
    use pageout_experiment::formats::{Arch, FormatName, with_format};
    use pageout_paging::LockedTable;
    use pageout_paging::pte::Prot;
    use pageout_paging::walk::make_table;
    use pageout_reclaim::{Limits, MapAs};

    const AT: VirtAddr = VirtAddr::new(1 << 32);

    /// Returns true if the entry that leads to the PTE table is young after one access.
    fn table_is_young_after<F: Arch>(access: impl Fn(&crate::env::HostEnv<'_, F>, Pfn)) -> bool {
        let tables = tables_of::<F>(1, 1, MapAs::Ptes);
        let mut arena = Arena::new::<F>(&Limits::NOTHING, tables);
        let ground = arena.ground::<F>();
        let (env, root) = (&ground.env, ground.supply.alloc_table().unwrap());
        let frame = make_table(env, root, AT, Level::Pte, &mut { ground.supply }).unwrap();
        let pte = F::leaf(Level::Pte, Pfn::new(0), Prot::READ);
        LockedTable::lock(env, frame).table().set(F::index(Level::Pte, AT), pte);
        let Descent::PteTable(_, pmds) = descend(env, root, AT) else { panic!("a table") };
        let (table, i) = (env.table(pmds), F::index(Level::Pmd, AT));
        make_old(env, root, AT..AT.add(F::PAGE_SIZE));
        assert!(!F::NONLEAF_YOUNG || !F::is_young(table.load(i)));
        access(env, root);
        F::NONLEAF_YOUNG && F::is_young(table.load(i))
    }

    #[test]
    fn entries_that_lead_to_tables_become_young_on_x86_alone() {
        for format in FormatName::ALL {
            let by_hardware = format == FormatName::X86_64;
            with_format!(format, F => {
                assert_eq!(table_is_young_after::<F>(|env, root| {
                    assert_eq!(touch(env, root, AT, false), Touch::Done);
                }), by_hardware, "{format:?}");
                let page = || AT..AT.add(F::PAGE_SIZE);
                assert_eq!(table_is_young_after::<F>(|env, root| {
                    assert_eq!(make_young(env, root, page(), |_| true), 1);
                }), by_hardware, "{format:?}");
                assert!(!table_is_young_after::<F>(|env, root| {
                    assert_eq!(make_young(env, root, page(), |_| false), 0);
                }), "{format:?}");
            });
        }
    }
}
