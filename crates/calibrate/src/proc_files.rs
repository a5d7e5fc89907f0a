//! Texts of `/proc`: `smaps`, for the referenced part of a mapping, and a thread's `status`, for
//! the number of times that it lost its CPU.

/// The sizes of a mapping, in KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mapping {
    /// The mapping's `Size`.
    pub(super) size: u64,
    /// `Referenced`: the pages whose entry is young, or whose folio is marked as used.
    pub(super) referenced: u64,
}

/// Finds the mapping that holds an address in the text of smaps; `None` if there is none, or its
/// text lacks one of the sizes.
pub(super) fn mapping(text: &str, address: u64) -> Option<Mapping> {
    let mut lines = text.lines().skip_while(|line| !holds(line, address));
    lines.next()?;
    let own = lines.take_while(|line| range(line).is_none());
    let (mut size, mut referenced) = (None, None);
    for line in own {
        match line.split_once(':') {
            Some(("Size", value)) => size = kib(value),
            Some(("Referenced", value)) => referenced = kib(value),
            _ => {}
        }
    }
    Some(Mapping { size: size?, referenced: referenced? })
}

fn holds(line: &str, address: u64) -> bool {
    range(line).is_some_and(|(start, end)| (start..end).contains(&address))
}

/// Parses the addresses at the beginning of a mapping's first line: `start-end `, in hexadecimal.
fn range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some((address(start)?, address(end)?))
}

/// Parses `    128 kB`.
fn kib(value: &str) -> Option<u64> {
    value.trim().strip_suffix(" kB")?.parse().ok()
}

/// Returns the number of times that a thread lost its CPU although it could have run on, from the
/// text of its status.
pub(super) fn preemptions(text: &str) -> Option<u64> {
    let lines = text.lines();
    let value = lines.filter_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:")).next()?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often_a_thread_lost_its_cpu() {
        let text = "State:\tR (running)\nvoluntary_ctxt_switches:\t31\n\
                    nonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(preemptions(text), Some(7));
        assert_eq!(preemptions("voluntary_ctxt_switches:\t31\n"), None);
    }

    /// As Linux 6.18 writes it, without some of the lines.
    const TEXT: &str = "\
55d0c8a00000-55d0c8a02000 r--p 00000000 fe:00 1234                       /usr/bin/cat
Size:                  8 kB
KernelPageSize:        4 kB
Rss:                   8 kB
Referenced:            8 kB
VmFlags: rd mr mw me
7f2b4c000000-7f2b4c020000 rw-p 00000000 00:00 0 
Size:                128 kB
Rss:                 128 kB
Private_Dirty:       128 kB
Referenced:           36 kB
Anonymous:           128 kB
THPeligible:           0
VmFlags: rd wr mr mw me ac dc nh
7f2b4c020000-7f2b4c021000 rw-p 00000000 00:00 0                          [heap]
Size:                  4 kB
";

    #[test]
    fn the_mapping_of_an_address() {
        let anonymous = Some(Mapping { size: 128, referenced: 36 });
        assert_eq!(mapping(TEXT, 0x7f2b_4c00_0000), anonymous);
        assert_eq!(mapping(TEXT, 0x7f2b_4c01_ffff), anonymous);
        assert_eq!(mapping(TEXT, 0x55d0_c8a0_1000), Some(Mapping { size: 8, referenced: 8 }));
    }

    #[test]
    fn what_is_not_told() {
        assert_eq!(mapping(TEXT, 0x1000), None);
        assert_eq!(mapping(TEXT, 0x7f2b_4c02_0000), None, "without Referenced");
        assert_eq!(mapping("", 0), None);
        assert_eq!(mapping("Referenced: 4 kB\n", 0), None);
    }
}
