//! The formats that can be imported.

use crate::lackey;

/// A format that can be imported; each has a file that cites the format's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text of `valgrind --tool=lackey --trace-mem=yes`.
    Lackey,
    /// Text of `perf script` with the fields `pid,event,addr` and any others: samples.
    PerfScript,
    /// DAMON's records, as the tracepoints of `perf script` or `trace-cmd report`, or as damo's
    /// text or JSON: samples.
    Damon,
    /// ChampSim's instructions, 64 bytes each.
    Champsim,
    /// ChampSim's instructions of CloudSuite, 96 bytes each.
    Cloudsuite,
    /// Text of `drrun -t drmemtrace -tool view`.
    Drmemtrace,
    /// Requests to a cache, 24 bytes each.
    OracleGeneral,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Lackey,
        Self::PerfScript,
        Self::Damon,
        Self::Champsim,
        Self::Cloudsuite,
        Self::Drmemtrace,
        Self::OracleGeneral,
    ];

    /// Returns true if the format has only some of a program's accesses.
    pub const fn is_sampled(self) -> bool {
        matches!(self, Self::PerfScript | Self::Damon)
    }

    /// Returns true if the format's records show where an epoch ends.
    pub const fn has_epochs(self) -> bool {
        matches!(self, Self::Damon)
    }

    /// Returns true if the format's records name their process.
    pub const fn has_processes(self) -> bool {
        matches!(self, Self::PerfScript | Self::Damon | Self::Drmemtrace)
    }

    /// Returns true if the trace keeps all of its accesses.
    pub const fn keeps_all(self) -> bool {
        self.is_sampled() || matches!(self, Self::OracleGeneral)
    }

    /// Returns the name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lackey => "a lackey log",
            Self::PerfScript => "perf script",
            Self::Damon => "DAMON",
            Self::Champsim => "ChampSim",
            Self::Cloudsuite => "ChampSim's CloudSuite",
            Self::Drmemtrace => "drmemtrace",
            Self::OracleGeneral => "oracleGeneral",
        }
    }

    /// Returns the value of `--from` that selects it.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Lackey => "lackey",
            Self::PerfScript => "perf-script",
            Self::Damon => "damon",
            Self::Champsim => "champsim",
            Self::Cloudsuite => "cloudsuite",
            Self::Drmemtrace => "drmemtrace",
            Self::OracleGeneral => "oracle-general",
        }
    }

    /// Returns the command that imports it, for a message.
    pub(super) const fn advice(self) -> &'static str {
        match self {
            Self::Lackey => "use `pageout trace import --from lackey`",
            Self::PerfScript => "use `pageout trace import --from perf-script`",
            Self::Damon => "use `pageout trace import --from damon`",
            Self::Champsim => "use `pageout trace import --from champsim`",
            Self::Cloudsuite => "use `pageout trace import --from cloudsuite`",
            Self::Drmemtrace => "use `pageout trace import --from drmemtrace`",
            Self::OracleGeneral => "use `pageout trace import --from oracle-general`",
        }
    }

    /// Returns the acceptable input, for a message.
    pub(super) const fn accepted(self) -> &'static str {
        match self {
            Self::Lackey => lackey::ACCEPTED,
            Self::PerfScript => "lines `PID EVENT: ADDRESS` of `perf script -F pid,event,addr`",
            Self::Damon => {
                "damon_aggregated events of `perf script` or `trace-cmd report`, \
                 `damo report access --raw_form`, or the JSON of `damo record`"
            }
            Self::Champsim => {
                "ChampSim's records of 64 bytes: an instruction's address, two flags of 0 or 1, \
                 and on"
            }
            Self::Cloudsuite => {
                "ChampSim's records of 96 bytes: an instruction's address, two flags of 0 or 1, \
                 and on"
            }
            Self::Drmemtrace => {
                "lines of `drrun -t drmemtrace -tool view`, such as \
                 `RECORD INSTRUCTION: THREAD read 8 byte(s) @ 0xADDRESS by PC 0xADDRESS`"
            }
            Self::OracleGeneral => "oracleGeneral's records of 24 bytes",
        }
    }
}
