//! Names for files by their first bytes.

use super::guess::guess;
use super::seeming::{Foreign, Seeming};
use crate::unpack::Packing;
use crate::wire::MAGIC;

/// The first bytes of files that nothing here reads.
const SIGNATURES: [(&[u8], Foreign); 13] = [
    (b"\xff\xfe", Foreign::Utf16),
    (b"\xfe\xff", Foreign::Utf16),
    (b"PERFILE2", Foreign::PerfData),
    (b"\x17\x08\x44tracing", Foreign::TraceDat),
    // 0x123456789abcdef0 (`libCacheSim/traceReader/generalReader/lcs.h`).
    (b"\xf0\xde\xbc\x9a\x78\x56\x34\x12", Foreign::Lcs),
    (b"BZh", Foreign::Bzip2),
    (b"\x04\x22\x4d\x18", Foreign::Lz4),
    (b"\x5d\x00\x00", Foreign::Lzma),
    (b"PK\x03\x04", Foreign::Zip),
    (b"7z\xbc\xaf\x27\x1c", Foreign::SevenZip),
    (b"\x7fELF", Foreign::Elf),
    // The default view of `damo report access`.
    (b"heatmap:", Foreign::DamoReport),
    // `lru_gen_seq_show` of the kernel's `mm/vmscan.c`.
    (b"memcg ", Foreign::LruGen),
];

/// Returns the kind of a file by its first bytes; some kilobytes are enough. Returns `None` if they
/// are unknown.
pub fn named(start: &[u8]) -> Option<Seeming> {
    if start.starts_with(&MAGIC) {
        return Some(Seeming::Trace);
    }
    if let Some(packing) = Packing::of(start) {
        return Some(Seeming::Packed(packing));
    }
    if let Some(format) = guess(start) {
        return Some(Seeming::Importable(format));
    }
    let signature = SIGNATURES.iter().find(|(first, _)| start.starts_with(first));
    let foreign = signature.map(|(_, foreign)| *foreign).or_else(|| named_text(start));
    foreign.map(Seeming::Foreign)
}

/// Returns the kind of a text by its first lines.
fn named_text(start: &[u8]) -> Option<Foreign> {
    let has = |part: &[u8]| start.windows(part.len()).any(|found| found == part);
    if start.contains(&0) {
        return None;
    }
    // The same with other heads, and the last lines of `damo report heatmap`.
    if has(b"# min/max temperatures:") || has(b"# access_frequency:") {
        return Some(Foreign::DamoReport);
    }
    if matches!(start.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return Some(Foreign::Json);
    }
    is_csv(start).then_some(Foreign::Csv)
}

/// Returns true if all whole lines have the same number of commas, two at least.
fn is_csv(start: &[u8]) -> bool {
    let Some(end) = start.iter().rposition(|byte| *byte == b'\n') else { return false };
    let commas = |line: &[u8]| line.iter().filter(|byte| **byte == b',').count();
    let mut lines = start[..end].split(|byte| *byte == b'\n').map(commas);
    let first = lines.next().unwrap_or(0);
    first >= 2 && lines.all(|other| other == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_their_first_bytes() {
        for (start, name) in [
            (&b"\x89PGT\r\n\x1a\n\x02\0"[..], "a page trace"),
            (b"\x1f\x8b\x08\0\0", "gzip-compressed data"),
            (b"\xfd7zXZ\0\0\x04", "xz-compressed data"),
            (b"\x28\xb5\x2f\xfd\x04", "zstd-compressed data"),
            (b"\xff\xfe1\0:\0", "UTF-16 text"),
            (b"PERFILE2h\0\0", "perf's own file"),
            (b"\x17\x08\x44tracing6\0", "trace-cmd's own file"),
            (b"\xf0\xde\xbc\x9a\x78\x56\x34\x12<IQIQ\0", "libCacheSim's lcs format"),
            (b"PK\x03\x04\0", "a zip archive"),
            (b"{\"schema\": \"x\"}\n", "JSON"),
            (b"1,2,3,4\n5,6,7,8\n9,", "comma-separated values"),
            (b"memcg     1 /\n node     0\n", "the text of lru_gen"),
            (b"heatmap: 0011\n# min/max", "a report of damo's for people"),
            (b"00001111\n# access_frequency:  0  1  2\n", "a report of damo's for people"),
            (b" L 1000,8\n", "a lackey log"),
        ] {
            assert_eq!(named(start).map(|seeming| seeming.to_string()).as_deref(), Some(name));
        }
        for start in [&b""[..], b"hello\n", b"\0\0\0\0", b"a,b\n"] {
            assert_eq!(named(start), None, "{start:?}");
        }
    }
}
