//! The numbers that a kernel with points takes and gives, as `files/schedule/pageout_schedule.c`
//! lays them out: words of 64 bits, little endian.

/// The object's number for its layout.
pub(super) const LAYOUT: u64 = 2;
/// The maximum number of ranges of points that the object takes.
pub const MAX_RANGES: usize = 16;
/// The maximum number of CPUs to which the object gives priorities.
const MAX_CPUS: usize = 8;
/// The lowest priority that orders may give.
pub(super) const LOWEST: u64 = 1 << 32;
/// The maximum number of turns that the object takes, and notes.
pub(super) const MAX_TURNS: usize = 8192;
const MAX_EVENTS: usize = 512;
const MAX_TEXT: usize = 96;
const WORD: usize = 8;
const TURN_WORDS: usize = 6;
const EVENT_BYTES: usize = 3 * WORD + MAX_TEXT;
/// Bytes before the turns.
pub(super) const FOUND_HEAD: usize = 7 * WORD;
const EVENTS_AT: usize = FOUND_HEAD + MAX_TURNS * TURN_WORDS * WORD;

/// A turn to give up: the `nth` time that a CPU comes to a point, for `hold` rounds of the other
/// CPUs. Point 0 stands for the `nth` time that any CPU comes to any point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Listed {
    /// The address after the call.
    pub(super) point: u64,
    pub(super) cpu: u64,
    pub(super) nth: u64,
    pub(super) hold: u64,
}

/// The head of a machine's orders, before a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ready {
    pub(super) layout: u64,
    /// The CPU that is at the workload's beginning.
    pub(super) cpu: u64,
}

impl Ready {
    /// The size in bytes of the memory that the value is read from.
    pub(super) const SIZE: usize = 2 * WORD;

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self { layout: word(bytes, 0)?, cpu: word(bytes, 1)? })
    }
}

/// A run's orders.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Orders {
    pub(super) seed: u64,
    /// The number of points of which one gives up a turn; 0: none does.
    pub(super) rate: u64,
    /// Nanoseconds of the machine's time after which the run hangs.
    pub(super) limit: u64,
    /// Priorities of CPUs, if they have any. The CPU with the highest that comes to points goes on.
    /// A turn that is listed for no point puts the CPU that comes there below all others.
    pub(super) priorities: Vec<u64>,
    /// The only addresses between which points count, the end excluded; without any, all points
    /// count.
    pub(super) ranges: Vec<[u64; 2]>,
    pub(super) listed: Vec<Listed>,
}

impl Orders {
    /// Returns the bytes of `pageout_orders`, up to the last turn.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let ranges = self.ranges.len().min(MAX_RANGES);
        let mut words = vec![LAYOUT, 0, self.seed, self.rate, self.limit];
        words.push(u64::from(!self.priorities.is_empty()));
        let lowest = std::iter::repeat(LOWEST);
        words.extend(self.priorities.iter().copied().chain(lowest).take(MAX_CPUS));
        words.push(ranges as u64);
        let none = std::iter::repeat([0; 2]);
        words.extend(self.ranges.iter().copied().chain(none).take(MAX_RANGES).flatten());
        let mut listed = self.listed.clone();
        listed.sort();
        listed.truncate(MAX_TURNS);
        words.push(listed.len() as u64);
        words.extend(listed.iter().flat_map(|turn| [turn.point, turn.cpu, turn.nth, turn.hold]));
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

/// The end of a run, as the kernel reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The run is not over.
    Running,
    /// All checks held.
    Passed,
    /// A check did not hold.
    CheckFailed,
    /// The kernel panicked.
    Panicked,
    /// The run did not end within its limit of the machine's time.
    Hung,
}

impl Verdict {
    const ALL: [Self; 5] =
        [Self::Running, Self::Passed, Self::CheckFailed, Self::Panicked, Self::Hung];

    /// Returns true if the kernel or its workload is wrong.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::CheckFailed | Self::Panicked | Self::Hung)
    }

    /// Returns the verdict's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "not over",
            Self::Passed => "passed",
            Self::CheckFailed => "a check failed",
            Self::Panicked => "the kernel panicked",
            Self::Hung => "hung",
        }
    }
}

/// A turn that was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Given {
    pub(super) listed: Listed,
    /// The number of points that all CPUs had passed, this one included.
    pub(super) count: u64,
    /// Nanoseconds since the run's beginning.
    pub(super) time: u64,
}

/// A line that the workload printed, or the kernel at its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The CPU's number.
    pub cpu: u64,
    /// The number of points that all CPUs had passed.
    pub count: u64,
    /// Nanoseconds since the run's beginning.
    pub time: u64,
    /// The text.
    pub text: String,
}

/// The numbers that a run gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) verdict: Verdict,
    /// The number of points that were passed.
    pub(super) points: u64,
    /// A hash of all turns.
    pub(super) hash: u64,
    /// The number of turns that were given up, also of those without room in the list.
    pub(super) turns: u64,
    events_said: u64,
    /// The number of checks that held.
    pub(super) checks: u64,
    /// Nanoseconds of the machine's time.
    pub(super) time: u64,
    pub(super) given: Vec<Given>,
    pub(super) events: Vec<Event>,
}

fn word(bytes: &[u8], place: usize) -> Option<u64> {
    let bytes = bytes.get(place * WORD..(place + 1) * WORD)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

impl Found {
    /// Parses the head of `pageout_found`; the turns and events are still to be read.
    pub(super) fn head(bytes: &[u8]) -> Option<Self> {
        let number = |place| word(bytes, place);
        Some(Self {
            verdict: *Verdict::ALL.get(usize::try_from(number(0)?).ok()?)?,
            points: number(1)?,
            hash: number(2)?,
            turns: number(3)?,
            events_said: number(4)?,
            checks: number(5)?,
            time: number(6)?,
            given: Vec::new(),
            events: Vec::new(),
        })
    }

    /// Returns the offset of the object's turns from its beginning, and their number of bytes.
    pub(super) fn turns_at(&self) -> (usize, usize) {
        let turns = usize::try_from(self.turns).map_or(MAX_TURNS, |turns| turns.min(MAX_TURNS));
        (FOUND_HEAD, turns * TURN_WORDS * WORD)
    }

    /// Returns the offset of the object's events from its beginning, and their number of bytes.
    pub(super) fn events_at(&self) -> (usize, usize) {
        let events = usize::try_from(self.events_said).map_or(MAX_EVENTS, |n| n.min(MAX_EVENTS));
        (EVENTS_AT, events * EVENT_BYTES)
    }

    /// Adds turns and events to the object.
    pub(super) fn with(mut self, turns: &[u8], events: &[u8]) -> Option<Self> {
        for turn in turns.chunks_exact(TURN_WORDS * WORD) {
            let number = |place| word(turn, place);
            let (point, cpu, nth, hold) = (number(0)?, number(1)?, number(2)?, number(3)?);
            let listed = Listed { point, cpu, nth, hold };
            self.given.push(Given { listed, count: number(4)?, time: number(5)? });
        }
        for event in events.chunks_exact(EVENT_BYTES) {
            let number = |place| word(event, place);
            let text = event[3 * WORD..].split(|byte| *byte == 0).next().unwrap_or_default();
            let text = String::from_utf8_lossy(text);
            let text = text.chars().filter(|c| !c.is_control()).collect();
            self.events.push(Event { cpu: number(0)?, count: number(1)?, time: number(2)?, text });
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn orders_are_words_and_turns_in_the_kernels_order() {
        let turn = |point, nth| Listed { point, cpu: 1, nth, hold: 2 };
        let listed = vec![turn(9, 1), turn(8, 3), turn(8, 2)];
        let ranges = vec![[0x10, 0x20]];
        let priorities = vec![LOWEST + 2];
        let orders = Orders { seed: 5, rate: 64, limit: 7, priorities, ranges, listed };
        let bytes = orders.bytes();
        assert_eq!(bytes[..7 * 8], words(&[LAYOUT, 0, 5, 64, 7, 1, LOWEST + 2]));
        assert_eq!(bytes[13 * 8..17 * 8], words(&[LOWEST, 1, 0x10, 0x20]));
        let list = (15 + 2 * MAX_RANGES) * 8;
        assert_eq!(bytes[list..], words(&[3, 8, 1, 2, 2, 8, 1, 3, 2, 9, 1, 1, 2]));
    }

    #[test]
    fn what_was_found_has_turns_and_events() {
        let head = Found::head(&words(&[2, 100, 0xabc, 1, 1, 4, 999])).unwrap();
        assert_eq!(head.verdict, Verdict::CheckFailed);
        assert_eq!(head.turns_at(), (56, 48));
        assert_eq!(head.events_at(), (56 + MAX_TURNS * 48, EVENT_BYTES));
        let mut event = words(&[2, 50, 600]);
        event.extend(b"stores\x1b[2J");
        event.resize(EVENT_BYTES, 0);
        let found = head.with(&words(&[8, 1, 3, 2, 40, 500]), &event).unwrap();
        let listed = Listed { point: 8, cpu: 1, nth: 3, hold: 2 };
        assert_eq!(found.given, [Given { listed, count: 40, time: 500 }]);
        let text = "stores[2J".to_owned();
        assert_eq!(found.events, [Event { cpu: 2, count: 50, time: 600, text }]);
        assert_eq!(Found::head(&words(&[9, 0, 0, 0, 0, 0, 0])), None);
        assert_eq!(Found::head(&words(&[1])), None);
    }

    #[test]
    fn the_kernels_object_has_the_same_layout() {
        let source = crate::assets::SCHEDULE_OBJECT;
        for (name, value) in [
            ("RANGES", MAX_RANGES),
            ("TURNS", MAX_TURNS),
            ("LISTED", MAX_TURNS),
            ("EVENTS", MAX_EVENTS),
            ("TEXT", MAX_TEXT),
            ("CPUS", MAX_CPUS),
        ] {
            assert!(source.contains(&format!("#define MAX_{name} {value}\n")), "{name}");
        }
        assert!(source.contains(&format!(".layout = {LAYOUT} ")));
        assert!(source.contains("#define LOWEST_ORDERED (1ULL << 32)"));
    }
}
