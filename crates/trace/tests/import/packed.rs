//! Compressed files and archives, as people download them.

use super::{Read, case, check, imported, of};
use pageout_trace::{Cause, Format, ImportOptions};
use std::io::Write;

const LOG: &[u8] = b"==1== Lackey\nI  0401ab70,3\n S 1fff000748,8\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).expect("it is compressed");
    out.finish().expect("it is compressed")
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
    out.write_all(bytes).expect("it is compressed");
    out.finish().expect("it is compressed")
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, *content).expect("it is appended");
    }
    archive.into_inner().expect("it is finished")
}

#[test]
fn each_packing_is_read_as_what_is_in_it() {
    let read = || Read(2, 2, &[(Cause::Remark, 1)]);
    check(
        &of(Format::Lackey),
        vec![
            case("gzip", gzip(LOG), read()),
            case("xz", xz(LOG), read()),
            case("zstd", zstd::encode_all(LOG, 3).expect("it is compressed"), read()),
            case("tar", tar(&[("a.log", LOG)]), read()),
            case("tar.xz", xz(&tar(&[("a.log", LOG)])), read()),
            case("tar.gz", gzip(&tar(&[("a.log", LOG)])), read()),
        ],
    );
    let records: Vec<u8> = [0x40_1000_u64, 1, 0, 0x6000, 0x5000, 0, 0, 0]
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    check(&of(Format::Champsim), vec![case("champsimtrace.xz", xz(&records), Read(3, 3, &[]))]);
    let mut json = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    json.write_all(
        br#"[{"target_id": 0, "snapshots": [{"regions": [{"start": "0", "end": "8,192",
            "nr_accesses": {"samples": 1, "percent": null}}]}]}]"#,
    )
    .expect("it is compressed");
    let json = json.finish().expect("it is compressed");
    check(&of(Format::Damon), vec![case("damo record", json, Read(2, 2, &[]))]);
}

#[test]
fn a_packing_that_is_damaged_or_holds_several_files_is_refused() {
    let several = gzip(&tar(&[("a.log", LOG), ("b.log", LOG)]));
    let cut = gzip(&LOG.repeat(100));
    for (input, part) in [
        (several, "a tar archive: it holds several files"),
        (cut[..cut.len() - 9].to_vec(), "gzip-compressed data: "),
    ] {
        let error = imported(&ImportOptions::default(), &input).expect_err("it is refused");
        let mut message = error.to_string();
        let source = std::error::Error::source(&error);
        message += &source.map_or_else(String::new, |source| format!(": {source}"));
        assert!(message.contains(part), "{message}");
    }
}
