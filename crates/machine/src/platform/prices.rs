//! The prices of a machine, each resolved to one number.

use super::architecture::Architecture;
use super::price::Kind;
use crate::Time;

/// A bandwidth in bytes a second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// Returns the bytes a second.
    pub const fn bytes_per_second(self) -> u64 {
        self.0
    }

    /// Returns the time that `bytes` bytes take, rounded up to whole picoseconds.
    ///
    /// # Panics
    /// If that is more than 213 days.
    pub fn time(self, bytes: u64) -> Time {
        let ps = (u128::from(bytes) * 1_000_000_000_000).div_ceil(u128::from(self.0));
        Time::from_ps(u64::try_from(ps).expect("a transfer within 213 days"))
    }
}

/// A type that a price resolves to.
trait Resolved {
    const KIND: Kind;
    fn from_base(base: u64) -> Self;
}

impl Resolved for Time {
    const KIND: Kind = Kind::Time;
    fn from_base(base: u64) -> Self {
        Self::from_ps(base)
    }
}

impl Resolved for Bandwidth {
    const KIND: Kind = Kind::Bandwidth;
    fn from_base(base: u64) -> Self {
        Self(base)
    }
}

/// A price that a platform file gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PriceName {
    /// The price's name in files: the name of a field of [`Prices`].
    pub name: &'static str,
    /// The quantity that it measures.
    pub kind: Kind,
    /// True if a faster clock lowers it.
    pub clocked: bool,
}

macro_rules! is_clocked {
    () => {
        false
    };
    (clocked) => {
        true
    };
}

/// Declares a struct of prices whose fields have the same names as in platform files. A faster
/// clock lowers those marked `as clocked` together. One field that depends on the architecture may
/// follow after `;`.
macro_rules! prices {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty $(as $clocked:ident)?,)*
        $(; $(#[$more:meta])* pub $other:ident: $group:ty,)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            $($(#[$more])* pub $other: $group,)?
        }

        impl $name {
            const NAMES: &[PriceName] = &[$(PriceName {
                name: stringify!($field),
                kind: <$type as Resolved>::KIND,
                clocked: is_clocked!($($clocked)?),
            }),*];

            fn of(
                price: &mut impl FnMut(&'static str) -> u64,
                $($other: $group,)?
            ) -> Self {
                Self {
                    $($field: Resolved::from_base(price(stringify!($field))),)*
                    $($other,)?
                }
            }
        }
    };
}

prices! {
    /// The prices of all operations on a machine.
    pub struct Prices {
        /// An access of a program whose translation is in the first TLB level: the time it takes
        /// beyond the program's other work.
        pub access: Time as clocked,
        /// The additional time of a hit in the second TLB level.
        pub l2_hit: Time as clocked,
        /// A table read of a walk whose line is near.
        pub walk_level: Time as clocked,
        /// The additional time of a walk if the line of the leaf entry is far.
        pub walk_far: Time,
        /// A trap into the kernel and the return from it, without software.
        pub fault: Time as clocked,
        /// A line of page tables fetched from memory or the last cache.
        pub line_far: Time,
        /// A line of page tables fetched from another core that changed it.
        pub line_transfer: Time,
        /// An atomic read-modify-write on a line that the core has.
        pub rmw: Time as clocked,
        /// Clearing 4 KiB.
        pub zero_page: Time,
        /// Copying 4 KiB.
        pub copy_page: Time,
        /// An instruction of kernel code: 1 / (frequency × instructions a cycle).
        pub instruction: Time as clocked,
        /// A context switch, without its invalidations and waits.
        pub switch: Time as clocked,
        /// An iteration of a wait for a lock.
        pub relax: Time as clocked,
        /// Reading from the storage device, from request to interrupt, without the transfer.
        pub read_latency: Time,
        /// Writing to the storage device, from request to interrupt, without the transfer.
        pub write_latency: Time,
        /// The bandwidth of reads from the storage device.
        pub bandwidth_read: Bandwidth,
        /// The bandwidth of writes to the storage device.
        pub bandwidth_write: Bandwidth,
        /// Compressing 4 KiB for compressed swap, on the core that swaps out.
        pub compress_page: Time as clocked,
        /// Decompressing 4 KiB, on the core that swaps in.
        pub decompress_page: Time as clocked,
        ;
        /// The prices of invalidations.
        pub invalidation: InvalidationPrices,
    }
}

/// The prices of invalidations, by how they reach other cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidationPrices {
    /// arm64.
    Broadcast(BroadcastPrices),
    /// x86, riscv.
    Ipi(IpiPrices),
}

/// The wait of a DSB ISHST, which orders stores to tables before a TLBI. The architecture does not
/// require it to wait for TLBIs. That implementations do so is a hypothesis, so draws have both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Publish {
    /// The barrier waits for its own core's outstanding TLBIs. So TLBIs in quick succession take
    /// the greater of their latency and the work between them.
    Outstanding,
    /// The barrier takes a round trip every time, whatever is outstanding.
    RoundTrip,
}

prices! {
    /// The prices of invalidations by broadcast.
    pub struct BroadcastPrices {
        /// Issuing one TLBI, on the issuer.
        pub tlbi_issue: Time as clocked,
        /// From issue to arrival at another core.
        pub propagation: Time,
        /// The time that another core loses when it applies a TLBI.
        pub snoop: Time,
        /// A DSB of any kind when its core has nothing outstanding.
        pub dsb_idle: Time as clocked,
        /// From a TLBI to the end of a DSB that waits for it, on a machine of one core.
        pub dsb_base: Time,
        /// The additional time, for each other core, of a DSB ISH that follows a TLBI.
        pub dsb_per_core: Time,
        /// The additional time of such a DSB for each outstanding TLBI.
        pub dsb_per_outstanding: Time,
        /// The time that each other core loses to a DSB ISH that follows a TLBI.
        pub dsb_snoop: Time,
        /// The time for which such a DSB keeps the interconnect from beginning another core's. It
        /// is at most as long as the DSB takes (Arm CCN-502 TRM, 100052, 2.7: at most four
        /// synchronisations in flight a node).
        pub dsb_serial: Time,
        /// The time for which a device access of the core itself is outstanding.
        pub device_access: Time,
        ;
        /// The wait of a DSB ISHST.
        pub publish: Publish,
    }
}

prices! {
    /// The prices of invalidations by interprocessor interrupts.
    pub struct IpiPrices {
        /// Sending, for each target, on the issuer.
        pub ipi_send: Time,
        /// From sending to the first instruction of the handler.
        pub ipi_latency: Time,
        /// Entry to and return from the handler on the target, without flushing.
        pub ipi_handler: Time,
        /// From the target's acknowledgement until the issuer sees it.
        pub ipi_ack: Time,
        /// Invalidating one page locally.
        pub flush_entry: Time,
        /// Invalidating all of an address space locally, without the misses that follow.
        pub flush_full: Time,
    }
}

impl BroadcastPrices {
    /// Returns the time from a TLBI to the end of its DSB on a machine of `cores` cores, with
    /// `outstanding` TLBIs of the issuer outstanding.
    pub(crate) fn latency(&self, cores: u16, outstanding: u64) -> Time {
        let others = u64::from(cores.saturating_sub(1));
        self.dsb_base + self.dsb_per_core * others + self.dsb_per_outstanding * outstanding
    }
}

impl Prices {
    /// Returns the prices that a platform of the architecture must give, in the order of the
    /// documentation.
    pub fn names(architecture: Architecture) -> impl Iterator<Item = PriceName> {
        let invalidation = match architecture {
            Architecture::Arm64 => BroadcastPrices::NAMES,
            Architecture::X86 | Architecture::Riscv => IpiPrices::NAMES,
        };
        Self::NAMES.iter().chain(invalidation).copied()
    }

    /// Sets each price of the architecture. `price` returns it in base units, by its name.
    pub(super) fn resolve(
        architecture: Architecture,
        publish: Publish,
        mut price: impl FnMut(&'static str) -> u64,
    ) -> Self {
        let invalidation = match architecture {
            Architecture::Arm64 => {
                InvalidationPrices::Broadcast(BroadcastPrices::of(&mut price, publish))
            }
            Architecture::X86 | Architecture::Riscv => {
                InvalidationPrices::Ipi(IpiPrices::of(&mut price))
            }
        };
        Self::of(&mut price, invalidation)
    }
}
