//! Kinds of files, with the next step for a user who has one.

use std::fmt;

use super::format::Format;
use crate::unpack::Packing;

/// A kind of file, as its first bytes show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeming {
    /// A page trace.
    Trace,
    /// An input of `trace import`.
    Importable(Format),
    /// A compressed file or an archive that importers unpack.
    Packed(Packing),
    /// Anything else that is known by its first bytes.
    Foreign(Foreign),
}

/// A file that nothing here reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// Text of 16 bits a character.
    Utf16,
    /// perf's own file.
    PerfData,
    /// trace-cmd's own file.
    TraceDat,
    /// libCacheSim's binary format.
    Lcs,
    /// A report of damo's for people.
    DamoReport,
    /// MGLRU's `lru_gen`, or `lru_gen_full`.
    LruGen,
    /// Compressed by bzip2.
    Bzip2,
    /// Compressed by LZ4.
    Lz4,
    /// Compressed by LZMA without the container of xz.
    Lzma,
    /// A zip archive, as of drmemtrace's own traces.
    Zip,
    /// A 7z archive.
    SevenZip,
    /// A program or a library.
    Elf,
    /// Values between commas.
    Csv,
    /// JSON of another program, or a record file.
    Json,
}

impl Seeming {
    /// Returns true for JSON and for comma-separated values, of any program: records are written as
    /// both.
    pub const fn is_text_of_records(self) -> bool {
        matches!(self, Self::Foreign(Foreign::Json | Foreign::Csv))
    }

    /// Returns the next step for a user who has such a file.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Trace => "`pageout trace info` reads it",
            Self::Importable(format) => format.advice(),
            Self::Packed(packing) => packing.advice(),
            Self::Foreign(foreign) => foreign.advice(),
        }
    }
}

impl Foreign {
    const fn advice(self) -> &'static str {
        match self {
            Self::Utf16 => "make it UTF-8 with `iconv -f UTF-16 -t UTF-8`",
            Self::PerfData => "print it with `perf script -F pid,event,addr,data_src`",
            Self::TraceDat => "print it with `trace-cmd report`",
            Self::Lcs => "convert it with libCacheSim's traceConv, to oracleGeneral",
            Self::DamoReport => "print the records with `damo report access --raw_form`",
            Self::LruGen => "print its generations with `pageout lab lru-gen --read`",
            Self::Bzip2 => "decompress it with `bzip2 -dc`",
            Self::Lz4 => "decompress it with `lz4 -dc`",
            Self::Lzma => "decompress it with `xz -dc --format=lzma`",
            Self::Zip => {
                "extract it; of drmemtrace, print it with `drrun -t drmemtrace -tool view`"
            }
            Self::SevenZip => "extract it",
            Self::Elf => "record it with `pageout trace record`",
            Self::Csv => "convert it with libCacheSim's traceConv, to oracleGeneral",
            Self::Json => "of JSON, `pageout trace import` reads that of `damo record`",
        }
    }
}

impl fmt::Display for Seeming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trace => "a page trace",
            Self::Importable(format) => match format {
                Format::Lackey => "a lackey log",
                Format::PerfScript => "the text of perf script",
                Format::Damon => "DAMON's records",
                Format::Champsim => "ChampSim's records of 64 bytes",
                Format::Cloudsuite => "ChampSim's CloudSuite records of 96 bytes",
                Format::Drmemtrace => "the text of drmemtrace's view",
                Format::OracleGeneral => "oracleGeneral's records",
            },
            Self::Packed(packing) => packing.name(),
            Self::Foreign(foreign) => match foreign {
                Foreign::Utf16 => "UTF-16 text",
                Foreign::PerfData => "perf's own file",
                Foreign::TraceDat => "trace-cmd's own file",
                Foreign::Lcs => "libCacheSim's lcs format",
                Foreign::DamoReport => "a report of damo's for people",
                Foreign::LruGen => "the text of lru_gen",
                Foreign::Bzip2 => "bzip2-compressed data",
                Foreign::Lz4 => "LZ4-compressed data",
                Foreign::Lzma => "LZMA-compressed data",
                Foreign::Zip => "a zip archive",
                Foreign::SevenZip => "a 7z archive",
                Foreign::Elf => "a program or a library",
                Foreign::Csv => "comma-separated values",
                Foreign::Json => "JSON",
            },
        })
    }
}
