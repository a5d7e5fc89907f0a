//! Lists the lab's files, which travel in the binary.

use std::path::Path;
use std::{env, fs};

/// The directory of the lab's files.
const LAB: &str = "files";
/// The folders whose files are listed, each with what it holds.
const FOLDERS: [(&str, &str); 11] = [
    ("init", "The test machine's first process."),
    ("bench", "The benchmark."),
    ("scenarios", "The manifests of the benchmark's scenarios."),
    ("workload", "The files that a workload with a manifest has besides its own."),
    ("program", "The files that a workload has that is not in C."),
    ("workloads", "The workloads that come with the lab."),
    ("plugin", "The emulator's plugins."),
    ("series", "Our patches for Linux 6.12."),
    ("before-7.3", "The patches that take batches out of Linux 7.3."),
    ("questions-7.3", "The patches that ask Linux 7.3 a question."),
    ("queue-7.3", "The patches that make Linux 7.3 faster."),
];

/// Records that travel in the binary.
const RECORDS: [&str; 2] = ["linux-6.12.json", "linux-7.3.json"];

fn main() {
    println!("cargo::rerun-if-changed={LAB}");
    let lists: String = FOLDERS.map(|(folder, about)| list(folder, about)).concat();
    let out = env::var_os("OUT_DIR").expect("cargo says where");
    let out = Path::new(&out);
    fs::write(out.join("lab.rs"), lists).expect("the list can be written");
    for name in RECORDS {
        let text = fs::read_to_string(Path::new(LAB).join("records").join(name));
        let text = text.expect("the lab has the records");
        // Without the indentation, which is half of it. No text of JSON goes over a line's end.
        let short: String = text.lines().map(str::trim_start).collect();
        fs::write(out.join(name), short).expect("the records can be written");
    }
}

/// Writes a static with every source, patch and manifest of one of the lab's folders.
fn list(folder: &str, about: &str) -> String {
    let path = fs::canonicalize(Path::new(LAB).join(folder)).expect("the lab has the folder");
    let entries = fs::read_dir(&path).expect("the folder can be read");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> =
        names.map(|name| name.into_string().expect("a name in UTF-8")).collect();
    names.retain(|name| {
        [".c", ".h", ".sh", ".patch", ".toml"].iter().any(|end| name.ends_with(end))
    });
    names.sort();
    let file = |name: &String| {
        let path = path.join(name);
        format!("    ({name:?}, include_str!({path:?})),\n")
    };
    let files: String = names.iter().map(file).collect();
    let name = folder.to_uppercase().replace(['-', '.'], "_");
    format!("/// {about}\npub(super) static {name}: &[File] = &[\n{files}];\n")
}
