//! A failure as CPUs against time: a table, and a sequence of steps.

use std::fmt::Write;

use pageout_record::render::wrapped;
use pageout_record::schema::{Sequence, Step, StepKind};

use super::layout::Event;
use super::text::Turn;

/// Rows shown before the first turn, and at each end of the rest.
const BEFORE: usize = 4;
const AT_AN_END: usize = 24;
/// The text of an event without one.
const UNTOLD: &str = "an event";

/// An act of a CPU at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The CPU's number.
    pub cpu: u64,
    /// The number of points that all CPUs had passed.
    pub count: u64,
    /// Nanoseconds since the run's beginning.
    pub time: u64,
    /// The act.
    pub what: What,
}

/// Acts of a CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// The workload or the kernel printed a line.
    Event(String),
    /// The CPU gave up its turn, at a file and line.
    Turn(Turn, String),
}

impl From<Event> for Row {
    fn from(Event { cpu, count, time, text }: Event) -> Self {
        Self { cpu, count, time, what: What::Event(text) }
    }
}

/// Returns the rows from shortly before the first turn on.
fn from_first_turn(rows: &[Row]) -> &[Row] {
    let first = rows.iter().position(|row| matches!(row.what, What::Turn(..)));
    let start = first.unwrap_or(rows.len()).min(rows.len()).saturating_sub(BEFORE);
    &rows[start..]
}

impl Row {
    /// Describes the act.
    fn said(&self) -> String {
        match &self.what {
            What::Event(text) => text.clone(),
            What::Turn(turn, line) => given(turn, line),
        }
    }

    /// Returns the time in microseconds.
    fn us(&self) -> String {
        format!("{}.{}", self.time / 1000, self.time % 1000 / 100)
    }
}

/// Returns the failure as steps of CPUs; `None` if it has no row.
pub(super) fn sequence(rows: &[Row], cpus: u8) -> Option<Sequence> {
    let rows = from_first_turn(rows);
    let last = rows.len().checked_sub(1)?;
    let step = |(place, row): (usize, &Row)| {
        let text = row.said();
        let is_failure = place == last && matches!(row.what, What::Event(_));
        Step {
            actor: usize::try_from(row.cpu).unwrap_or(0),
            text: if text.trim().is_empty() { UNTOLD.to_owned() } else { text },
            after: vec![row.us()],
            kind: if is_failure { StepKind::Violation } else { StepKind::Step },
        }
    };
    Some(Sequence {
        actors: (0..cpus).map(|cpu| format!("CPU {cpu}")).collect(),
        start: Vec::new(),
        watched: vec!["us".to_owned()],
        steps: rows.iter().enumerate().map(step).collect(),
    })
}

/// Returns the table of this many columns of characters: microseconds, a column for each CPU, and
/// the act of the marked one.
pub fn table(rows: &[Row], cpus: u8, columns: usize) -> String {
    let mut text = String::from("        us  CPU");
    let heads: String = (0..cpus).map(|cpu| format!(" {cpu}")).collect();
    text += &heads;
    text.push('\n');
    let width = text.trim_end().chars().count() + 2;
    let rows = from_first_turn(rows);
    let left_out = rows.len().saturating_sub(2 * AT_AN_END);
    for (place, row) in rows.iter().enumerate() {
        if place == AT_AN_END && left_out > 0 {
            writeln!(text, "{:>10}  {left_out} rows more", "...").expect("a string takes all");
        }
        if left_out > 0 && (AT_AN_END..AT_AN_END + left_out).contains(&place) {
            continue;
        }
        let mark = if matches!(row.what, What::Event(_)) { '|' } else { '*' };
        let marks: String = (0..u64::from(cpus))
            .flat_map(|cpu| [' ', if cpu == row.cpu { mark } else { '.' }])
            .collect();
        let mut before = format!("{:>10}     {marks}  ", row.us());
        for line in wrapped(&row.said(), columns - width).split('\n') {
            writeln!(text, "{}", format!("{before}{line}").trim_end()).expect("a string takes all");
            before = " ".repeat(width);
        }
    }
    text
}

/// Describes a turn.
fn given(Turn { place, nth, hold, .. }: &Turn, line: &str) -> String {
    let rounds = if *hold == 1 { "1 round".to_owned() } else { format!("{hold} rounds") };
    format!("waits {rounds} in {}(), {line}, pass {nth}", place.function)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cpu: u64, time: u64, text: &str) -> Row {
        Row { cpu, count: 1, time, what: What::Event(text.into()) }
    }

    fn turn(time: u64, hold: u64) -> Row {
        let place = "shrink_folio_list+0x1a3".parse().unwrap();
        let turn = Turn { cpu: 0, place, nth: 12, hold };
        Row { cpu: 0, count: 1, time, what: What::Turn(turn, "mm/vmscan.c:1465".into()) }
    }

    #[test]
    fn a_failure_is_cpus_against_time() {
        let rows = [
            row(0, 1_234, "round 1: MADV_PAGEOUT"),
            turn(12_345, 4),
            row(2, 1_345_678, "page 0 is unmapped: writes it out"),
            row(
                1,
                2_000_000,
                "stored 34001744, after fsync() the disk has 34001742, and so on and on",
            ),
        ];
        let table = table(&rows, 3, 80);
        let expected = "        us  CPU 0 1 2
       1.2      | . .  round 1: MADV_PAGEOUT
      12.3      * . .  waits 4 rounds in shrink_folio_list(), mm/vmscan.c:1465,
                         pass 12
    1345.6      . . |  page 0 is unmapped: writes it out
    2000.0      . | .  stored 34001744, after fsync() the disk has 34001742, and
                         so on and on
";
        assert_eq!(table, expected);
        assert!(table.lines().all(|line| line.len() <= 80));
        assert!(super::table(&rows, 3, 72).lines().all(|line| line.len() <= 72));
    }

    #[test]
    fn a_failure_is_steps_of_which_the_last_event_is_wrong() {
        let rows = [row(0, 1_000, "earlier"), row(2, 2_000, "")];
        let mut rows: Vec<Row> = rows.iter().cycle().take(6).cloned().collect();
        rows.extend([turn(12_345, 1), row(1, 20_000, "stored 4, the disk has 3")]);
        let sequence = sequence(&rows, 3).unwrap();
        assert_eq!(sequence.actors, ["CPU 0", "CPU 1", "CPU 2"]);
        assert_eq!(sequence.steps.len(), 6);
        let [.., event, turn, last] = &sequence.steps[..] else { panic!() };
        assert_eq!((event.text.as_str(), event.actor), (UNTOLD, 2));
        assert_eq!(turn.text, "waits 1 round in shrink_folio_list(), mm/vmscan.c:1465, pass 12");
        assert_eq!((&*turn.after, turn.kind), (&["12.3".to_owned()][..], StepKind::Step));
        assert_eq!((last.actor, last.kind), (1, StepKind::Violation));
        assert_eq!(super::sequence(&[], 3), None);
    }

    #[test]
    fn of_a_long_failure_both_ends_are_shown() {
        let mut rows: Vec<Row> = (0..100).map(|time| row(1, time * 1000, "x")).collect();
        rows.insert(10, turn(9_500, 1));
        let table = table(&rows, 2, 80);
        assert!(table.lines().nth(1).unwrap().contains(" 6.0 "), "{table}");
        assert!(table.contains("  ...  47 rows more\n"), "{table}");
        assert_eq!(table.lines().count(), 1 + 2 * AT_AN_END + 1 + 1);
    }
}
