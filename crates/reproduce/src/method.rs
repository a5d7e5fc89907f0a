//! Methods: a closed set of ways in which our answers come about, each with its parameters.

use super::step::Step;

/// The way in which a figure of ours is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Scenario `reclaim-file` on the figure's modelled machine.
    Modelled(Steps),
    /// The same scenario, only in the state after, for a figure that is one number.
    ModelledAfter(Steps),
    /// Only the lab's instructions.
    Counted(Steps),
    /// The instructions that a step saves, as a share of those before. The code that it removes
    /// took at least this share.
    CountedShare(Steps),
    /// Time of the engine on this machine.
    Host(Steps),
    /// The share of walks and young checks in the engine's time on this machine.
    HostShare(Steps, State),
    /// A consequence of the thread's own numbers.
    Computed(Arithmetic),
    /// Scenario `pageout-shared` on the figure's modelled machine.
    Shootdowns(SharedQuantity),
    /// The cost that flushing would need for the effect of leaving some out, in a test of S3.
    Needed(Test, [Policy; 2]),
    /// The cost that flushing would need, likewise, for S2's row of this many threads.
    NeededInSlots(u32),
    /// No answer: the thread leaves out a setting that decides the figure. The split names it.
    NotIdentified,
    /// No answer, for this reason.
    Not(&'static str),
}

impl Method {
    /// Returns true if the method needs the engine measured here.
    pub(super) const fn needs_host(self) -> bool {
        matches!(self, Self::Host(_) | Self::HostShare(..))
    }

    /// Returns true if the method needs scenario `reclaim-file` on a modelled machine.
    pub(super) const fn needs_reclaim(self) -> bool {
        matches!(self, Self::Modelled(_) | Self::ModelledAfter(_))
    }
}

/// The change of reclaim that a figure is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Steps {
    /// Classic lists: young bits become batched.
    ClassicYoung,
    /// Classic lists: unmapping becomes batched too.
    ClassicUnmap,
    /// Generations: young bits become batched; unmapping was batched before.
    MglruYoung,
}

impl Steps {
    /// Returns the states before and after.
    pub(super) const fn ends(self) -> [Step; 2] {
        match self {
            Self::ClassicYoung => [Step::Stock, Step::Young],
            Self::ClassicUnmap => [Step::Young, Step::Unmap],
            Self::MglruYoung => [Step::MglruUnmap, Step::Mglru],
        }
    }
}

/// Either of the two states that were compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The state before.
    Before,
    /// The state after.
    After,
}

/// A consequence of the thread's own numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// 1 − (35/36)^36, in per cent.
    FalsePositive,
    /// 4 KiB for each entry of the platform's second TLB level.
    Reach,
    /// User and system time over the time elapsed.
    BusyCpus,
}

/// The quantity of `pageout-shared` that a figure is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedQuantity {
    /// The share of CPU time in flushes while unmapping, with immediate shootdowns.
    Share,
    /// The time in flushes with immediate shootdowns, over that with deferred ones.
    Gone,
    /// The effect of deferring on the benchmark's time.
    Time,
}

/// The way in which a test of S3 uses its file. A hot page among random ones is held in memory, so
/// that only the random ones wait for the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// Reads in order.
    SeqRead,
    /// Reads at random.
    RandomRead,
    /// Writes in order.
    SeqWrite,
    /// Writes at random.
    RandomWrite,
}

/// The flush that follows a young bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The TLBI and a wait for it.
    Sync,
    /// The TLBI without a wait.
    Nosync,
    /// No TLBI and no wait.
    None,
}
