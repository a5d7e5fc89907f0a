//! `calibrate`: what it prints, and that the file it writes is a platform.

use crate::common::{refused, stdout};
use pageout_machine::platform::{Architecture, Basis, Platform};
use std::fs;
use tempfile::tempdir;

/// Prices that every machine shows, however busy it is.
const PLAIN: [&str; 5] = ["line_far", "rmw", "zero_page", "copy_page", "relax"];

/// Returns the platform whose prices are taken if this machine's are not measured.
fn server() -> Option<Platform> {
    Platform::named(match std::env::consts::ARCH {
        "aarch64" => "arm64-server-32-class",
        "x86_64" => "x86-server-class",
        _ => return None,
    })
}

#[test]
fn writes_a_platform_with_measured_prices_and_the_rest_of_the_server() {
    let Some(server) = server() else { return };
    let directory = tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    let printed = stdout(&format!("calibrate --quick --output {}", path.display()));
    let text = fs::read_to_string(&path).unwrap();
    let platform = Platform::parse("mine.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(platform.name(), "mine");
    assert_eq!(platform.quotes().len(), server.quotes().len());
    for (own, other) in platform.quotes().iter().zip(server.quotes()) {
        let here = own.provenance.basis == Basis::Measured
            && own.provenance.source.contains("repetitions on ");
        assert!(here || own == other, "{own:?} is neither measured nor of {}", server.name());
        assert!(here || !PLAIN.contains(&own.name), "{} was not measured", own.name);
        let row = row(&printed, own.name);
        assert_eq!(row.contains(&format!("; as {}", server.name())), !here, "{row}");
    }
    if cfg!(target_arch = "x86_64") {
        for price in ["plain instruction", "atomic", "first touch of a line"] {
            assert!(printed.contains(price) && text.contains(price), "{price}: {printed}");
        }
    }
    // What was measured can be taken over in its turn.
    let again = directory.path().join("again.toml");
    let like = format!("--like {} --output {}", path.display(), again.display());
    stdout(&format!("calibrate --quick --cores 1 {like}"));
    let again = Platform::parse("again.toml", &fs::read_to_string(again).unwrap()).unwrap();
    assert_eq!(again.shape().cores, 1);
    let transfer = |platform: &Platform| {
        let quote = platform.quotes().iter().find(|quote| quote.name == "line_transfer");
        quote.expect("every platform has it").clone()
    };
    assert_eq!(transfer(&again), transfer(&platform), "takes a second core");
}

/// Returns the row of a table that begins with a word.
fn row<'a>(printed: &'a str, name: &str) -> &'a str {
    let row = printed.lines().find(|line| line.split(' ').next() == Some(name));
    row.unwrap_or_else(|| panic!("no row {name} in: {printed}"))
}

#[test]
fn one_core_measures_what_takes_one_and_says_what_takes_more() {
    if server().is_none() {
        return;
    }
    let printed = stdout("calibrate --quick --cores 1");
    assert!(printed.contains("measured on one core"), "{printed}");
    let transfer = row(&printed, "line_transfer");
    assert!(transfer.contains("there is no other core to measure with; as "), "{transfer}");
    assert!(
        row(&printed, "rmw").contains("  7  a locked operation in the first cache"),
        "{printed}"
    );
    assert!(!printed.contains("spinning threads 1"), "{printed}");
}

#[test]
fn bad_input_is_refused_before_anything_is_measured() {
    let Some(server) = server() else { return };
    refused("calibrate --cores 0", &["`0`", "--cores"]);
    refused("calibrate --cores 257", &["`257`", "--cores"]);
    refused("calibrate --like nowhere", &["nowhere", server.name(), "unknown platform"]);
    let other = match server.architecture() {
        Architecture::Arm64 => "x86-server-class",
        _ => "carmel-8-class",
    };
    refused(&format!("calibrate --like {other}"), &[other, "as this machine is"]);
    refused("calibrate --output /nowhere/mine.toml", &["/nowhere/mine.toml"]);
    let directory = tempdir().unwrap();
    let path = directory.path().join("broken.toml");
    fs::write(&path, "name = 3\n").unwrap();
    refused(&format!("calibrate --like {}", path.display()), &["broken.toml:1: "]);
    let cores = pageout_calibrate::cores().unwrap().len();
    if cores < 256 {
        let message = format!("this process may use {cores}");
        refused("calibrate --cores 256", &["--cores 256", &message]);
    }
}

#[test]
fn a_benchmark_whose_times_do_not_follow_from_counts_is_refused() {
    refused("bench young --predict", &["--predict is for bench reclaim and bench mglru"]);
}
