//! The shell script that measures a real machine: self-contained, with the source of the benchmark
//! or of a workload.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::assets::{BENCH, SCRIPT};
use base64::prelude::{BASE64_STANDARD, Engine};
use pageout_record::render::wrapped;

use super::workload::{BESIDE, DeclaredField, Workload};

/// The columns of the script's help.
const COLUMNS: usize = 80;
/// The line that ends a file in the script. Files that have such a line get a longer one.
const END: &str = "END_OF_SOURCE";

/// The description of the benchmark in the script's help.
const BENCHMARK: &str = "\
Without a scenario: reclaim-file order=4 under the classic LRU, and under the
multi-generational one where the kernel has it. Scenarios and fields are those
of `pageout lab run`, such as:
  sudo sh measure.sh --dir /mnt/xfs --output before.json
  sudo sh measure.sh --dir /mnt/xfs reclaim-file order=4 lru=classic size=10GiB

It maps size bytes of a sparse file from a cgroup of its own and asks
memory.reclaim for them back. A second cgroup tells when the kernel adds up its
counters, which is when a reclaim begins. It sets read_ahead_kb of DIR's disk
and lru_gen/enabled while it runs, and puts both back.";

/// The last part of the description of a workload.
const PUT_BACK: &str = "\
While it runs, it sets the sizes of anonymous folios, read_ahead_kb of DIR's
disk and lru_gen/enabled, and puts them back. Swapping that it begins ends with
it.";

/// The parts of the script that depend on the program inside.
struct Parts<'a> {
    /// Shell variables: the workload's name, if the script is for a workload, whether it swaps, and
    /// its libraries.
    variables: String,
    /// The arguments after the options, for the first line of the help.
    arguments: &'a str,
    /// The description for the help.
    about: String,
    /// The files that are unpacked: names and contents.
    files: Vec<(String, Vec<u8>)>,
}

impl Workload {
    /// Returns a shell script that measures a real machine: with this workload, or with the
    /// benchmark that has all of our scenarios.
    pub fn script(&self) -> String {
        Parts::of(self).script()
    }
}

impl Parts<'_> {
    fn of(workload: &Workload) -> Self {
        match workload.is_program() {
            true => Self::of_program(workload),
            false => Self::of_benchmark(),
        }
    }

    fn of_benchmark() -> Self {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).into());
        Self {
            variables: "workload='' swaps=no libraries=''".to_owned(),
            arguments: "[SCENARIO] [FIELD=VALUE]...",
            about: BENCHMARK.to_owned(),
            files: BENCH.iter().map(owned).collect(),
        }
    }

    fn of_program(workload: &Workload) -> Self {
        let swaps = if workload.swap { "yes" } else { "no" };
        let about = format!("It runs the workload {}. {}", workload.name, workload.about);
        let mut about = wrapped(&about, COLUMNS).replace("\n  ", "\n") + "\n";
        if !workload.fields.is_empty() {
            about += "Fields, with the values that they have if none are given:\n";
        }
        for field in &workload.fields {
            let field = format!("  {}", DeclaredField::words(field));
            let _ = writeln!(about, "{}", wrapped(&field, COLUMNS));
        }
        let libraries: Vec<_> = workload.libraries.iter().map(|name| format!("-l{name}")).collect();
        let [name, libraries] = [&workload.name, &libraries.join(" ")].map(|text| quoted(text));
        let sources = workload.sources().into_iter().map(|(name, text)| (name, text.into_bytes()));
        Self {
            variables: format!("workload={name} swaps={swaps} libraries={libraries}"),
            arguments: "[FIELD=VALUE]...",
            about: about + "\n" + PUT_BACK,
            files: sources.chain(workload.carried()).collect(),
        }
    }

    /// Returns the script: its template with these parts filled in.
    fn script(&self) -> String {
        let files: String =
            self.files.iter().map(|(name, content)| unpacked(name, content)).collect();
        let folders = self.files.iter().filter_map(|(name, _)| Some(name.split_once('/')?.0));
        let folders: BTreeSet<&str> = folders.collect();
        let made: String =
            folders.iter().map(|folder| format!("mkdir -p {}\n", quoted(folder))).collect();
        // From the last place to the first, so that no text put in is taken for a place.
        SCRIPT
            .replacen("@SOURCES@\n", &(made + &files), 1)
            .replacen("@ABOUT@", &self.about, 1)
            .replacen("@ARGUMENTS@", self.arguments, 1)
            .replacen("@WORKLOAD@", &self.variables, 1)
    }
}

/// Returns shell commands that write a file. One beside the program may be executed.
fn unpacked(name: &str, content: &[u8]) -> String {
    let (by, text) = match std::str::from_utf8(content) {
        Ok(text) => ("cat", text.to_owned()),
        Err(_) => ("base64 -d", BASE64_STANDARD.encode(content)),
    };
    let mut end = END.to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    let last = if text.ends_with('\n') { "" } else { "\n" };
    let file = quoted(name);
    let mode = if name.starts_with(BESIDE) { format!("chmod +x {file}\n") } else { String::new() };
    format!("{by} >{file} <<'{end}'\n{text}{last}{end}\n{mode}")
}

/// Returns a word of the shell's that is this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;
    use std::process::Command;
    use tempfile::tempdir;

    /// Runs the part of a script that unpacks the files.
    fn unpack(script: &str, to: &Path) {
        let from = script.find("    :\n").unwrap();
        let end = script.rfind("\n}\n\n# One scenario").unwrap();
        let mut shell = Command::new("sh");
        shell.current_dir(to).arg("-c").arg(&script[from..end]);
        assert!(shell.status().unwrap().success());
    }

    #[test]
    fn every_file_comes_out_as_it_went_in() {
        for name in ["reclaim-file", "swap-anon"] {
            let workload = Workload::named(name).unwrap();
            let directory = tempdir().unwrap();
            unpack(&workload.script(), directory.path());
            for (name, content) in Parts::of(workload).files {
                assert_eq!(fs::read(directory.path().join(&name)).unwrap(), content, "{name}");
            }
        }
    }

    #[test]
    fn a_file_may_have_the_line_that_ends_files_and_a_quote_in_its_name() {
        let directory = tempdir().unwrap();
        let text = b"a\nEND_OF_SOURCE\nEND_OF_SOURCE_\n";
        for (name, content) in [("it's.c", &text[..]), ("binary", b"\x7fELF\0\xff\n")] {
            let script = format!("    :\n{}\n}}\n\n# One scenario", unpacked(name, content));
            unpack(&script, directory.path());
            assert_eq!(fs::read(directory.path().join(name)).unwrap(), content);
        }
    }

    #[test]
    fn the_template_has_one_place_for_each_part() {
        for part in ["@WORKLOAD@", "@ARGUMENTS@", "@ABOUT@", "@SOURCES@\n"] {
            assert_eq!(SCRIPT.matches(part).count(), 1, "{part}");
        }
    }
}
