//! How ours comes about: a closed set of methods, and what each is asked.

use super::step::Step;

/// How a line of ours comes about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Scenario `reclaim-file` on the figure's modelled machine.
    Modelled(Steps),
    /// The same of the state after alone, for a figure that is one number.
    ModelledAfter(Steps),
    /// The lab's instructions alone.
    Counted(Steps),
    /// The instructions that go, as a share of those before: what goes took at least as much.
    CountedShare(Steps),
    /// Time of the engine on this machine.
    Host(Steps),
    /// The share of walks and young checks in it.
    HostShare(Steps, Whose),
    /// Follows from the thread's own numbers.
    Computed(Arithmetic),
    /// Scenario `pageout-shared` on the figure's modelled machine.
    Shootdowns(Asked),
    /// The cost that flushing would need for the effect of leaving some out, in a test of S3.
    Needed(Test, [Policy; 2]),
    /// The same of S2's row of so many threads.
    NeededInSlots(u32),
    /// The thread leaves out what decides the figure; the split has the missing setting.
    NotIdentified,
    /// Nothing here can say, and why.
    Not(&'static str),
}

impl Method {
    /// Whether it needs the engine measured here.
    pub(super) const fn needs_host(self) -> bool {
        matches!(self, Self::Host(_) | Self::HostShare(..))
    }

    /// Whether it needs scenario `reclaim-file` modelled.
    pub(super) const fn needs_reclaim(self) -> bool {
        matches!(self, Self::Modelled(_) | Self::ModelledAfter(_))
    }
}

/// What was changed of reclaim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Steps {
    /// Classic lists: young bits batched.
    ClassicYoung,
    /// Classic lists: unmapping batched too.
    ClassicUnmap,
    /// Generations: young bits batched, with unmapping batched before.
    MglruYoung,
}

impl Steps {
    /// Before and after.
    pub(super) const fn ends(self) -> [Step; 2] {
        match self {
            Self::ClassicYoung => [Step::Stock, Step::Young],
            Self::ClassicUnmap => [Step::Young, Step::Unmap],
            Self::MglruYoung => [Step::MglruUnmap, Step::Mglru],
        }
    }
}

/// One of the two that were compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// Before.
    Before,
    /// After.
    After,
}

/// What follows from the thread's own numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// 1 − (35/36)^36, in per cent.
    FalsePositive,
    /// 4 KiB for each entry of the platform's second TLB level.
    Reach,
    /// User and system time over the time elapsed.
    BusyCpus,
}

/// What a figure asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// The share of CPU time in flushes while unmapping, each at once.
    Share,
    /// What deferring leaves of the time in flushes.
    Gone,
    /// What it makes of the benchmark's time.
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
    /// The TLBI alone.
    Nosync,
    /// Neither.
    None,
}
