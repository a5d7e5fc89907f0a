//! Recognizes an importable format by an input's first bytes.

use super::format::Format;
use super::text::{Line, Parse, unmarked};
use super::{champsim, damon, drmemtrace, lackey_log, oracle, perf_script};

/// The bytes at the beginning of an input by which it is recognized; only a shorter input is passed
/// as a whole.
pub(super) const START: usize = 64 << 10;

/// Returns the format of all records of `start`. For a text, it is the format with the most
/// accesses before the first line of another form.
pub(super) fn guess(start: &[u8]) -> Option<Format> {
    let text = unmarked(start);
    if text.contains(&0) {
        return guess_binary(start);
    }
    if is_damo_json(text) {
        return Some(Format::Damon);
    }
    let found = [
        (Format::Lackey, count(text, accesses(lackey_log::line))),
        (Format::Drmemtrace, count(text, accesses(drmemtrace::line))),
        (Format::Damon, count(text, damon::is_region)),
        (Format::PerfScript, count(text, accesses(perf_script::line))),
    ];
    let most = found.into_iter().rev().max_by_key(|(_, count)| *count);
    most.filter(|(_, count)| *count > 0).map(|(format, _)| format)
}

fn guess_binary(start: &[u8]) -> Option<Format> {
    if oracle::seems(start) {
        Some(Format::OracleGeneral)
    } else if champsim::seems(start, START) {
        Some(Format::Champsim)
    } else if champsim::seems_cloudsuite(start, START) {
        Some(Format::Cloudsuite)
    } else {
        None
    }
}

/// Counts the accesses in the complete lines of a text before the first line of another format.
fn count(text: &[u8], is_access: impl Fn(&[u8]) -> Option<bool>) -> usize {
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(&text[..0], |end| &text[..end]);
    let lines = whole.split(|byte| *byte == b'\n');
    let accesses = lines.map_while(|line| is_access(line.strip_suffix(b"\r").unwrap_or(line)));
    accesses.filter(|is_access| *is_access).count()
}

fn accesses(parse: Parse) -> impl Fn(&[u8]) -> Option<bool> {
    move |line| parse(line).map(|line| matches!(line, Line::Access { .. }))
}

/// Returns true for a list that has the names of damo's records.
fn is_damo_json(text: &[u8]) -> bool {
    let has = |name: &[u8]| text.windows(name.len()).any(|part| part == name);
    text.trim_ascii_start().starts_with(b"[") && has(b"\"target_id\"") && has(b"\"snapshots\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_recognized_by_its_own_lines() {
        for (text, format) in [
            ("==3== Lackey, an example Valgrind tool\nI  0401ab70,3\n L 10", Format::Lackey),
            ("10710 cpu/mem-loads,ldlat=30/P:     559fdf9825c0\n", Format::PerfScript),
            (
                "kdamond.0 4 [027] 7.8: damon:damon_aggregated: target_id=1 nr_regions=2 1-2: 3\n",
                Format::Damon,
            ),
            (
                "target_id: 0\nnr_regions: 1\n1000-3000 (   8.000 KiB)           3     7\n",
                Format::Damon,
            ),
            ("\u{feff}[{\"target_id\": 1, \"snapshots\": [", Format::Damon),
            ("1 1: 5 read 8 byte(s) @ 0x1000 by PC 0x1\n", Format::Drmemtrace),
            ("T5 ifetch       3 byte(s) @ 0x1000 non-branch\r\n", Format::Drmemtrace),
            (" L 1000,8\n X 2000,8\n", Format::Lackey),
        ] {
            assert_eq!(guess(text.as_bytes()), Some(format), "{text}");
        }
        for text in ["", "hello\n", " L 1000,8", "10710 page-faults: x\n", "[1, 2]\n"] {
            assert_eq!(guess(text.as_bytes()), None, "{text}");
        }
    }
}
