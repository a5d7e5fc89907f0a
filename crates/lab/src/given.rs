//! A workload with a manifest, of the user's or of the lab's: its declarations, and its sources.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::assets;
use super::cache::Cache;
use super::child::version;
use super::digest::Name;
use super::field::Field;
use super::initrd::{C_OPTIONS, InitrdError, compile};
use super::kconfig::ConfigOption;
use super::pages::Pages;
use super::progress::Progress;
use super::target::Arch;
use pageout_experiment::fields::FieldError;
use pageout_record::schema::Better;
use pageout_refusal::UnknownName;

/// The program.
const PROGRAM: &str = "workload";
/// The directory of our own sources, beside the user's.
const OWN: &str = "pageout-lab";
/// The unit of a region that profiles are divided by.
const PAGE: &str = "4K page";
/// The most lines of a compiler's messages that an error shows.
const SAID_LINES: usize = 12;
/// The plugin's header that workloads are compiled with.
const MARKS: &str = "marks.h";
/// The benchmark's sources that workloads are compiled with too.
const OF_BENCH: [&str; 17] = [
    "cache.h",
    "clock.c",
    "clock.h",
    "entries.c",
    "entries.h",
    "fail.c",
    "fail.h",
    "files.c",
    "files.h",
    "folios.c",
    "folios.h",
    "options.c",
    "options.h",
    "record.c",
    "record.h",
    "swap.c",
    "swap.h",
];

/// A workload with a manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// The name.
    pub(super) name: String,
    /// A sentence about it.
    pub(super) about: String,
    /// The metric that it is judged by.
    pub(super) whole: Option<String>,
    /// CPUs of its machine.
    pub(super) cpus: u8,
    /// Bytes of memory that it takes; `None`: those of its field `size`, if it has one.
    pub(super) memory: Option<u64>,
    /// True if it takes a kernel that swaps.
    pub(super) swap: bool,
    /// Options of its kernels.
    pub(super) options: Vec<ConfigOption>,
    /// True if one more sample before the first is not counted.
    pub(super) warm_up: bool,
    /// The fields that vary.
    pub(super) fields: Vec<GivenField>,
    /// The metrics that a run gives.
    pub(super) metrics: Vec<GivenMetric>,
    /// The source files: names and texts.
    pub(super) files: Vec<(String, String)>,
}

/// A field with its default value, in the form that records have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GivenField {
    pub(super) field: Field,
    pub(super) default: String,
}

/// A metric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GivenMetric {
    pub(super) name: String,
    pub(super) what: Measure,
    pub(super) better: Better,
}

/// The origin of a metric, and its unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Measure {
    /// Instructions of a region, per this unit.
    Region { per: String },
    /// A counter of the workload's own.
    Counter { unit: String },
}

impl GivenField {
    /// Returns the default, and the other values if they are names: `lru=classic (or mglru)`.
    pub(super) fn words(&self) -> String {
        let Self { field, default } = self;
        let names = field.kind.names().into_iter();
        let others: Vec<_> = names.filter(|name| name != default).collect();
        match others[..] {
            [] => format!("{}={default}", field.name),
            _ => format!("{}={default} (or {})", field.name, others.join(", ")),
        }
    }
}

impl Given {
    /// Returns the metrics of which one direction is better.
    pub(super) fn costs(&self) -> Vec<&str> {
        let judged = self.metrics.iter().filter(|metric| metric.better != Better::Neither);
        judged.map(|metric| metric.name.as_str()).collect()
    }

    /// Returns true if it has a region, whose costs can be counted.
    pub(super) fn has_region(&self) -> bool {
        self.metrics.iter().any(|metric| matches!(metric.what, Measure::Region { .. }))
    }

    /// Returns the pages that a profile of it is divided by.
    pub(super) fn pages(&self) -> Pages {
        let is_whole = |of: &&GivenMetric| Some(&of.name) == self.whole.as_ref();
        match self.metrics.iter().find(is_whole) {
            Some(GivenMetric { name, what: Measure::Region { per }, .. }) if per == PAGE => {
                Pages::Region(name.clone())
            }
            _ => Pages::None,
        }
    }

    /// Returns a field's default value.
    pub(super) fn default(&self, field: &str) -> Option<&str> {
        let found = self.fields.iter().find(|of| of.field.name == field);
        found.map(|of| of.default.as_str())
    }

    /// Returns the error of a field that it does not have.
    pub(super) fn lacks(&self, field: &str) -> FieldError {
        let names: Vec<&str> = self.fields.iter().map(|of| &*of.field.name).collect();
        match names.is_empty() {
            true => FieldError::Elsewhere {
                field: field.to_owned(),
                problem: format!("the manifest of {} declares no fields", self.name),
            },
            false => {
                let unknown = UnknownName::new("field", field, names);
                FieldError::Unknown(unknown.of(format!("workload {}", self.name)))
            }
        }
    }

    /// Returns the program's path, after compiling it for an architecture unless it is in the
    /// cache.
    pub(super) fn compiled(
        &self,
        arch: Arch,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<PathBuf, InitrdError> {
        let compiler = arch.compiler();
        let all = self.sources();
        let files = all.iter().flat_map(|(name, text)| [name, text]);
        let key = Name::default().part(version(&compiler)?).parts(C_OPTIONS).parts(files);
        let directory = cache
            .made("workloads", &key.finish(), progress, |to| self.compile(&compiler, &all, to))?;
        Ok(directory.join(PROGRAM))
    }

    /// Returns all files by their names: the user's, and ours in a folder.
    pub(super) fn sources(&self) -> Vec<(String, String)> {
        let of_bench = assets::BENCH.iter().filter(|(name, _)| OF_BENCH.contains(name));
        let marks = assets::PLUGIN.iter().filter(|(name, _)| *name == MARKS);
        let own = of_bench.chain(assets::WORKLOAD).chain(marks);
        let own = own.map(|(name, text)| (format!("{OWN}/{name}"), (*text).to_owned()));
        let declared = (format!("{OWN}/declared.c"), self.declared_c());
        self.files.iter().cloned().chain(own).chain([declared]).collect()
    }

    fn compile(
        &self,
        compiler: &str,
        sources: &[(String, String)],
        to: &Path,
    ) -> Result<(), InitrdError> {
        let files: Vec<_> = sources.iter().map(|(name, text)| (&**name, &**text)).collect();
        // The user decides about warnings.
        let options: [&Path; 3] = ["-Wno-error".as_ref(), "-I".as_ref(), OWN.as_ref()];
        compile(compiler, PROGRAM, &files, &options, to).map_err(|error| self.own(error))
    }

    /// Turns a compiler's error about a program of ours into one about this workload.
    fn own(&self, error: InitrdError) -> InitrdError {
        let InitrdError::Compile { compiler, said, .. } = error else { return error };
        let said = said.lines().take(SAID_LINES).collect::<Vec<_>>().join("\n");
        InitrdError::CompileGiven { compiler, name: self.name.clone(), said }
    }

    /// Returns the fields and metrics as C source for the program. Names and units have no
    /// character that needs an escape in C.
    pub(super) fn declared_c(&self) -> String {
        let mut text = format!(
            "#include \"declared.h\"\n\nconst bool declared_warm_up = {};\n\n\
            const struct declared_field declared_fields[] = {{\n",
            self.warm_up
        );
        for GivenField { field, default } in &self.fields {
            let _ = writeln!(text, "\t{{ \"{}\", \"{default}\" }},", field.name);
        }
        text += "\t{ 0 },\n};\n\nconst struct declared_metric declared_metrics[] = {\n";
        for GivenMetric { name, what, better } in &self.metrics {
            let (is_region, unit) = match what {
                Measure::Region { per } => (true, per),
                Measure::Counter { unit } => (false, unit),
            };
            let better = match better {
                Better::Lower => "lower",
                Better::Higher => "higher",
                Better::Neither => "neither",
            };
            let _ = writeln!(text, "\t{{ \"{name}\", {is_region}, \"{unit}\", \"{better}\" }},");
        }
        text + "\t{ 0 },\n};\n"
    }
}

#[cfg(test)]
mod tests;
