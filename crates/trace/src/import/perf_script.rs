//! Memory samples as `perf script` prints them, with the fields `pid,event,addr` and any others:
//!
//! ```text
//! 10710 cpu/mem-loads,ldlat=30/P:     559fdf9825c0
//! 10710 cpu/mem-loads,ldlat=30/P:     559fdf9825c0      10268100142 |OP LOAD|LVL L1 hit|…
//! ls 10710/10710 [003] 596.325633:   1 page-faults:     559fdf9825c0 main ffff8175336a copy ([k])
//! ```
//!
//! The order of fields is perf's, whatever that of `-F` is: command, process (`PID/TID` with
//! `tid`), CPU, time, period, event with a colon, the data's address in hexadecimal without a
//! prefix, the processor's description of the access, and the instruction with its symbol
//! (`tools/perf/builtin-script.c`, `process_event`; the description is of
//! `tools/perf/util/mem-events.c`; seen with perf 6.1 of Debian 12). A call chain follows on lines
//! of its own. Address and instruction both take 16 columns; the address begins one column after
//! the event's colon, the instruction two.

use super::access::{Access, Cause};
use super::text::{Line, placed_words, words};
use crate::reference::{Reference, decimal, hexadecimal};

/// The columns from the event's colon to the end of an address.
const ADDRESS_COLUMNS: usize = 17;

pub(super) fn line(line: &[u8]) -> Option<Line> {
    let Some(first) = words(line).next() else { return Some(Line::Nothing) };
    // perf's own remarks.
    if first.starts_with(b"#") {
        return Some(Line::Nothing);
    }
    let Some(Sample { process, event, after }) = sample(line) else {
        return no_sample(line, first).map(Line::PassedOver);
    };
    let Some(address) = words(after).next().and_then(hexadecimal) else {
        return Some(Line::PassedOver(Cause::OtherEvent));
    };
    let begins = after.len() - after.trim_ascii_start().len();
    let digits = words(after).next().map_or(0, <[u8]>::len);
    if begins + digits > ADDRESS_COLUMNS {
        return Some(Line::PassedOver(Cause::NoAddress));
    }
    Some(Line::Access { process, access: access(event, address, after) })
}

/// Returns the cause of a line without an event: a call chain is indented and begins with an
/// instruction.
fn no_sample(line: &[u8], first: &[u8]) -> Option<Cause> {
    if words(line).any(|word| word.starts_with(b"PERF_RECORD_")) {
        return Some(Cause::OtherEvent);
    }
    let is_indented = line.starts_with(b" ") || line.starts_with(b"\t");
    (is_indented && hexadecimal(first).is_some()).then_some(Cause::CallChain)
}

/// The fields that each sample needs.
struct Sample<'l> {
    process: u64,
    event: &'l [u8],
    /// The line after the event's colon.
    after: &'l [u8],
}

/// Splits a line at its event: the first word with a colon at its end that has a letter, stands
/// after a process and is not of the command's name.
fn sample(line: &[u8]) -> Option<Sample<'_>> {
    let mut before: Vec<&[u8]> = Vec::new();
    for (at, word) in placed_words(line) {
        let event = word.strip_suffix(b":").filter(|name| is_event(name));
        if let Some((event, process)) = event.zip(process(&before)) {
            return Some(Sample { process, event, after: &line[at + word.len()..] });
        }
        before.push(word);
    }
    None
}

/// Returns true for a name of an event: times and numbers with a colon are none.
fn is_event(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_alphabetic)
}

/// Returns the process among the words before an event: the last one before CPU and time, or else
/// the first, since a period may follow it.
fn process(before: &[&[u8]]) -> Option<u64> {
    let is_time = |word: &&[u8]| {
        let digits = word.strip_suffix(b":").unwrap_or_default();
        digits.contains(&b'.') && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    };
    let is_cpu = |word: &&[u8]| word.starts_with(b"[");
    let end = before.iter().position(|word| is_cpu(word) || is_time(word));
    let number = |word: &&[u8]| decimal(word.split(|byte| *byte == b'/').next()?);
    match end {
        Some(end) => before[..end].last().and_then(number),
        None => before.iter().find_map(number),
    }
}

/// Returns the access of a sample, by the processor's description or else by the event's name.
fn access(event: &[u8], address: u64, after: &[u8]) -> Access {
    const OPERATION: &[u8] = b"|OP ";
    let described = after.windows(OPERATION.len()).position(|part| part == OPERATION);
    let operation = described.and_then(|at| words(&after[at + OPERATION.len()..]).next());
    let is = |name: &[u8]| operation.is_some_and(|operation| operation.starts_with(name));
    let named = event.windows(5).any(|word| word.eq_ignore_ascii_case(b"store"));
    match operation {
        // perf prints 0 if the processor did not report an address.
        _ if address == 0 => Access::Unknown,
        Some(_) if is(b"PFETCH") => Access::Prefetch,
        Some(_) if is(b"LOAD") => Access::Reference(Reference::at(address, false)),
        Some(_) if is(b"STORE") => Access::Reference(Reference::at(address, true)),
        _ => Access::Reference(Reference::at(address, named)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: u64 = 0x559f_df98_25c0;

    fn found(text: &str) -> (u64, Access) {
        match line(text.as_bytes()) {
            Some(Line::Access { process, access }) => (process, access),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn samples_are_loads_unless_description_or_event_says_store() {
        let source =
            "    10268100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A";
        let stores = source.replace("LOAD", "STORE");
        let unknown = source.replace("LOAD", "N/A");
        for (text, store) in [
            ("10710 page-faults:     559fdf9825c0".to_owned(), false),
            ("   10 cpu/mem-loads,ldlat=30/P: 559fdf9825c0".to_owned(), false),
            ("10/11 cpu/mem-stores/P: 559fdf9825c0".to_owned(), true),
            ("10 MEM_INST_RETIRED.ALL_STORES: 559fdf9825c0".to_owned(), true),
            (format!("10 cpu/mem-stores/P: 559fdf9825c0{source}"), false),
            (format!("10 cpu/mem-loads/P: 559fdf9825c0{stores}"), true),
            (format!("10 cpu_core/mem-stores/P: 559fdf9825c0{unknown}"), true),
            (format!("10 l1d-access: 559fdf9825c0{unknown}"), false),
        ] {
            let expected = Access::Reference(Reference::at(ADDRESS, store));
            assert_eq!(found(&text).1, expected, "{text}");
        }
        let prefetch = source.replace("LOAD", "PFETCH");
        assert_eq!(found(&format!("1 memory: 1000{prefetch}")).1, Access::Prefetch);
    }

    #[test]
    fn the_process_is_found_whatever_other_fields_there_are() {
        for (text, process) in [
            ("10/11 a: 1", 10),
            ("10 a: 1", 10),
            ("10 1 a: 1", 10),
            ("ls 10 a: 1", 10),
            ("ls 10/11 [003] 596.325633: a: 1", 10),
            ("ls 10 596.325633:          1 page-faults:     559fdf9825c0", 10),
            ("tmux: server 10 [003] 1.5:  20 cpu/mem-loads/P: 559fdf9825c0", 10),
            ("Thread 7 10/11 1.5: a: 1", 10),
            ("10 [003] a: 1", 10),
        ] {
            assert_eq!(found(text).0, process, "{text}");
        }
    }

    #[test]
    fn an_instruction_in_place_of_an_address_is_no_access() {
        for text in [
            "true 17604   596.325633:          1 page-faults:  ffffffff8175336a load+0x2 ([k])",
            "17604 page-faults:      7f2be1923110",
        ] {
            assert_eq!(line(text.as_bytes()), Some(Line::PassedOver(Cause::NoAddress)), "{text}");
        }
        let with_both = "17604 page-faults:     559fdf9825c0 [unknown] ffffffff821ecf7d __put_user";
        assert_eq!(found(with_both).1, Access::Reference(Reference::at(ADDRESS, false)));
    }

    #[test]
    fn lines_of_no_sample_have_their_cause() {
        let passed = Line::PassedOver;
        for (text, expected) in [
            ("  ", Line::Nothing),
            ("# captured on: today", Line::Nothing),
            ("\tffffffff8175336a elf_load+0x28a ([kernel.kallsyms])", passed(Cause::CallChain)),
            ("            559fdf9825c0 main (inlined)", passed(Cause::CallChain)),
            ("ls 10 [003] 1.5: sched:sched_switch: prev_comm=ls", passed(Cause::OtherEvent)),
            ("ls 10 [003] 1.5: PERF_RECORD_MMAP2 10/10: [0x55(0x1)]", passed(Cause::OtherEvent)),
        ] {
            assert_eq!(line(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_lines_are_refused() {
        let others = [
            "10710 page-faults 559f",
            "-1 page-faults: 559f",
            "page-faults: 559f",
            "47446  37770: 2765543 read 8 byte(s)",
            "I  0401ab70,3",
        ];
        for text in others {
            assert_eq!(line(text.as_bytes()), None, "{text}");
        }
    }
}
