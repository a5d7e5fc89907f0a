//! The flush policy of the young check, as data.

use crate::env::Env;
use crate::mmu::{Asid, Barrier, Invalidate, Mmu};
use crate::pte::Level;
use crate::{Format, Rules, VirtAddr};

/// The flush after a young bit was found and cleared.
///
/// No choice is unsound. A TLB may still hold an entry as young whose bit is clear. Accesses are
/// then hidden until it drops the entry, so a page may be reclaimed early and refaulted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum YoungFlush {
    /// Invalidate and wait.
    Sync,
    /// Invalidate, don't wait: the next barrier of this CPU completes it.
    Nosync,
    /// Don't invalidate.
    None,
}

impl YoungFlush {
    /// Every choice, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Sync, Self::Nosync, Self::None];
}

/// The choices for PTEs and for PMD leaves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FlushPolicy {
    /// The choice for last-level entries.
    pub pte: YoungFlush,
    /// The choice for PMD leaves.
    pub pmd: YoungFlush,
}

impl FlushPolicy {
    /// Kernels' default for architectures without a rule of their own [7.3.4].
    pub const GENERIC: Self = Self { pte: YoungFlush::Sync, pmd: YoungFlush::Sync };
    /// x86: no flush for PTEs; a range flush for PMD leaves [7.3.4].
    pub const X86: Self = Self { pte: YoungFlush::None, pmd: YoungFlush::Sync };
    /// arm64: TLBI without the trailing DSB for PTEs; with it for PMD leaves [7.3.4].
    pub const ARM64: Self = Self { pte: YoungFlush::Nosync, pmd: YoungFlush::Sync };
    /// riscv: as x86 [7.3.4].
    pub const RISCV: Self = Self::X86;

    /// Makes the same choice at both levels, to force the flush axis.
    pub const fn uniform(flush: YoungFlush) -> Self {
        Self { pte: flush, pmd: flush }
    }

    /// Returns the choice for leaves of `level`.
    pub const fn at(self, level: Level) -> YoungFlush {
        match level {
            Level::Pte => self.pte,
            _ => self.pmd,
        }
    }
}

/// Flushes `nr` entries of `level` from `start` on after their young bits were cleared. A range
/// past [`Caps::range_limit`](crate::mmu::Caps) becomes a flush of the whole address space with the
/// barrier, even under [`YoungFlush::Nosync`], as kernels do [7.3.4].
pub fn flush_young<E: Env>(
    env: &E,
    flush: YoungFlush,
    asid: Asid,
    start: VirtAddr,
    nr: usize,
    level: Level,
) {
    if flush == YoungFlush::None {
        return;
    }
    let whole = issue(env, asid, start, nr, level);
    if whole || flush == YoungFlush::Sync {
        env.mmu().barrier(Barrier::Complete);
    }
}

/// Flushes `nr` entries of `level` from `start` on from every TLB, or the whole address space if
/// they reach [`Caps::range_limit`](crate::mmu::Caps), and waits for it.
pub fn flush_range<E: Env>(env: &E, asid: Asid, start: VirtAddr, nr: usize, level: Level) {
    issue(env, asid, start, nr, level);
    env.mmu().barrier(Barrier::Complete);
}

/// Flushes the address space from every TLB, and waits for it.
pub fn flush_address_space<E: Env>(env: &E, asid: Asid) {
    env.mmu().barrier(Barrier::Publish);
    env.mmu().invalidate(Invalidate::AddressSpace(asid));
    env.mmu().barrier(Barrier::Complete);
}

/// Flushes `nr` entries of `level` from `start` on, which were taken out or permit less than
/// before, from every TLB and every secondary MMU.
pub fn forget<E: Env>(env: &E, asid: Asid, start: VirtAddr, nr: usize, level: Level) {
    flush_range(env, asid, start, nr, level);
    forget_secondary(env, asid, start, nr, level);
}

/// Does the secondary MMUs' part of [`forget`], if TLBs are flushed in another way.
pub fn forget_secondary<E: Env>(env: &E, asid: Asid, start: VirtAddr, nr: usize, level: Level) {
    if let Some(notifier) = env.notifier(asid) {
        let pages = nr * E::Format::nr_pages(level);
        notifier.invalidate(start..E::Rules::range_end::<E::Format>(start, pages));
    }
}

/// Publishes entries written before, and issues the invalidation of `nr` entries of `level` from
/// `start` on. Returns true if it is one of the whole address space. The range is in units of the
/// entries; the rules decide its end.
pub fn issue<E: Env>(env: &E, asid: Asid, start: VirtAddr, nr: usize, level: Level) -> bool {
    let mmu = env.mmu();
    let whole = nr >= mmu.caps().range_limit;
    let end = E::Rules::range_end::<E::Format>(start, nr * E::Format::nr_pages(level));
    let nr = ((end.get() - start.get()) >> E::Format::shift(level)) as usize;
    mmu.barrier(Barrier::Publish);
    mmu.invalidate(match whole {
        true => Invalidate::AddressSpace(asid),
        false => Invalidate::Range { asid, start, nr, level },
    });
    whole
}
