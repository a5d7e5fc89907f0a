//! The prices of a machine, each resolved to one number.

use super::architecture::Architecture;
use super::price::Kind;
use crate::Time;

/// Bytes a second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// Bytes a second.
    pub const fn bytes_per_second(self) -> u64 {
        self.0
    }

    /// How long so many bytes take, rounded up to whole picoseconds.
    ///
    /// # Panics
    /// If that is beyond 213 days.
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

/// Declares a struct of prices whose fields are named as in platform files. After `;` may stand one
/// field that depends on the architecture.
macro_rules! prices {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty,)*
        $(; $(#[$more:meta])* pub $other:ident: $group:ty,)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            $($(#[$more])* pub $other: $group,)?
        }

        impl $name {
            const NAMES: &[(&str, Kind)] =
                &[$((stringify!($field), <$type as Resolved>::KIND)),*];

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
    /// What everything takes on a machine.
    pub struct Prices {
        /// An access of a program whose translation the first TLB level has: all it takes beyond
        /// the program's other work.
        pub access: Time,
        /// What a hit in the second TLB level adds.
        pub l2_hit: Time,
        /// One table read of a walk whose line is near.
        pub walk_level: Time,
        /// What a walk adds where the line of the leaf entry is far.
        pub walk_far: Time,
        /// A trap into the kernel and the return from it, without software.
        pub fault: Time,
        /// A line of page tables fetched from memory or the last cache.
        pub line_far: Time,
        /// A line of page tables fetched from another core that changed it.
        pub line_transfer: Time,
        /// An atomic read-modify-write on a line that the core has.
        pub rmw: Time,
        /// Clearing 4 KiB.
        pub zero_page: Time,
        /// Copying 4 KiB.
        pub copy_page: Time,
        /// One instruction of kernel code: 1 / (frequency × instructions a cycle).
        pub instruction: Time,
        /// A context switch, without what it invalidates or waits for.
        pub switch: Time,
        /// One turn of a wait for a lock.
        pub relax: Time,
        /// Reading from the storage device, from request to interrupt, without the transfer.
        pub read_latency: Time,
        /// Writing to the storage device, likewise.
        pub write_latency: Time,
        /// What the storage device reads.
        pub bandwidth_read: Bandwidth,
        /// What the storage device writes.
        pub bandwidth_write: Bandwidth,
        /// Compressing 4 KiB for compressed swap, on the core that swaps out.
        pub compress_page: Time,
        /// Decompressing 4 KiB, on the core that swaps in.
        pub decompress_page: Time,
        ;
        /// What invalidations take.
        pub invalidation: InvalidationPrices,
    }
}

/// What invalidations take, by how they reach other cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidationPrices {
    /// arm64.
    Broadcast(BroadcastPrices),
    /// x86, riscv.
    Ipi(IpiPrices),
}

/// The wait of a DSB ISHST, which orders stores to tables before a TLBI. The architecture does
/// not ask it to wait for TLBIs; whether implementations do is a hypothesis, so draws have both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Publish {
    /// The TLBIs of its own core that are outstanding, so that dense TLBIs take the greater of
    /// their latency and the work between them.
    Outstanding,
    /// A round trip every time, whatever is outstanding.
    RoundTrip,
}

prices! {
    /// What invalidations by broadcast take.
    pub struct BroadcastPrices {
        /// Issuing one TLBI, on the issuer.
        pub tlbi_issue: Time,
        /// From issue to arrival at another core.
        pub propagation: Time,
        /// What a TLBI takes of another core, when that applies it.
        pub snoop: Time,
        /// A DSB of any kind when nothing of its core is outstanding.
        pub dsb_idle: Time,
        /// From a TLBI to the end of a DSB that waits for it, on a machine of one core.
        pub dsb_base: Time,
        /// What each other core adds to a DSB ISH that follows a TLBI.
        pub dsb_per_core: Time,
        /// What each TLBI that is outstanding adds to it.
        pub dsb_per_outstanding: Time,
        /// What a DSB ISH that follows a TLBI takes of each other core.
        pub dsb_snoop: Time,
        /// How long it keeps the interconnect from beginning another core's; at most as long as it
        /// takes (Arm CCN-502 TRM, 100052, 2.7: at most four synchronisations in flight a node).
        pub dsb_serial: Time,
        /// How long a device access of the own core is outstanding.
        pub device_access: Time,
        ;
        /// The wait of a DSB ISHST.
        pub publish: Publish,
    }
}

prices! {
    /// What invalidations by interprocessor interrupts take.
    pub struct IpiPrices {
        /// Sending, for each target, on the issuer.
        pub ipi_send: Time,
        /// From sending to the first instruction of the handler.
        pub ipi_latency: Time,
        /// Entry to and return from the handler on the target, without flushing.
        pub ipi_handler: Time,
        /// From the target's acknowledgement to the issuer's seeing it.
        pub ipi_ack: Time,
        /// Invalidating one page locally.
        pub flush_entry: Time,
        /// Invalidating all of an address space locally, without the misses that follow.
        pub flush_full: Time,
    }
}

impl BroadcastPrices {
    /// Returns the time from a TLBI to its end everywhere on a machine of so many cores, with so
    /// many of the issuer's outstanding.
    pub(crate) fn latency(&self, cores: u16, outstanding: u64) -> Time {
        let others = u64::from(cores.saturating_sub(1));
        self.dsb_base + self.dsb_per_core * others + self.dsb_per_outstanding * outstanding
    }
}

impl Prices {
    /// The prices that a platform of the architecture must give, in the order of documentation.
    pub fn names(architecture: Architecture) -> impl Iterator<Item = (&'static str, Kind)> {
        let invalidation = match architecture {
            Architecture::Arm64 => BroadcastPrices::NAMES,
            Architecture::X86 | Architecture::Riscv => IpiPrices::NAMES,
        };
        Self::NAMES.iter().chain(invalidation).copied()
    }

    /// Fills in each price that the architecture has, in base units, by its name.
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
