//! The manifest of a workload: TOML, in a file of its own or in a comment of the C file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Spanned, Value};

use super::assets;
use super::field::{Field, Kind};
use super::kconfig::ConfigOption;
use super::plan::CPUS;
use super::program::Program;
use super::regions::with_cpus;
use super::target::Arch;
use super::workload::{Code, DeclaredField, DeclaredMetric, Measure, Workload, is_c};
use pageout_experiment::fields::parse_size;
use pageout_experiment::named;
use pageout_record::schema::Better;
use pageout_refusal::{BadValue, UnknownName};

/// The scenario of the benchmark that runs the kernel selftest.
const SELFTEST: &str = "7-selftest.toml";
/// The manifest of a directory.
const FILE: &str = "workload.toml";
/// The beginning and the end of the comment that is a C file's manifest.
const BEGIN: &str = "/* workload.toml";
const END: &str = "*/";
/// The maximum number of fields, of metrics and of CPUs.
const MOST_FIELDS: usize = 16;
const MOST_METRICS: usize = 32;
const MOST_CPUS: u8 = 8;
/// The maximum number of memory nodes, and of disks in addition to those of every machine.
const MOST_NODES: u8 = 4;
const MOST_DISKS: u8 = 4;
/// The highest order of folios: 2 MiB on 64K pages are order 5, 32 MiB on 4K pages 13.
const MOST_ORDER: u64 = 13;
/// The longest name, in bytes: the program has no room for more.
const LONGEST_NAME: usize = 40;
/// The longest unit.
const LONGEST_UNIT: usize = 18;
/// The maximum memory size, in bytes.
const MOST_MEMORY: u64 = 1 << 40;
/// Arguments of the program, and fields that the lab adds: no field of a workload has their names.
const TAKEN: [&str; 8] = ["cgroup", "clock", "config", "cpu", "dir", "kernel", "runs", "seed"];

/// The reason why a workload was refused.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A file cannot be read.
    #[error("cannot read {}", named(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A C file without the comment.
    #[error("{}: no manifest: expected a comment that begins with `{BEGIN}`", named(path))]
    NoManifest {
        /// The file.
        path: PathBuf,
    },
    /// A directory with neither a C file nor a program.
    #[error("{}: no C file beside {FILE}, which has no `program` either", named(path))]
    NoSource {
        /// The directory.
        path: PathBuf,
    },
    /// The name of a workload of the lab's.
    #[error("{}: `{name}` is a scenario of the lab: expected another name", named(path))]
    Taken {
        /// The file or directory.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A mistake in the manifest.
    #[error("{}:{line}: {problem}", named(path))]
    Manifest {
        /// The manifest's path.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The mistake, and what is accepted.
        problem: String,
    },
}

/// The manifest as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// The name in records, of a-z, 0-9, `-` and `_`.
    name: Spanned<String>,
    /// A sentence.
    about: Spanned<String>,
    /// The metric that verdicts and `--fail-on` are about, of all CPUs or, such as
    /// `reclaim, CPU 0`, of one; without it, no verdict.
    whole: Option<Spanned<String>>,
    /// CPUs of the machine, 1 to 8, by default the field `cpus`, or 1. On more than one, a plugin
    /// counts each of them in a region.
    cpus: Option<Spanned<u8>>,
    /// NUMA nodes, 1 to 4, by default 1. The kernel needs `NUMA_EMU=y`.
    nodes: Option<Spanned<u8>>,
    /// RAM disks of 512 MiB, `/dev/ram2` and on, 0 to 4, by default 0.
    disks: Option<Spanned<u8>>,
    /// Memory to use, such as `"256MiB"`, besides 1.5 GiB for the machine; by default the field
    /// `size`, or 1 GiB.
    memory: Option<Spanned<String>>,
    /// `true`: kernels of a configuration with swap.
    #[serde(default)]
    swap: bool,
    /// Options of the kernel's configuration, such as `["ZRAM=y"]`.
    #[serde(default)]
    config: Vec<Spanned<String>>,
    /// Debian packages to compile with.
    #[serde(default)]
    packages: Vec<Spanned<String>>,
    /// Libraries to link with: `["m"]` is `-lm`.
    #[serde(default)]
    libraries: Vec<Spanned<String>>,
    /// A shell script or static binary to run, in place of C.
    program: Option<Spanned<String>>,
    /// The metric of whole runs of the program: one run for each sample.
    run: Option<Spanned<String>>,
    /// The shell of a script, such as `"busybox-{arch}"`; by default this machine's static busybox.
    shell: Option<Spanned<String>>,
    /// `false`: it runs once, whatever `--runs` says.
    samples: Option<bool>,
    /// `true`: one more sample first, which is not counted.
    #[serde(default, rename = "warm-up")]
    warm_up: bool,
    /// A list: `name`, `default`, and one of `number = [LEAST, MOST]`,
    /// `size = ["LEAST", "MOST"]`, `order = MOST`, `choices = ["A", "B"]`, `percent = true` and
    /// `share = true`.
    #[serde(default)]
    field: Vec<Spanned<WrittenField>>,
    /// A list: `name`, and `per = "UNIT"` for a region, where less is better, or `unit = "UNIT"`
    /// for a counter, with `better = "lower"` or `"higher"` if either is.
    #[serde(default)]
    metric: Vec<Spanned<WrittenMetric>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenField {
    name: Spanned<String>,
    number: Option<Spanned<[u64; 2]>>,
    size: Option<Spanned<[String; 2]>>,
    order: Option<Spanned<u64>>,
    choices: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    percent: bool,
    #[serde(default)]
    share: bool,
    default: Spanned<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMetric {
    name: Spanned<String>,
    per: Option<Spanned<String>>,
    unit: Option<Spanned<String>>,
    better: Option<Better>,
}

/// A problem at an offset of the text.
struct At(usize, String);

impl Workload {
    /// Reads a workload: a C file with its manifest in a comment, or a directory with the manifest
    /// `workload.toml` and C files.
    ///
    /// # Errors
    /// [`WorkloadError`] names the file, and the line if the fault is in one.
    pub fn read(path: &Path) -> Result<Self, WorkloadError> {
        let found = if path.is_dir() { of_directory(path)? } else { of_file(path)? };
        let workload = Self::of(found)?;
        match Self::named(&workload.name) {
            None => Ok(workload),
            Some(_) => Err(WorkloadError::Taken { path: path.to_owned(), name: workload.name }),
        }
    }

    /// Returns the workloads that come with the lab: scenarios of the benchmark, then programs, in
    /// the order of their files.
    pub(super) fn shipped() -> Vec<Self> {
        let scenarios = assets::SCENARIOS.iter().map(|(name, text)| {
            let path = PathBuf::from(name);
            let code = if *name == SELFTEST { Code::Selftest } else { Code::Benchmark };
            Ok((path, 0, (*text).to_owned(), Beside::Benchmark(code)))
        });
        let programs = assets::WORKLOADS;
        let programs =
            programs.iter().map(|(name, text)| of_text(Path::new(name), (*text).to_owned()));
        let of = |found: Result<Found, WorkloadError>| {
            let read = found.and_then(Self::of);
            read.unwrap_or_else(|error| panic!("the lab's own workload has a mistake: {error}"))
        };
        scenarios.chain(programs).map(of).collect()
    }

    fn of((manifest, before, text, beside): Found) -> Result<Self, WorkloadError> {
        let refused = |At(offset, problem)| {
            let line = before + text[..offset.min(text.len())].matches('\n').count() + 1;
            WorkloadError::Manifest { path: manifest.clone(), line, problem }
        };
        let written: Written = toml::from_str(&text).map_err(|error| {
            let is_value = error.message().starts_with("unknown variant");
            let kind = if is_value { "value" } else { "key" };
            let unknown = UnknownName::of_serde(kind, error.message());
            let problem = unknown.map_or(error.message().to_owned(), |of| of.to_string());
            refused(At(error.span().map_or(0, |span| span.start), problem))
        })?;
        let code = match (&written.program, beside) {
            (Some(program), Beside::File(..) | Beside::Benchmark(_)) => {
                let problem = "`program` is of a directory's workload.toml, not of a C file's";
                return Err(refused(at(program, problem)));
            }
            (Some(program), Beside::Directory(directory)) => {
                Code::Program(written.program_of(program, &directory).map_err(refused)?)
            }
            (None, Beside::File(name, text)) => Code::C(vec![(name, text)]),
            (None, Beside::Directory(directory)) => Code::C(sources(&directory)?),
            (None, Beside::Benchmark(code)) => code,
        };
        written.workload(code).map_err(refused)
    }
}

/// The file that a manifest stands in, the lines before it, its text, and what is beside it.
type Found = (PathBuf, usize, String, Beside);

/// The code beside a manifest.
enum Beside {
    /// A C file: its name, and its text.
    File(String, String),
    /// A directory, with C files or with a program.
    Directory(PathBuf),
    /// The benchmark, whose scenario is this code.
    Benchmark(Code),
}

fn read(path: &Path) -> Result<String, WorkloadError> {
    fs::read_to_string(path).map_err(|source| WorkloadError::Read { path: path.to_owned(), source })
}

fn of_file(path: &Path) -> Result<Found, WorkloadError> {
    of_text(path, read(path)?)
}

/// Finds the manifest in a C file's text.
fn of_text(path: &Path, text: String) -> Result<Found, WorkloadError> {
    let none = || WorkloadError::NoManifest { path: path.to_owned() };
    let begin = text.find(BEGIN).ok_or_else(none)? + BEGIN.len();
    let end = begin + text[begin..].find(END).ok_or_else(none)?;
    let before = text[..begin].matches('\n').count();
    let manifest = text[begin..end].to_owned();
    // The compiler's messages show the name.
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.filter(|name| name.ends_with(".c") && !name.starts_with('-'));
    let name = name.unwrap_or("workload.c").to_owned();
    Ok((path.to_owned(), before, manifest, Beside::File(name, text)))
}

fn of_directory(path: &Path) -> Result<Found, WorkloadError> {
    let manifest = path.join(FILE);
    let text = read(&manifest)?;
    Ok((manifest, 0, text, Beside::Directory(path.to_owned())))
}

/// Reads the C files of a directory.
fn sources(directory: &Path) -> Result<Vec<(String, String)>, WorkloadError> {
    let failed = |source| WorkloadError::Read { path: directory.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let name = entry.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|name| is_c(name)) {
            files.push((name.to_owned(), read(&entry)?));
        }
    }
    files.sort();
    match files.iter().any(|(name, _)| name.ends_with(".c")) {
        true => Ok(files),
        false => Err(WorkloadError::NoSource { path: directory.to_owned() }),
    }
}

fn at<T>(of: &Spanned<T>, problem: impl ToString) -> At {
    At(of.span().start, problem.to_string())
}

/// Checks that C and records can have a name or unit without escapes, and returns it.
fn plain(what: &str, more: &str, text: &Spanned<String>) -> Result<String, At> {
    let longest = if what == "unit" { LONGEST_UNIT } else { LONGEST_NAME };
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || more.contains(c);
    let of = text.get_ref();
    let problem = match of.chars().find(|c| !is_plain(*c)) {
        _ if of.is_empty() => format!("an empty {what}"),
        _ if of.len() > longest => format!("{what} `{of}` has more than {longest} characters"),
        Some(c) => {
            let also = more.replace(' ', "blank");
            format!("{what} `{}` has {c:?}: expected a-z, 0-9 and {also:?}", of.escape_debug())
        }
        None => return Ok(of.clone()),
    };
    Err(at(text, problem))
}

impl Written {
    /// Reads the program that the manifest names, and checks it for every architecture that it has
    /// a file for.
    fn program_of(&self, name: &Spanned<String>, directory: &Path) -> Result<Program, At> {
        let file = |of: &Spanned<String>| word("file", '.', "-+._{}", of);
        let run = self.run.as_ref().map(|run| self.region(run)).transpose()?;
        let shell = self.shell.as_ref().map(file).transpose()?;
        let program = Program::read(directory, file(name)?, run, shell);
        let program =
            program.map_err(|(path, error)| at(name, format!("{}: {error}", named(&path))))?;
        let arches: Vec<Arch> = program.arches().collect();
        if arches.is_empty() {
            let problem =
                format!("program `{}`: no such file in {}", name.get_ref(), named(directory));
            return Err(at(name, problem));
        }
        arches.iter().try_for_each(|arch| program.check(*arch)).map_err(|error| at(name, error))?;
        Ok(program)
    }

    /// Returns the name of a region of the manifest.
    fn region(&self, run: &Spanned<String>) -> Result<String, At> {
        let regions = self.metric.iter().map(Spanned::get_ref).filter(|of| of.per.is_some());
        let names = regions.map(|of| of.name.get_ref().as_str()).collect();
        named_among("region", run, names, "no metric is a region: expected one with `per`")
    }

    fn workload(self, code: Code) -> Result<Workload, At> {
        let name = plain("name", "-_", &self.name)?;
        let fields = self.field.iter().map(|of| of.get_ref().declared());
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let metrics = self.metric.iter().map(|of| of.get_ref().declared(of.span().start));
        let metrics = metrics.collect::<Result<Vec<_>, _>>()?;
        self.check_numbers(&code)?;
        self.check_names(&code)?;
        let cpus = within("cpus", self.cpus.as_ref(), 1, MOST_CPUS)?.unwrap_or(1);
        let nodes = within("nodes", self.nodes.as_ref(), 1, MOST_NODES)?.unwrap_or(1);
        let disks = within("disks", self.disks.as_ref(), 0, MOST_DISKS)?.unwrap_or(0);
        let whole = self.whole.as_ref().map(|whole| {
            let judged = metrics.iter().filter(|of| of.better != Better::Neither);
            let is_field = fields.iter().any(|of| of.field.name == CPUS);
            let most = if is_field { MOST_CPUS } else { cpus };
            let names: Vec<String> = judged.flat_map(|of| with_cpus(of, most)).collect();
            let names = names.iter().map(String::as_str).collect();
            named_among("metric", whole, names, "no metric has a better direction")
        });
        let memory = self.memory.as_ref().map(|memory| {
            let size = size_of(memory.get_ref(), "2MiB to 1TiB");
            let size = size.map_err(|bad| at(memory, bad))?;
            match (2 << 20..=MOST_MEMORY).contains(&size) {
                true => Ok(size),
                false => Err(at(memory, out_of_bounds(memory.get_ref(), "2MiB to 1TiB"))),
            }
        });
        let option = |of: &Spanned<String>| {
            let parsed: Result<ConfigOption, _> = of.get_ref().parse();
            parsed.map_err(|error| at(of, format!("config {:?}: {error}", of.get_ref())))
        };
        let options = self.config.iter().map(option);
        Ok(Workload {
            name,
            about: self.about.get_ref().clone(),
            whole: whole.transpose()?,
            cpus,
            nodes,
            disks,
            memory: memory.transpose()?,
            swap: self.swap,
            options: options.collect::<Result<Vec<_>, _>>()?,
            samples: self.samples.unwrap_or(true),
            warm_up: self.warm_up,
            fields,
            metrics,
            packages: words("package", &self.packages)?,
            libraries: words("library", &self.libraries)?,
            code,
        })
    }

    fn check_numbers(&self, code: &Code) -> Result<(), At> {
        if let Some(more) = self.field.get(MOST_FIELDS) {
            return Err(at(more, format!("more than {MOST_FIELDS} fields")));
        }
        match (self.metric.get(MOST_METRICS), self.metric.first()) {
            (Some(more), _) => Err(at(more, format!("more than {MOST_METRICS} metrics"))),
            (None, None) if code.is_program() => {
                Err(at(&self.name, "no [[metric]]: expected one or more"))
            }
            (None, _) => Ok(()),
        }
    }

    /// Returns an error if two fields or two metrics have one name, or a field has one of the
    /// lab's.
    fn check_names(&self, code: &Code) -> Result<(), At> {
        let fields: Vec<_> = self.field.iter().map(|of| &of.get_ref().name).collect();
        let is_taken = |name: &&&Spanned<String>| TAKEN.contains(&name.get_ref().as_str());
        if let (Some(taken), false) = (fields.iter().find(is_taken), *code == Code::Benchmark) {
            let problem = format!("`{}` is the lab's own: expected another name", taken.get_ref());
            return Err(at(taken, problem));
        }
        let metrics: Vec<_> = self.metric.iter().map(|of| &of.get_ref().name).collect();
        for (what, names) in [("field", fields), ("metric", metrics)] {
            for (place, name) in names.iter().enumerate() {
                if names[..place].iter().any(|other| other.get_ref() == name.get_ref()) {
                    return Err(at(name, format!("{what} `{}` is there twice", name.get_ref())));
                }
            }
        }
        Ok(())
    }
}

/// Returns a number of the machine's parts if it is within its bounds.
fn within(name: &str, of: Option<&Spanned<u8>>, least: u8, most: u8) -> Result<Option<u8>, At> {
    let Some(of) = of else { return Ok(None) };
    let number = *of.get_ref();
    match (least..=most).contains(&number) {
        true => Ok(Some(number)),
        false => {
            let bad = out_of_bounds(&number.to_string(), &format!("{least} to {most}"));
            Err(at(of, format!("{name}: {bad}")))
        }
    }
}

/// Returns the name if it is one of `names`; `none` is the problem if there are no names.
fn named_among(
    what: &'static str,
    of: &Spanned<String>,
    names: Vec<&str>,
    none: &str,
) -> Result<String, At> {
    match names.contains(&of.get_ref().as_str()) {
        true => Ok(of.get_ref().clone()),
        false if names.is_empty() => Err(at(of, none)),
        false => Err(at(of, UnknownName::new(what, of.get_ref(), names))),
    }
}

/// Checks the names of packages or libraries, and returns them.
fn words(what: &str, names: &[Spanned<String>]) -> Result<Vec<String>, At> {
    names.iter().map(|of| word(what, '-', "-+._:", of)).collect()
}

/// Checks that a name has only letters, digits and `more`, and does not begin with `not_first`.
fn word(what: &str, not_first: char, more: &str, of: &Spanned<String>) -> Result<String, At> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    let name = of.get_ref();
    match !name.is_empty() && !name.starts_with(not_first) && name.chars().all(is_plain) {
        true => Ok(name.clone()),
        false => Err(at(of, format!("{what} {name:?}: expected letters, digits and {more}"))),
    }
}

fn out_of_bounds(found: &str, accepted: &str) -> BadValue {
    BadValue::new(found, "is out of bounds", accepted)
}

fn size_of(text: &str, accepted: &str) -> Result<u64, BadValue> {
    parse_size(text).map_err(|problem| BadValue::new(text, problem, accepted))
}

impl WrittenField {
    fn declared(&self) -> Result<DeclaredField, At> {
        let name = plain("field", "-_", &self.name)?;
        let default = match self.default.get_ref() {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            other => {
                let problem = format!("found {}, expected a text or a number", other.type_str());
                return Err(at(&self.default, problem));
            }
        };
        let bounds_of = (&self.number, &self.size, &self.choices, &self.order);
        let kind = match (bounds_of, self.percent, self.share) {
            ((None, None, None, None), true, false) => Kind::Percent,
            ((None, None, None, None), false, true) => Kind::Share,
            ((None, None, None, Some(order)), false, false) => {
                let most = *order.get_ref();
                if !(2..=MOST_ORDER).contains(&most) {
                    let accepted = format!("2 to {MOST_ORDER}");
                    return Err(at(order, out_of_bounds(&most.to_string(), &accepted)));
                }
                Kind::Order { most }
            }
            ((Some(number), None, None, None), false, false) => {
                let [least, most] = *number.get_ref();
                bounds(number, least, most)?;
                Kind::Number { least, most }
            }
            ((None, Some(size), None, None), false, false) => {
                let of = |text: &String| {
                    size_of(text, "a size such as 2MiB").map_err(|bad| at(size, bad))
                };
                let [least, most] = size.get_ref();
                let (least, most) = (of(least)?, of(most)?);
                bounds(size, least, most)?;
                let such_as = parse_size(&default).unwrap_or(least);
                Kind::Size { least, most, such_as }
            }
            ((None, None, Some(choices), None), false, false) => {
                Kind::Choice(self.choices(choices)?)
            }
            _ => {
                let problem = format!(
                    "field `{name}`: expected one of number = [LEAST, MOST], \
                    size = [\"LEAST\", \"MOST\"], order = MOST, choices = [\"A\", \"B\"], \
                    percent = true and share = true"
                );
                return Err(at(&self.name, problem));
            }
        };
        let field = Field { name, kind };
        if field.name == CPUS && !field.kind.is_within(1, MOST_CPUS.into()) {
            let problem =
                format!("field `cpus` is the machine's: number = [1, {MOST_CPUS}] or less");
            return Err(at(&self.name, problem));
        }
        let default = field.value(&default).map_err(|error| at(&self.default, error))?;
        Ok(DeclaredField { field, default })
    }

    fn choices(&self, choices: &Spanned<Vec<String>>) -> Result<Vec<String>, At> {
        let is_plain = |text: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./%+".contains(c);
            !text.is_empty() && text.chars().all(is_plain)
        };
        let all = choices.get_ref();
        match all.iter().find(|choice| !is_plain(choice)) {
            _ if all.is_empty() => Err(at(choices, "no choices: expected one or more")),
            Some(bad) => {
                let problem = format!("choice {bad:?}: expected letters, digits and -_./%+");
                Err(at(choices, problem))
            }
            None => Ok(all.clone()),
        }
    }
}

fn bounds<T>(of: &Spanned<T>, least: u64, most: u64) -> Result<(), At> {
    match least <= most {
        true => Ok(()),
        false => Err(at(of, "the least comes first, and is no more than the most")),
    }
}

impl WrittenMetric {
    fn declared(&self, start: usize) -> Result<DeclaredMetric, At> {
        let name = plain("metric", "-_ ", &self.name)?;
        let unit = |text: &Spanned<String>| {
            // Units have capitals, such as `4K page`.
            let lower = Spanned::new(text.span(), text.get_ref().to_ascii_lowercase());
            plain("unit", "-_/ ", &lower).map(|_| text.get_ref().clone())
        };
        let (what, better) = match (&self.per, &self.unit) {
            (Some(per), None) => (Measure::Region { per: unit(per)? }, Better::Lower),
            (None, Some(of)) => (Measure::Counter { unit: unit(of)? }, Better::Neither),
            _ => {
                let problem = format!(
                    "metric `{name}`: expected per = \"UNIT\" of a region, or unit = \"UNIT\" of \
                    a counter"
                );
                return Err(At(start, problem));
            }
        };
        if let (Measure::Region { .. }, Some(_)) = (&what, self.better) {
            let problem = format!("metric `{name}`: `better` is of counters; of a region less is");
            return Err(At(start, problem));
        }
        Ok(DeclaredMetric { name, what, better: self.better.unwrap_or(better) })
    }
}
