//! Numbers that identify entries of the caller's tables.

use pageout_paging::pte::{SwapEntry, SwapKind};

/// The number that stands for no entry: the end of a list, or a frame without a folio.
pub(crate) const NONE: u32 = u32::MAX;

/// The index of a folio in the caller's table. Only the engine has it: the caller has a
/// [`FolioId`], which also says which of the entry's folios is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct FolioNr(pub(crate) u32);

/// The index of a VMA in the caller's table; see [`FolioNr`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VmaNr(pub(crate) u32);

/// The index of an address space in the caller's table; see [`FolioNr`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MmNr(pub(crate) u32);

/// The index of a mapping in the caller's table; see [`FolioNr`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MappingNr(pub(crate) u32);

/// Declares an id: the index of an entry in the caller's table, and the entry's generation.
macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident $what:literal)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $id {
            pub(crate) nr: u32,
            pub(crate) generation: u32,
        }

        impl $id {
            /// Returns the id as one number, for interfaces that pass numbers. It is never 0.
            pub const fn to_bits(self) -> u64 {
                (self.generation as u64) << 32 | self.nr as u64
            }

            #[doc = concat!("Makes the id of a number that [`", stringify!($id), "::to_bits`]")]
            /// returned. Returns `None` for a number that it never returns: the generation of an
            /// entry in use is odd. A forged number may yet be the id of another
            #[doc = concat!($what, ".")]
            pub const fn from_bits(bits: u64) -> Option<Self> {
                let (nr, generation) = (bits as u32, (bits >> 32) as u32);
                if generation % 2 == 1 { Some(Self { nr, generation }) } else { None }
            }

            /// Returns the index in the caller's table. It is another's after this one ends:
            #[doc = concat!("that of the next ", $what, " in the entry.")]
            pub const fn index(self) -> usize {
                self.nr as usize
            }
        }
    )*};
}

ids! {
    /// An address space: the index of its entry in the caller's table, and the entry's generation.
    /// The engine gives it out ([`Engine::add_mm`](crate::Engine::add_mm)), and refuses it by
    /// [`BadId`](crate::BadId) once the address space has ended. An entry must be used 2^31 times
    /// more before an old id is taken for a new one.
    MmId "address space"
    /// A mapping: the index of its entry in the caller's table, and the entry's generation, as in
    /// [`MmId`].
    MappingId "mapping"
    /// A folio: the index of its entry in the caller's table, and the entry's generation, as in
    /// [`MmId`]. It is valid until the folio is freed, so as long as the caller has a reference. An
    /// entry must be used 2^19 times more before an old id is taken for a new one.
    FolioId "folio"
    /// A VMA: the index of its entry in the caller's table, and the entry's generation, as in
    /// [`MmId`]. It ends when the VMA is unmapped, or becomes a part of its neighbour.
    VmaId "VMA"
}

/// The index of a cgroup in the caller's table; see [`FolioNr`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct MemcgNr(pub(crate) u16);

impl MemcgNr {
    /// The root of the hierarchy.
    pub(crate) const ROOT: Self = Self(0);
    /// The number that stands for no cgroup.
    pub(crate) const NONE: Self = Self(u16::MAX);
}

/// A cgroup: the index of its entry in the caller's table, and the number of cgroups that had the
/// entry before. The engine gives it out ([`Engine::add_memcg`](crate::Engine::add_memcg)), and
/// refuses it by [`BadId`](crate::BadId) once the cgroup was removed. An entry must be used 2^16
/// times more before an old id is taken for a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemcgId {
    pub(crate) nr: u16,
    pub(crate) before: u16,
}

impl MemcgId {
    /// The root of the hierarchy. Everything is charged to it in the end, it has no limit, and it
    /// is never removed.
    pub const ROOT: Self = Self { nr: 0, before: 0 };

    /// Returns the id as one number, for interfaces that pass numbers. The root's is 0.
    pub const fn to_bits(self) -> u32 {
        (self.before as u32) << 16 | self.nr as u32
    }

    /// Makes the id of a number that [`MemcgId::to_bits`] returned. A forged number may yet be the
    /// id of another cgroup.
    pub const fn from_bits(bits: u32) -> Self {
        Self { nr: bits as u16, before: (bits >> 16) as u16 }
    }

    /// Returns the index in the caller's table, which is the cgroup's number in `lru_gen`. It is
    /// another's after this one is removed.
    pub const fn index(self) -> u16 {
        self.nr
    }
}

/// The number of a node: memory that is equally near to the same CPUs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u8);

/// The largest number of nodes. Folios keep a node's number in four bits.
pub const MAX_NUMNODES: usize = 16;

/// The LRU lists of a cgroup on a node, by entries of the caller's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LruvecNr {
    pub(crate) memcg: MemcgNr,
    pub(crate) node: NodeId,
}

impl LruvecNr {
    /// The lists of the root on node 0.
    pub(crate) const ROOT: Self = Self { memcg: MemcgNr::ROOT, node: NodeId(0) };
}

#[cfg(test)]
impl From<MemcgNr> for LruvecNr {
    fn from(memcg: MemcgNr) -> Self {
        Self { memcg, node: NodeId(0) }
    }
}

/// The name of the LRU lists of a cgroup on a node (`struct lruvec`). A cgroup alone stands for its
/// lists on node 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LruvecId {
    /// The cgroup.
    pub memcg: MemcgId,
    /// The node.
    pub node: NodeId,
}

impl From<MemcgId> for LruvecId {
    fn from(memcg: MemcgId) -> Self {
        Self { memcg, node: NodeId(0) }
    }
}

/// The index of a swap slot, of one page, in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SwapSlot(pub u32);

impl SwapSlot {
    /// Returns the entry that names the slot. Slot 0 has offset 1: offset 0 is a swap device's
    /// header.
    #[inline]
    pub fn entry(self) -> SwapEntry {
        let entry = SwapEntry::new(SwapKind::Device(0), u64::from(self.0) + 1);
        entry.expect("32 bits fit an offset of 50, and are not 0")
    }

    /// Returns the slot that an entry names, if it names one.
    pub fn named_by(entry: SwapEntry) -> Option<Self> {
        let slot = u32::try_from(entry.offset.checked_sub(1)?).ok()?;
        matches!(entry.kind, SwapKind::Device(0)).then_some(Self(slot))
    }

    /// Returns the `k`-th slot after this one.
    #[must_use]
    pub fn nth(self, k: usize) -> Self {
        Self(self.0 + k as u32)
    }
}
