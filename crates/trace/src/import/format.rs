//! What can be imported.

use crate::lackey;

/// What is imported, a closed set; each has a file that says where its form is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text of `valgrind --tool=lackey --trace-mem=yes`.
    Lackey,
    /// Text of `perf script -F pid,event,addr`, with or without `data_src`: samples.
    PerfScript,
    /// Text of DAMON's records, of `perf script` or of `damo report raw`: samples.
    Damon,
    /// ChampSim's instructions, 64 bytes each.
    Champsim,
    /// Text of `drrun -t drmemtrace -tool view`.
    Drmemtrace,
}

impl Format {
    /// Whether it has some of a program's accesses alone.
    pub const fn is_sampled(self) -> bool {
        matches!(self, Self::PerfScript | Self::Damon)
    }

    /// Whether its records say by themselves where an epoch ends.
    pub const fn has_epochs(self) -> bool {
        matches!(self, Self::Damon)
    }

    /// What messages call it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Lackey => "a lackey log",
            Self::PerfScript => "perf script",
            Self::Damon => "DAMON",
            Self::Champsim => "ChampSim",
            Self::Drmemtrace => "drmemtrace",
        }
    }

    /// What a message says of acceptable input.
    pub(super) const fn accepted(self) -> &'static str {
        match self {
            Self::Lackey => lackey::ACCEPTED,
            Self::PerfScript => {
                "lines `PID EVENT: ADDRESS` of `perf script -F pid,event,addr`, with or without \
                 data_src"
            }
            Self::Damon => {
                "lines of `perf script` with damon:damon_aggregated, or of \
                 `damo report raw`"
            }
            Self::Champsim => {
                "ChampSim's records of 64 bytes, decompressed: an instruction's \
                 address, two flags of 0 or 1, and on"
            }
            Self::Drmemtrace => {
                "lines of `drrun -t drmemtrace -tool view`, such as \
                 `RECORD INSTRUCTION: THREAD read 8 byte(s) @ 0xADDRESS by PC 0xADDRESS`"
            }
        }
    }
}
