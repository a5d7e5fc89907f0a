//! The classic LRU lists by name, and which one a folio belongs on.

use crate::folio::{Folio, FolioFlags, LruFlags};
use crate::mglru::MAX_NR_ZONES;
use crate::scan::{ANON, FILE};

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
    /// Folios that cannot be reclaimed: mlocked.
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
    /// Those that reclaim takes from, in the order it does.
    pub const EVICTABLE: [Self; 4] =
        [Self::InactiveAnon, Self::ActiveAnon, Self::InactiveFile, Self::ActiveFile];

    /// Whether swap has no part in it: folios of files, and anonymous ones given up lazily.
    pub const fn is_file(self) -> bool {
        matches!(self, Self::InactiveFile | Self::ActiveFile)
    }

    /// Whether it is an active list.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::ActiveAnon | Self::ActiveFile)
    }

    /// The list a folio belongs on, as it stands now.
    #[inline]
    pub fn of(folio: &Folio) -> Self {
        let lru = folio.lru();
        if lru.contains(LruFlags::UNEVICTABLE) {
            return Self::Unevictable;
        }
        Self::of_kind(kind_of(folio), lru.contains(LruFlags::ACTIVE))
    }

    /// The list of a type.
    pub(crate) const fn of_kind(kind: usize, active: bool) -> Self {
        match (kind, active) {
            (ANON, false) => Self::InactiveAnon,
            (ANON, true) => Self::ActiveAnon,
            (_, false) => Self::InactiveFile,
            (_, true) => Self::ActiveFile,
        }
    }
}

/// Its type: whether swap backs it.
#[inline]
pub(crate) fn kind_of(folio: &Folio) -> usize {
    if folio.flags().contains(FolioFlags::SWAPBACKED) { ANON } else { FILE }
}

/// Pages of each zone; fewer are negative.
pub(crate) type Zones = [i64; MAX_NR_ZONES];
