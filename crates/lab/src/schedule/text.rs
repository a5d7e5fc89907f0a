//! Schedules as text: the failure, and the turns to give up to repeat it.

use std::fmt;

use super::strategy::Strategy;
use super::symbols::Place;

/// The first line of a schedule.
const FIRST: &str = "pageout schedule 1";

/// A turn to give up: the `nth` time that a CPU comes to a point, for `hold` rounds of the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The CPU's number.
    pub cpu: u64,
    /// The point.
    pub place: Place,
    /// The number of the time, from 1.
    pub nth: u64,
    /// The number of rounds.
    pub hold: u64,
}

/// A failure that can be repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// The workload, with its arguments.
    pub workload: String,
    /// The number of CPUs of the machine.
    pub cpus: u8,
    /// The kernel that failed: its name.
    pub kernel: String,
    /// The build of that kernel: a part of its hash.
    pub build: String,
    /// The only functions that gave up turns in the search, if any were named. Points elsewhere are
    /// not counted, because counting takes time.
    pub turns_in: Vec<String>,
    /// The strategy that found it: `rate=64`.
    pub found: String,
    /// The seed, by which the workload may draw too.
    pub seed: u64,
    /// The failure.
    pub failure: String,
    /// The turns, in the order in which they were given up.
    pub turns: Vec<Turn>,
}

/// A text that is no schedule.
#[derive(PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextError {
    /// A text without the line that schedules begin with.
    #[error("it is not a schedule: no line is `{FIRST}`; expected a file that --save wrote")]
    First,
    /// A line of unknown form.
    #[error(
        "line {number}: `{line}`: expected workload, cpus, kernel, build, turns-in, found, seed, \
        failure, or `turn CPU FUNCTION+0xOFFSET NTH HOLD`"
    )]
    Line {
        /// The line's number, from 1.
        number: usize,
        /// The line's text.
        line: String,
    },
    /// A missing line.
    #[error("a line is missing: {0}")]
    Missing(&'static str),
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "turn {} {} {} {}", self.cpu, self.place, self.nth, self.hold)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, cpus, kernel, build, turns_in, found, seed, failure, turns } = self;
        writeln!(f, "{FIRST}\nworkload {workload}\ncpus {cpus}\nkernel {kernel}\nbuild {build}")?;
        if !turns_in.is_empty() {
            writeln!(f, "turns-in {}", turns_in.join(","))?;
        }
        writeln!(f, "found {found}\nseed {seed}\nfailure {failure}")?;
        turns.iter().try_for_each(|turn| writeln!(f, "{turn}"))
    }
}

fn turn(rest: &str) -> Option<Turn> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [cpu, place, nth, hold] = words[..] else { return None };
    let positive = |text: &str| text.parse().ok().filter(|number| *number > 0);
    let (cpu, place) = (cpu.parse().ok()?, place.parse().ok()?);
    Some(Turn { cpu, place, nth: positive(nth)?, hold: positive(hold)? })
}

impl Schedule {
    /// Returns true if the turns and the seed repeat the run. Under pct the seed decides at every
    /// point, which is no list.
    pub fn repeats(&self) -> bool {
        !self.turns.is_empty() || !matches!(self.found.parse(), Ok(Strategy::Pct(_)))
    }

    /// Parses the text of a schedule, or a mail with one: it begins at the line that schedules
    /// begin with, and ends at an empty one. A line that begins with a blank continues the line
    /// before.
    ///
    /// # Errors
    ///
    /// [`TextError`] for the first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut lines: Vec<(usize, String)> = Vec::new();
        let from_first = (1..).zip(text.lines()).skip_while(|(_, line)| line.trim_end() != FIRST);
        for (number, line) in from_first.take_while(|(_, line)| !line.trim().is_empty()) {
            match lines.last_mut().filter(|_| line.starts_with(' ')) {
                Some((_, before)) => *before += &format!(" {}", line.trim()),
                None => lines.push((number, line.trim_end().to_owned())),
            }
        }
        if lines.is_empty() {
            return Err(TextError::First);
        }
        const NAMES: [&str; 7] =
            ["workload", "cpus", "kernel", "build", "found", "seed", "failure"];
        let mut of = [const { None::<String> }; NAMES.len()];
        let (mut turns, mut turns_in) = (Vec::new(), Vec::new());
        let (mut cpus, mut seed) = (0, 0);
        for (number, line) in lines.into_iter().skip(1) {
            let wrong = || TextError::Line { number, line: line.chars().take(80).collect() };
            let (name, rest) = line.split_once(' ').ok_or_else(wrong)?;
            if name == "turn" {
                turns.push(turn(rest).ok_or_else(wrong)?);
                continue;
            }
            if name == "turns-in" {
                turns_in = rest.split(',').map(str::to_owned).collect();
                continue;
            }
            let place = NAMES.iter().position(|of| *of == name).ok_or_else(wrong)?;
            if name == "cpus" {
                cpus = rest.parse().ok().filter(|n| (2..=8).contains(n)).ok_or_else(wrong)?;
            }
            if name == "seed" {
                seed = rest.parse().map_err(|_| wrong())?;
            }
            of[place] = Some(rest.to_owned());
        }
        if let Some(place) = of.iter().position(Option::is_none) {
            return Err(TextError::Missing(NAMES[place]));
        }
        let [workload, _, kernel, build, found, _, failure] = of.map(Option::unwrap_or_default);
        Ok(Self { workload, cpus, kernel, build, turns_in, found, seed, failure, turns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        let place = "shrink_folio_list+0x1a3".parse().unwrap();
        Schedule {
            workload: "lost-write 10 alone".into(),
            cpus: 3,
            kernel: "stock".into(),
            build: "0123abcd".into(),
            turns_in: vec!["shrink_folio_list".into(), "try_to_unmap_one".into()],
            found: "rate=64".into(),
            seed: 3,
            failure: "a check failed: stored 5, after fsync() the disk has 4".into(),
            turns: vec![Turn { cpu: 0, place, nth: 12, hold: 4 }],
        }
    }

    #[test]
    fn a_schedule_is_read_as_it_is_written() {
        let text = schedule().to_string();
        assert!(text.ends_with("\nturn 0 shrink_folio_list+0x1a3 12 4\n"), "{text}");
        assert_eq!(Schedule::parse(&text), Ok(schedule()));
        let anywhere = Schedule { turns_in: Vec::new(), ..schedule() };
        assert_eq!(Schedule::parse(&anywhere.to_string()), Ok(anywhere));
    }

    #[test]
    fn a_schedule_is_taken_from_a_mail() {
        let broken = schedule().to_string().replace(", after", ",\n  after");
        let mail = format!("Hi,\n\nit fails:\n\n{broken}\n\nSeen: turn 0 x\n");
        assert_eq!(Schedule::parse(&mail), Ok(schedule()));
        let wrong = mail.replace("cpus 3", "cpus 9");
        assert!(matches!(Schedule::parse(&wrong), Err(TextError::Line { number: 7, .. })));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let text = schedule().to_string();
        assert_eq!(Schedule::parse("x"), Err(TextError::First));
        assert_eq!(Schedule::parse(""), Err(TextError::First));
        let missing = text.replace("build 0123abcd\n", "");
        assert_eq!(Schedule::parse(&missing), Err(TextError::Missing("build")));
        for (from, to) in [
            ("turn 0 ", "turn x "),
            (" 12 4", " 0 4"),
            (" 12 4", " 12"),
            ("cpus 3", "cpus 9"),
            ("seed 3", "seed x"),
            ("kernel stock", "kernels stock"),
        ] {
            let wrong = text.replace(from, to);
            let error = Schedule::parse(&wrong);
            assert!(matches!(error, Err(TextError::Line { .. })), "{wrong}");
        }
    }
}
