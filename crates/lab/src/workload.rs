//! Workloads of the test machine: the declarations of a manifest, and the code that it is of.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::assets;
use super::cache::{Cache, write_below};
use super::child::version;
use super::digest::Name;
use super::field::{Field, Kind};
use super::initrd::{C_OPTIONS, InitrdError, compile};
use super::kconfig::ConfigOption;
use super::pages::Pages;
use super::plan::Needs;
use super::plugin::Counting;
use super::profile;
use super::program::{ARCH, NoProgram, Program};
use super::progress::Progress;
use super::target::Arch;
use pageout_experiment::fields::FieldError;
use pageout_record::schema::Better;

/// The workloads of the lab: scenarios of the benchmark, then those with programs of their own.
static OURS: LazyLock<Vec<Arc<Workload>>> =
    LazyLock::new(|| Workload::shipped().into_iter().map(Arc::new).collect());

/// The program.
const PROGRAM: &str = "workload";
/// The directory of our own sources, beside the user's.
const OWN: &str = "pageout-lab";
/// The options by which a machine's memory is parted into nodes.
const NUMA: [&str; 2] = ["NUMA=y", "NUMA_EMU=y"];
/// The RAM disks of every machine: that of the files, and one to swap to.
const OWN_DISKS: u8 = 2;
/// The folder, beside the program, of files that it finds there.
pub(super) const BESIDE: &str = "w";
/// The folder whose files go into the machine's root.
const ROOT: &str = "root";
/// The architecture in a text of C, as the header of declarations has it.
const ARCH_IN_C: &str = "\" DECLARED_ARCH \"";
/// The shell of scripts, from the root on.
const SHELL: &str = "bin/busybox";
/// The unit of a region that profiles are divided by.
const PAGE: &str = "4K page";
/// The maximum number of lines of a compiler's messages that an error shows.
const SAID_LINES: usize = 12;
/// The plugin's header that workloads are compiled with.
const MARKS: &str = "marks.h";
/// The benchmark's sources that workloads are compiled with too.
const OF_BENCH: [&str; 18] = [
    "cache.h",
    "clock.c",
    "clock.h",
    "cpu.h",
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

/// A workload: the user's, or one that comes with the lab.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// The name, which is that of the scenario in records.
    pub(super) name: String,
    /// A sentence about the workload.
    pub(super) about: String,
    /// The metric that the workload is judged by.
    pub(super) whole: Option<String>,
    /// The number of CPUs of its machine, unless it has a field `cpus`.
    pub(super) cpus: u8,
    /// The number of nodes of its memory.
    pub(super) nodes: u8,
    /// RAM disks of the workload's machine, besides those that every machine has.
    pub(super) disks: u8,
    /// Bytes of memory that it takes; `None`: those of its field `size`, if it has one.
    pub(super) memory: Option<u64>,
    /// True if the workload takes a kernel that swaps.
    pub(super) swap: bool,
    /// Options of the workload's kernels.
    pub(super) options: Vec<ConfigOption>,
    /// True if the workload runs several times for its samples.
    pub(super) samples: bool,
    /// True if one more sample before the first is not counted.
    pub(super) warm_up: bool,
    /// The fields that vary.
    pub(super) fields: Vec<DeclaredField>,
    /// The metrics that a run gives.
    pub(super) metrics: Vec<DeclaredMetric>,
    /// Debian packages that the workload takes to compile.
    pub(super) packages: Vec<String>,
    /// Libraries that the workload's sources are linked with.
    pub(super) libraries: Vec<String>,
    /// The code.
    pub(super) code: Code,
}

/// The code of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Code {
    /// A scenario of the benchmark, which names its counts itself.
    Benchmark,
    /// The benchmark's scenario that runs the kernel selftest of young bits.
    Selftest,
    /// Files in C: names and texts.
    C(Vec<(String, String)>),
    /// A program that is run as it is.
    Program(Program),
}

impl Code {
    /// Returns true if the workload is a program of its own, and no scenario of the benchmark.
    pub(super) const fn is_program(&self) -> bool {
        matches!(self, Self::C(_) | Self::Program(_))
    }
}

/// A workload that was made for an architecture.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The program.
    pub(super) program: PathBuf,
    /// A folder whose files go into the machine's root, if it takes some.
    pub(super) root: Option<PathBuf>,
}

/// A field with its default value, in the form that records have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DeclaredField {
    pub(super) field: Field,
    pub(super) default: String,
}

/// A metric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DeclaredMetric {
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

impl DeclaredField {
    /// Returns the default, and the other values if they are names: `lru=classic (or mglru)`.
    pub(super) fn words(&self) -> String {
        let Self { field, default } = self;
        let names = field.kind.names().into_iter();
        let mut others: Vec<_> = names.filter(|name| name != default).collect();
        if field.kind == Kind::Share {
            others.push("or 1/N: one page in N");
        }
        match others[..] {
            [] => format!("{}={default}", field.name),
            _ => format!("{}={default} (or {})", field.name, others.join(", ")),
        }
    }
}

impl Workload {
    /// Returns the workloads that come with the lab.
    pub fn ours() -> &'static [Arc<Self>] {
        &OURS
    }

    /// Returns the lab's workload of a name.
    pub fn named(name: &str) -> Option<&'static Arc<Self>> {
        OURS.iter().find(|of| of.name == name)
    }

    /// Returns the names of the lab's workloads.
    pub fn names() -> Vec<&'static str> {
        OURS.iter().map(|of| of.name()).collect()
    }

    /// Returns the name, which is that of the scenario in records.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a sentence about it, and its fields with their defaults.
    pub fn about(&self) -> (&str, String) {
        let fields: Vec<_> = self.fields.iter().map(DeclaredField::words).collect();
        (&self.about, fields.join("  "))
    }

    /// Returns the names of the workload's fields, and the values of each that are names.
    pub fn field_names(&self) -> Vec<(String, Vec<String>)> {
        let names = |DeclaredField { field, .. }: &DeclaredField| {
            let values = field.kind.names().into_iter().map(str::to_owned).collect();
            (field.name.clone(), values)
        };
        self.fields.iter().map(names).collect()
    }

    /// Returns true if the workload has a field of this name.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|of| of.field.name == name)
    }

    /// Returns the metric that the workload is judged by; `None` if it only counts.
    pub fn whole(&self) -> Option<&str> {
        self.whole.as_deref()
    }

    /// Returns true if the workload is a program of its own, and no scenario of the benchmark.
    pub(super) const fn is_program(&self) -> bool {
        self.code.is_program()
    }

    /// Returns true if the workload is a program in C.
    pub(super) const fn is_in_c(&self) -> bool {
        matches!(self.code, Code::C(_))
    }

    /// Returns the names of the workload's fields.
    pub(super) fn names_of_fields(&self) -> Vec<&str> {
        self.fields.iter().map(|of| &*of.field.name).collect()
    }

    /// Returns the work whose costs a plugin counts for it; `None` if it has none.
    pub(super) fn counted(&self) -> Option<Counting> {
        match self.code {
            Code::Benchmark if self.whole() == Some(profile::WHOLE) => {
                Some(Counting::Under(profile::RECLAIM.to_owned()))
            }
            Code::Benchmark | Code::Selftest => None,
            Code::C(_) | Code::Program(_) => self.has_region().then_some(Counting::Regions),
        }
    }

    /// Returns the metrics of which one direction is better.
    pub(super) fn costs(&self) -> Vec<&str> {
        let judged = self.metrics.iter().filter(|metric| metric.better != Better::Neither);
        judged.map(|metric| metric.name.as_str()).collect()
    }

    /// Returns the needs of the workload's kernels. The CPUs depend on its fields.
    pub(super) fn needs(&self) -> Needs {
        let numa = NUMA.iter().filter(|_| self.nodes > 1);
        let numa = numa.map(|option| option.parse().expect("an option of ours"));
        let options = self.options.iter().cloned().chain(numa).collect();
        let packages = self.packages.clone();
        Needs { swap: self.swap, options, packages, ..Needs::default() }
    }

    /// Returns the boot parameters that make its nodes and disks.
    pub(super) fn parameters(&self) -> Vec<String> {
        let nodes = (self.nodes > 1).then(|| format!("numa=fake={}", self.nodes));
        let disks = (self.disks > 0).then(|| format!("brd.rd_nr={}", OWN_DISKS + self.disks));
        nodes.into_iter().chain(disks).collect()
    }

    /// Returns true if the workload has a region.
    fn has_region(&self) -> bool {
        self.metrics.iter().any(|metric| matches!(metric.what, Measure::Region { .. }))
    }

    /// Returns the pages that a profile of it is divided by.
    pub(super) fn pages(&self) -> Pages {
        if !self.is_program() {
            return Pages::Ours;
        }
        let is_whole = |of: &&DeclaredMetric| Some(&of.name) == self.whole.as_ref();
        match self.metrics.iter().find(is_whole) {
            Some(DeclaredMetric { name, what: Measure::Region { per }, .. }) if per == PAGE => {
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

    /// Returns the error of a field that it does not have. The error names the lab's workloads that
    /// have it, or else the field that was probably meant.
    pub(super) fn lacks(&self, field: &str) -> FieldError {
        let names = self.names_of_fields();
        let others = OURS.iter().filter(|other| other.has_field(field));
        let others: Vec<&str> = others.map(|other| other.name()).collect();
        match &others[..] {
            _ if names.is_empty() => FieldError::Elsewhere {
                field: field.to_owned(),
                problem: format!("the manifest of {} declares no fields", self.name),
            },
            [] => {
                let listed_by = "pageout lab --help".to_owned();
                FieldError::unknown(&self.name, field, &names, listed_by)
            }
            others => FieldError::of_others(&self.name, field, others, &names),
        }
    }

    /// Returns the program, after compiling it for an architecture unless it is in the cache.
    pub(super) fn made(
        &self,
        arch: Arch,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Made, InitrdError> {
        self.made_with(arch, &[], &[], (cache, progress))
    }

    /// Returns the program with these files of ours, linked with these options.
    pub(super) fn made_with(
        &self,
        arch: Arch,
        more: &[(&str, &str)],
        linked: &[&str],
        (cache, progress): (&Cache, &dyn Progress),
    ) -> Result<Made, InitrdError> {
        let compiler = arch.compiler();
        let root = self.root(arch).map_err(|error| self.no_program(error))?;
        let mut sources = self.sources();
        let more = more.iter().map(|(name, text)| (format!("{OWN}/{name}"), (*text).to_owned()));
        sources.extend(more);
        let texts = sources.iter().flat_map(|(name, text)| [name, text]);
        let carried = root.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes]);
        let key = Name::default().part(version(&compiler)?).parts(C_OPTIONS).parts(texts);
        let key = key.parts(&self.libraries).parts(linked).parts(carried).finish();
        let directory = cache.made("workloads", &key, progress, |to| {
            write_root(&root, to)?;
            self.compile(&compiler, &sources, linked, to)
        })?;
        let root = (!root.is_empty()).then(|| directory.join(ROOT));
        Ok(Made { program: directory.join(PROGRAM), root })
    }

    /// Returns the files that go into the machine's root by their paths: those of a program.
    fn root(&self, arch: Arch) -> Result<Vec<(String, Vec<u8>)>, NoProgram> {
        let Code::Program(program) = &self.code else { return Ok(Vec::new()) };
        program.check(arch)?;
        let shell = program.shell(arch)?;
        let shell = shell.map(|bytes| (SHELL.to_owned(), bytes));
        Ok(self.carried().into_iter().chain(shell).collect())
    }

    /// Returns the files that a program of the workload finds beside itself.
    pub(super) fn carried(&self) -> Vec<(String, Vec<u8>)> {
        let Code::Program(program) = &self.code else { return Vec::new() };
        let ours = assets::PROGRAM.iter().filter(|(name, _)| !is_c(name));
        let ours = ours.map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_owned()));
        let all = program.files.iter().cloned().chain(ours);
        all.map(|(name, bytes)| (format!("{BESIDE}/{name}"), bytes)).collect()
    }

    /// Returns all files in C by their names: the user's, and ours in a folder.
    pub(super) fn sources(&self) -> Vec<(String, String)> {
        let of_bench = assets::BENCH.iter().filter(|(name, _)| OF_BENCH.contains(name));
        let marks = assets::PLUGIN.iter().filter(|(name, _)| *name == MARKS);
        let (users, of_program) = match &self.code {
            Code::C(files) => (&files[..], &[][..]),
            Code::Program(_) => (&[][..], assets::PROGRAM),
            Code::Benchmark | Code::Selftest => {
                unreachable!("the benchmark is compiled as a whole")
            }
        };
        let of_program = of_program.iter().filter(|(name, _)| is_c(name));
        let own = of_bench.chain(assets::WORKLOAD).chain(marks).chain(of_program);
        let own = own.map(|(name, text)| (format!("{OWN}/{name}"), (*text).to_owned()));
        let declared = (format!("{OWN}/declared.c"), self.declared_c());
        users.iter().cloned().chain(own).chain([declared]).collect()
    }

    fn compile(
        &self,
        compiler: &str,
        sources: &[(String, String)],
        linked: &[&str],
        to: &Path,
    ) -> Result<(), InitrdError> {
        let files: Vec<_> = sources.iter().map(|(name, text)| (&**name, &**text)).collect();
        let libraries = self.libraries.iter().map(|name| PathBuf::from(format!("-l{name}")));
        let libraries: Vec<PathBuf> = libraries.collect();
        // The user decides about warnings.
        let options: [&Path; 3] = ["-Wno-error".as_ref(), "-I".as_ref(), OWN.as_ref()];
        let options: Vec<&Path> =
            options.into_iter().chain(libraries.iter().map(PathBuf::as_path)).collect();
        let options = [options, linked.iter().map(Path::new).collect()].concat();
        compile(compiler, PROGRAM, &files, &options, to).map_err(|error| self.own(error))
    }

    fn no_program(&self, error: NoProgram) -> InitrdError {
        InitrdError::NoProgram { name: self.name.clone(), error }
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
        let (program, run) = match &self.code {
            Code::Benchmark | Code::Selftest | Code::C(_) => (None, None),
            Code::Program(program) => {
                (Some(program.name.replace(ARCH, ARCH_IN_C)), program.run.clone())
            }
        };
        let in_c =
            |name: Option<String>| name.map_or("NULL".to_owned(), |name| format!("\"{name}\""));
        let [program, run] = [program, run].map(in_c);
        let mut text = format!(
            "#include \"declared.h\"\n\n#include <stddef.h>\n\n\
            const bool declared_warm_up = {};\n\
            const char *const declared_program = {program}, *const declared_run = {run};\n\n\
            const struct declared_field declared_fields[] = {{\n",
            self.warm_up
        );
        for DeclaredField { field, default } in &self.fields {
            let is_size = matches!(field.kind, Kind::Size { .. });
            let _ = writeln!(text, "\t{{ \"{}\", \"{default}\", {is_size} }},", field.name);
        }
        text += "\t{ 0 },\n};\n\nconst struct declared_metric declared_metrics[] = {\n";
        for DeclaredMetric { name, what, better } in &self.metrics {
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

/// Returns true if a file of this name is in C.
pub(super) fn is_c(name: &str) -> bool {
    name.ends_with(".c") || name.ends_with(".h")
}

/// Writes the files of the machine's root into a folder of a directory.
fn write_root(files: &[(String, Vec<u8>)], to: &Path) -> Result<(), InitrdError> {
    for (name, bytes) in files {
        write_below(&to.join(ROOT), name, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
