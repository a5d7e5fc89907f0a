//! The traffic to other cores over time.

use crate::Time;

/// A kind of traffic between cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Traffic {
    /// An invalidation that is broadcast, or an interrupt.
    Message,
    /// A barrier that waits for invalidations, or a round of interrupts.
    Wait,
}

/// The way in which cores reach each other's TLBs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fabric {
    /// Hardware broadcasts invalidations to all cores (arm64).
    Broadcast,
    /// Software interrupts other cores (x86, riscv).
    Interrupts,
}

impl Fabric {
    /// Returns the name of [`Sent::messages`] here.
    pub const fn messages(self) -> &'static str {
        match self {
            Self::Broadcast => "invalidations",
            Self::Interrupts => "interrupts",
        }
    }

    /// Returns the name of [`Sent::waits`] here.
    pub const fn waits(self) -> &'static str {
        match self {
            Self::Broadcast => "barriers",
            Self::Interrupts => "interrupt rounds",
        }
    }
}

/// The traffic in one column of a [`FabricLoad`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// The number of invalidations that were broadcast (arm64), or the interrupts (x86, riscv).
    pub messages: u64,
    /// The number of barriers that waited for invalidations (arm64), or the rounds of interrupts
    /// (x86, riscv).
    pub waits: u64,
}

/// The traffic between cores in equal stretches of a machine's time.
///
/// The stretches double when there are too many of them, so a run of any length has at most
/// [`FabricLoad::COLUMNS`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FabricLoad {
    fabric: Fabric,
    width: Time,
    columns: Vec<Sent>,
}

impl FabricLoad {
    /// The maximum number of stretches.
    pub const COLUMNS: usize = 128;

    pub(crate) const fn new(fabric: Fabric) -> Self {
        Self { fabric, width: Time::from_ns(1000), columns: Vec::new() }
    }

    /// Returns the way in which the cores reach each other.
    pub const fn fabric(&self) -> Fabric {
        self.fabric
    }

    /// Returns the length of a stretch. The last one may end before.
    pub const fn width(&self) -> Time {
        self.width
    }

    /// Returns the traffic in each stretch, from the machine's time zero on.
    pub fn columns(&self) -> &[Sent] {
        &self.columns
    }

    /// Counts one sending at a time.
    pub(crate) fn add(&mut self, at: Time, traffic: Traffic) {
        let column = self.column(at);
        let sent = &mut self.columns[column];
        match traffic {
            Traffic::Message => sent.messages += 1,
            Traffic::Wait => sent.waits += 1,
        }
    }

    /// Returns the same load for a machine whose time ends at `end`.
    pub(crate) fn until(mut self, end: Time) -> Self {
        self.column(end);
        self
    }

    /// Returns the column of a time, and adds it if it is missing.
    fn column(&mut self, at: Time) -> usize {
        while at.ps() / self.width.ps() >= Self::COLUMNS as u64 {
            self.width = self.width * 2;
            let pair = |pair: &[Sent]| Sent {
                messages: pair.iter().map(|sent| sent.messages).sum(),
                waits: pair.iter().map(|sent| sent.waits).sum(),
            };
            self.columns = self.columns.chunks(2).map(pair).collect();
        }
        let column = (at.ps() / self.width.ps()) as usize;
        if self.columns.len() <= column {
            self.columns.resize(column + 1, Sent::default());
        }
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_all_is_where_it_was_sent(
            sent in prop::collection::vec((0..10_000_000_000_u64, any::<bool>()), 1..200),
        ) {
            let mut load = FabricLoad::new(Fabric::Broadcast);
            for (ps, waits) in &sent {
                let traffic = if *waits { Traffic::Wait } else { Traffic::Message };
                load.add(Time::from_ps(*ps), traffic);
            }
            let end = sent.iter().map(|(ps, _)| *ps).max().expect("one at least");
            let load = load.until(Time::from_ps(end));
            prop_assert!(load.columns().len() <= FabricLoad::COLUMNS);
            for (i, column) in load.columns().iter().enumerate() {
                let here = |ps: u64| (ps / load.width().ps()) as usize == i;
                let of = |kind: bool| {
                    sent.iter().filter(|(ps, waits)| here(*ps) && *waits == kind).count() as u64
                };
                prop_assert_eq!(*column, Sent { messages: of(false), waits: of(true) });
            }
        }
    }

    #[test]
    fn a_machine_at_rest_has_columns_until_its_end() {
        let load = FabricLoad::new(Fabric::Broadcast).until(Time::from_ns(2500));
        assert_eq!(load.columns(), [Sent::default(); 3]);
    }
}
