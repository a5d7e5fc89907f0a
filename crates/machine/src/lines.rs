//! Lines of page tables: near a core, in memory, or changed by another core.
//!
//! A core keeps the lines near that it used last, one for each remainder of their numbers. A line
//! is held by one core, which may then write to it, or shared, or by none.

use crate::Time;
use crate::core_set::CoreId;
use crate::platform::Prices;
use pageout_paging::table::{LINE, Slot};

/// The place where an access found a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// Near the core, and for a write nowhere else.
    Near,
    /// In memory or the last cache.
    Far,
    /// Near another core, which had to give it up or share it.
    Transfer,
}

impl Line {
    /// Returns the time of a software access beyond its instruction, which is paid with the other
    /// instructions. A near line takes no time.
    pub(crate) fn software(self, prices: &Prices) -> Time {
        self.beyond(prices.line_far, prices)
    }

    /// Returns the time of an atomic change by the walker, which executes no instructions.
    pub(crate) fn walker_write(self, prices: &Prices) -> Time {
        prices.rmw + self.beyond(prices.line_far, prices)
    }

    /// Returns the time of a walk's read of the last entry, beyond that of a near one.
    pub(crate) fn walk(self, prices: &Prices) -> Time {
        self.beyond(prices.walk_far, prices)
    }

    fn beyond(self, far: Time, prices: &Prices) -> Time {
        match self {
            Self::Near => Time::ZERO,
            Self::Far => far,
            Self::Transfer => prices.line_transfer,
        }
    }
}

/// The holder of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Holder {
    #[default]
    None,
    /// A single core.
    One(CoreId),
    /// Several cores at some time since the last write, even when none has it near any more.
    Shared,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    holder: Holder,
    /// The count of times that one core took it from others, whose copies are older.
    version: u32,
}

/// A line that a core has near, by its number and version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Copied {
    number: u32,
    version: u32,
}

const NOTHING: Copied = Copied { number: u32::MAX, version: 0 };

/// The lines of all page tables, and the copies that are near each core.
#[derive(Debug)]
pub(crate) struct Lines {
    states: Vec<State>,
    /// The copies near each core, empty before it first used a line.
    near: Vec<Vec<Copied>>,
    capacity: u32,
}

impl Lines {
    /// The number of lines of page tables that a core keeps near: 256 KiB, about half of a
    /// second-level cache. The value is a guess, the same for all platforms.
    pub(crate) const NEAR: u32 = 4096;

    /// Makes the lines for `entries` entries, none of them near any core yet; `capacity` is a power
    /// of two.
    pub(crate) fn new(entries: usize, cores: u16, capacity: u32) -> Self {
        assert!(capacity.is_power_of_two());
        Self {
            states: vec![State::default(); entries.div_ceil(LINE)],
            near: vec![Vec::new(); usize::from(cores)],
            capacity,
        }
    }

    /// Returns the bytes that grow with page tables.
    pub(crate) fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<State>()
    }

    /// Reads an entry, and returns the place where its line was found.
    #[inline]
    pub(crate) fn read(&mut self, core: CoreId, slot: Slot) -> Line {
        let number = slot.get() / LINE as u32;
        let state = self.states[number as usize];
        let place = number & (self.capacity - 1);
        let copied = Copied { number, version: state.version };
        if self.near[usize::from(core.0)].get(place as usize) == Some(&copied) {
            return Line::Near;
        }
        let (holder, found) = match state.holder {
            Holder::None => (Holder::One(core), Line::Far),
            Holder::One(other) if other != core => (Holder::Shared, Line::Transfer),
            holder => (holder, Line::Far),
        };
        self.keep(core, copied, holder);
        found
    }

    /// Changes an entry atomically, after which no other core has its line. Returns the place where
    /// the line was found.
    #[inline]
    pub(crate) fn write(&mut self, core: CoreId, slot: Slot) -> Line {
        let number = slot.get() / LINE as u32;
        let state = self.states[number as usize];
        let found = match state.holder {
            Holder::One(holder) if holder == core => return Line::Near,
            Holder::None => Line::Far,
            _ => Line::Transfer,
        };
        let copied = Copied { number, version: state.version.wrapping_add(1) };
        self.keep(core, copied, Holder::One(core));
        found
    }

    /// Keeps a line near a core, in place of another. A line that only that core held goes back to
    /// memory.
    #[inline(never)]
    fn keep(&mut self, core: CoreId, copied: Copied, holder: Holder) {
        let near = &mut self.near[usize::from(core.0)];
        if near.is_empty() {
            near.resize(self.capacity as usize, NOTHING);
        }
        let place = (copied.number & (self.capacity - 1)) as usize;
        let gone = std::mem::replace(&mut near[place], copied);
        if let Some(state) = self.states.get_mut(gone.number as usize)
            && state.holder == Holder::One(core)
        {
            state.holder = Holder::None;
        }
        self.states[copied.number as usize] = State { holder, version: copied.version };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Line::{Far, Near, Transfer};
    use pageout_paging::Pfn;
    use pageout_paging::pte::SmallX86;
    use pageout_paging::table::HostTables;

    const CORES: u16 = 3;
    const LINES: u32 = 3;

    fn slot(line: u32) -> Slot {
        HostTables::<SmallX86>::new(&[], Pfn::new(0)).slot(Pfn::new(u64::from(line)), 5)
    }

    /// A naive model of copies as sets: the cores that have each line, and its only holder, if any.
    struct Naive {
        near: Vec<Vec<u32>>,
        alone: Vec<Option<u16>>,
        shared: Vec<bool>,
        capacity: u32,
    }

    impl Naive {
        fn access(&mut self, core: u16, line: u32, write: bool) -> Line {
            let (c, l) = (usize::from(core), line as usize);
            let has = self.near[c].contains(&line);
            let others = self.shared[l] || self.alone[l].is_some_and(|alone| alone != core);
            let found = match (has, write) {
                (true, false) => Near,
                (true, true) if self.alone[l] == Some(core) => Near,
                (_, true) if others => Transfer,
                (_, false) if others && !self.shared[l] => Transfer,
                _ => Far,
            };
            if write {
                self.near.iter_mut().for_each(|near| near.retain(|near| *near != line));
                (self.alone[l], self.shared[l]) = (Some(core), false);
            } else if !has {
                (self.alone[l], self.shared[l]) =
                    if others { (None, true) } else { (Some(core), false) };
            }
            if write || !has {
                self.put(core, line);
            }
            found
        }

        fn put(&mut self, core: u16, line: u32) {
            let capacity = self.capacity;
            let near = &mut self.near[usize::from(core)];
            let clash = near.iter().position(|old| old % capacity == line % capacity);
            if let Some(at) = clash {
                let old = near.swap_remove(at);
                if self.alone[old as usize] == Some(core) && old != line {
                    self.alone[old as usize] = None;
                }
            }
            near.push(line);
        }
    }

    #[test]
    fn every_short_string_moves_lines_as_sets_do() {
        let choices = u32::from(CORES) * LINES * 2;
        for capacity in [1, 2, 4] {
            for string in 0..choices.pow(4) {
                let mut lines = Lines::new(LINES as usize * LINE, CORES, capacity);
                let mut naive = Naive {
                    near: vec![Vec::new(); usize::from(CORES)],
                    alone: vec![None; LINES as usize],
                    shared: vec![false; LINES as usize],
                    capacity,
                };
                let mut left = string;
                for _ in 0..4 {
                    let (core, line) = ((left % 3) as u16, left / 3 % 3);
                    let write = left / 9 % 2 == 1;
                    left /= choices;
                    let found = match write {
                        true => lines.write(CoreId(core), slot(line)),
                        false => lines.read(CoreId(core), slot(line)),
                    };
                    assert_eq!(found, naive.access(core, line, write), "{string} of {capacity}");
                }
            }
        }
    }

    #[test]
    fn a_line_that_another_core_changed_is_transferred_once() {
        let mut lines = Lines::new(8, 2, 4);
        let [a, b] = [CoreId(0), CoreId(1)];
        assert_eq!(lines.read(a, slot(0)), Far);
        assert_eq!(lines.write(a, slot(0)), Near, "no one else has it");
        assert_eq!(lines.read(b, slot(0)), Transfer);
        assert_eq!((lines.read(a, slot(0)), lines.read(b, slot(0))), (Near, Near), "shared");
        assert_eq!(lines.write(b, slot(0)), Transfer, "the other's copy goes");
        assert_eq!(lines.read(a, slot(0)), Transfer);
    }
}
