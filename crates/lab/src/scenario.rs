//! The scenarios of the benchmark, and their fields.

use super::field::{Field, Kind};
use pageout_experiment::fields::FieldError;

/// A scenario of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// A mapped file's pages reclaimed through `memory.reclaim`.
    ReclaimFile,
    /// Shared memory reclaimed through `memory.reclaim`, to swap.
    ReclaimShmem,
    /// An aging pass over a file's pages, forced through `lru_gen`.
    AgeFile,
    /// Unfolded blocks, holes, misaligned mappings and the like, reclaimed.
    MixedMappings,
    /// Random calls of the kernel's young helpers, held against a model.
    HelperCalls,
    /// Pages in constant use beside a stream, to count those reclaimed by mistake.
    HotPages,
    /// The kernel selftest of young bits, in the form that is sent to the kernel's maintainers.
    Selftest,
}

impl Scenario {
    /// Every scenario.
    pub const ALL: [Self; 7] = [
        Self::ReclaimFile,
        Self::ReclaimShmem,
        Self::AgeFile,
        Self::MixedMappings,
        Self::HelperCalls,
        Self::HotPages,
        Self::Selftest,
    ];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReclaimFile => "reclaim-file",
            Self::ReclaimShmem => "reclaim-shmem",
            Self::AgeFile => "age-file",
            Self::MixedMappings => "mixed-mappings",
            Self::HelperCalls => "helper-calls",
            Self::HotPages => "hot-pages",
            Self::Selftest => "selftest",
        }
    }

    /// Returns the metric that it is judged by; `None` if it only counts.
    pub const fn whole(self) -> Option<&'static str> {
        match self {
            Self::ReclaimFile | Self::ReclaimShmem => Some("reclaim"),
            Self::AgeFile => Some("age"),
            Self::MixedMappings | Self::HelperCalls | Self::HotPages | Self::Selftest => None,
        }
    }

    /// Returns the scenario of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    /// Returns true if it has a field of this name.
    pub fn has_field(self, name: &str) -> bool {
        self.fields().iter().any(|field| field.name == name)
    }

    pub(super) fn fields(self) -> Vec<Field> {
        let order = |most| Field::new("order", Kind::Order { most });
        let number = |name, least, most| Field::new(name, Kind::Number { least, most });
        let choice = |name, names: &[&str]| Field::new(name, Kind::choice(names));
        let lru = || choice("lru", &["classic", "mglru", "mglru-no-walks"]);
        let cpus = || number("cpus", 1, 2);
        let young = || choice("young", &["all", "none"]);
        let size = || Field::new("size", bytes(2 << 20, 1 << 40, 1 << 30));
        let reclaim = || Field::new("reclaim", Kind::Percent);
        match self {
            Self::ReclaimFile => vec![
                order(13),
                lru(),
                cpus(),
                choice("process", &["asleep", "running"]),
                number("processes", 1, 8),
                choice("map", &["ptes", "pmd-leaf"]),
                young(),
                size(),
                reclaim(),
            ],
            Self::ReclaimShmem => vec![order(9), lru(), young(), size(), reclaim()],
            Self::AgeFile => vec![order(13), Field::new("young", Kind::Share), size()],
            Self::MixedMappings => vec![order(13), lru(), size(), reclaim()],
            Self::HelperCalls => {
                vec![order(9), number("calls", 1, 1 << 40), number("seed", 0, u64::MAX)]
            }
            Self::HotPages => {
                let hot = Field::new("hot", bytes(64 << 10, 1 << 30, 512 << 10));
                vec![order(13), lru(), size(), hot, number("rounds", 1, 64)]
            }
            Self::Selftest => vec![cpus()],
        }
    }

    /// Returns the error of a field that it does not have. The error names the scenarios that have
    /// it, or else the field that was probably meant.
    pub(super) fn lacks(self, field: &str) -> FieldError {
        let others = Self::ALL.into_iter().filter(|other| other.has_field(field));
        let others: Vec<_> = others.map(Self::name).collect();
        let fields = self.fields();
        let names: Vec<_> = fields.iter().map(|of| &*of.name).collect();
        match &others[..] {
            [] => {
                let listed_by = "pageout lab --help".to_owned();
                FieldError::unknown(self.name(), field, &names, listed_by)
            }
            others => FieldError::of_others(self.name(), field, others, &names),
        }
    }

    /// Returns true if it runs several times for its samples.
    pub(super) const fn is_sampled(self) -> bool {
        match self {
            Self::ReclaimFile
            | Self::ReclaimShmem
            | Self::AgeFile
            | Self::MixedMappings
            | Self::HotPages => true,
            Self::HelperCalls | Self::Selftest => false,
        }
    }
}

const fn bytes(least: u64, most: u64, such_as: u64) -> Kind {
    Kind::Size { least, most, such_as }
}
