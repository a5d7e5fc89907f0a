//! Memory samples as `perf script -F pid,event,addr` prints them, or `pid,event,addr,data_src`:
//!
//! ```text
//! 10710 cpu/mem-loads,ldlat=30/P:     559fdf9825c0
//! 10710 cpu/mem-loads,ldlat=30/P:     559fdf9825c0      10268100142 |OP LOAD|LVL L1 hit|…
//! ```
//!
//! The process, the event with a colon, the data's address in hexadecimal without a prefix, and
//! what the processor tells of the access, a number and its meaning. With `tid` the first field is
//! `PID/TID`. The order of fields is perf's, whatever that of `-F` is
//! (`tools/perf/builtin-script.c`, `process_event`; seen with perf 6.1 of Debian 12).

use super::text::{Line, words};
use crate::reference::{Reference, decimal, hexadecimal};

/// Addresses from here on are the kernel's.
const KERNEL: u64 = 1 << 63;

pub(super) fn line(line: &[u8]) -> Option<Line> {
    let mut words = words(line);
    let Some(first) = words.next() else { return Some(Line::Nothing) };
    // perf's own remarks.
    if first.starts_with(b"#") {
        return Some(Line::Nothing);
    }
    let process = decimal(first.split(|byte| *byte == b'/').next()?)?;
    let event = words.next()?.strip_suffix(b":")?;
    let address = hexadecimal(words.next()?)?;
    let store = match words.next() {
        None => event.windows(5).any(|word| word.eq_ignore_ascii_case(b"store")),
        Some(source) => {
            hexadecimal(source)?;
            let (kind, what) = (words.next()?, words.next()?);
            kind.strip_prefix(b"|OP").filter(|rest| rest.is_empty())?;
            what.starts_with(b"STORE")
        }
    };
    // 0 stands for an address that is not known.
    let known = (1..KERNEL).contains(&address);
    Some(Line::Access { process, reference: known.then(|| Reference::at(address, store)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(text: &str) -> (u64, Option<Reference>) {
        match line(text.as_bytes()) {
            Some(Line::Access { process, reference }) => (process, reference),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn samples_are_loads_unless_something_says_store() {
        let source =
            "    10268100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A";
        let stores = source.replace("LOAD", "STORE");
        for (text, store) in [
            ("10710 page-faults:     559fdf9825c0".to_owned(), false),
            ("   10 cpu/mem-loads,ldlat=30/P: 559fdf9825c0".to_owned(), false),
            ("10/11 cpu/mem-stores/P: 559fdf9825c0".to_owned(), true),
            ("10 MEM_INST_RETIRED.ALL_STORES: 559fdf9825c0".to_owned(), true),
            (format!("10 cpu/mem-stores/P: 559fdf9825c0{source}"), false),
            (format!("10 cpu/mem-loads/P: 559fdf9825c0{stores}"), true),
        ] {
            assert_eq!(access(&text).1, Some(Reference::at(0x559f_df98_25c0, store)), "{text}");
        }
        assert_eq!(access("10/11 a: 1").0, 10);
    }

    #[test]
    fn unknown_addresses_and_the_kernel_s_are_left_out() {
        assert_eq!(access("7 a: 0"), (7, None));
        assert_eq!(access("7 a: ffffffff821e8700"), (7, None));
    }

    #[test]
    fn other_lines_are_refused() {
        assert_eq!(line(b"  "), Some(Line::Nothing));
        assert_eq!(line(b"# captured on: today"), Some(Line::Nothing));
        let others = [
            "ls 10710 67825.726642:          1 page-faults:  ffffffff821e8700",
            "10710 page-faults 559f",
            "10710 page-faults:",
            "10710 page-faults: xyz",
            "10710 page-faults: 559f 559fdf9825c0",
            "-1 page-faults: 559f",
            "10 a: 12345678901234567",
        ];
        for text in others {
            assert_eq!(line(text.as_bytes()), None, "{text}");
        }
    }
}
