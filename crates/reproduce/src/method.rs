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
    /// A row of scenario `thpscale` on the modelled machine.
    Thpscale(Told),
    /// Scenarios `pageout-shared` and `fork-heavy` there.
    Shootdowns(Asked),
    /// S3's tests on the modelled machine.
    Patterns(Ask),
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
}

/// A row of the thread's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// The mean of `fault-both` of so many threads.
    Slots(u32),
    /// Duration of all rows: the threads' time outside of the kernel.
    User,
    /// Their time in it.
    System,
    /// From begin to end.
    Elapsed,
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
    /// And of shells that fork while their memory is reclaimed.
    Shells,
}

/// What is asked of the runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// The mean of one policy over that of another.
    Means(Test, Policy, Policy),
    /// The variation of one over that of another.
    Variations(Test, Policy, Policy),
    /// The variation of one.
    Variation(Test, Policy),
    /// The mean of the variations of all writes.
    Writes,
    /// The largest variation of a policy in any of the six tests.
    Worst(Policy),
}

/// S3's tests, in the order of `AccessPatterns::six_tests`, and its extreme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// Sequential read.
    SeqRead,
    /// Random read.
    RandomRead,
    /// Hot and random read.
    HotRead,
    /// Sequential write.
    SeqWrite,
    /// Random write.
    RandomWrite,
    /// Hot and random write.
    HotWrite,
    /// Half of the reads of the hot page.
    HalfHotRead,
}

/// What follows a young bit, in the order of `Compared::POLICIES`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The TLBI and a wait for it.
    Sync,
    /// The TLBI alone.
    Nosync,
    /// Neither.
    None,
}
