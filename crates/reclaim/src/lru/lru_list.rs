//! The classic LRU lists, and the list that each folio belongs on.

use crate::folio::{Folio, FolioFlags, LruFlags, MAX_NR_ZONES};

/// The number of pages reclaimed and scanned at a time (`SWAP_CLUSTER_MAX`).
pub(crate) const SWAP_CLUSTER_MAX: u64 = 32;

/// The index of anonymous memory in arrays by type.
pub(crate) const ANON: usize = 0;
/// The index of files' pages in arrays by type.
pub(crate) const FILE: usize = 1;

/// The classic lists, in the kernel's order (`enum lru_list`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LruList {
    /// Inactive anonymous folios.
    InactiveAnon,
    /// Active anonymous folios.
    ActiveAnon,
    /// Inactive folios of files.
    InactiveFile,
    /// Active folios of files.
    ActiveFile,
    /// Folios that cannot be reclaimed, since they are mlocked.
    Unevictable,
}

impl LruList {
    /// Every list.
    pub const ALL: [Self; 5] = [
        Self::InactiveAnon,
        Self::ActiveAnon,
        Self::InactiveFile,
        Self::ActiveFile,
        Self::Unevictable,
    ];
    /// The lists that reclaim takes from, in its order.
    pub const EVICTABLE: [Self; 4] =
        [Self::InactiveAnon, Self::ActiveAnon, Self::InactiveFile, Self::ActiveFile];

    /// Returns true for lists of folios that swap does not back: folios of files, and lazyfree
    /// ones.
    pub const fn is_file(self) -> bool {
        matches!(self, Self::InactiveFile | Self::ActiveFile)
    }

    /// Returns true for active lists.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::ActiveAnon | Self::ActiveFile)
    }

    /// Returns the list that a folio belongs on by its current flags.
    #[inline]
    pub fn of(folio: &Folio) -> Self {
        let lru = folio.lru();
        if lru.contains(LruFlags::UNEVICTABLE) {
            return Self::Unevictable;
        }
        Self::of_kind(kind_of(folio), lru.contains(LruFlags::ACTIVE))
    }

    /// Returns the list of a type.
    pub(super) const fn of_kind(kind: usize, active: bool) -> Self {
        match (kind, active) {
            (ANON, false) => Self::InactiveAnon,
            (ANON, true) => Self::ActiveAnon,
            (_, false) => Self::InactiveFile,
            (_, true) => Self::ActiveFile,
        }
    }
}

/// Returns the folio's type: anonymous if swap backs it, file otherwise.
#[inline]
pub(crate) fn kind_of(folio: &Folio) -> usize {
    if folio.flags().contains(FolioFlags::SWAPBACKED) { ANON } else { FILE }
}

/// The number of pages in each zone. A decrease is negative.
pub(super) type Zones = [i64; MAX_NR_ZONES];
