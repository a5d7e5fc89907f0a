//! The shell script that measures a real machine: self-contained, with the benchmark's source.

use super::assets::{BENCH, SCRIPT};

/// The line of the script's template that the benchmark's source replaces.
const MARKER: &str = "@BENCH_SOURCES@\n";
/// The line that ends a file in the script. No line of the benchmark is equal to it.
const END: &str = "END_OF_BENCH_SOURCE";

/// Returns the script.
pub fn script() -> String {
    let file = |(name, text): &(&str, &str)| {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        format!("cat >{name} <<'{END}'\n{text}{end}{END}\n")
    };
    SCRIPT.replacen(MARKER, &BENCH.iter().map(file).collect::<String>(), 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;
    use tempfile::tempdir;

    #[test]
    fn every_file_of_the_benchmark_comes_out_as_it_went_in() {
        assert_eq!(SCRIPT.matches(MARKER).count(), 1, "the template has one place for them");
        let script = script();
        let from = script.find("cat >").unwrap();
        let to = script.rfind(END).unwrap() + END.len();
        let directory = tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.current_dir(&directory).arg("-c").arg(&script[from..to]);
        assert!(shell.status().unwrap().success());
        for (name, text) in BENCH {
            assert_eq!(fs::read_to_string(directory.path().join(name)).unwrap(), *text, "{name}");
        }
    }
}
