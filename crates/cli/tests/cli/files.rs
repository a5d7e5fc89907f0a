//! Tests that a command which ends early leaves no file, and keeps existing ones.

use crate::common::{command, entries, stderr};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::tempdir;

#[test]
fn a_program_that_does_not_start_leaves_no_trace() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("x.pgt");
    let mut recording = command("trace record --output");
    let output = recording.arg(&trace).args(["--", "/no/such/program"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    let expected = "error: command /no/such/program: No such file or directory; expected a program";
    assert!(message.starts_with(expected), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    assert_eq!(entries(directory.path()), Vec::<String>::new());
}

/// Ctrl-C sends SIGINT to the program and to its recorder.
#[test]
fn an_interrupted_recording_leaves_no_trace() {
    let directory = tempdir().expect("a directory");
    // Where this runs in the background, the signal may be ignored, which children inherit.
    let mut recording = Command::new("env");
    let recording = recording.arg("--default-signal=INT").arg(env!("CARGO_BIN_EXE_pageout"));
    let recording = recording.args(["trace", "record", "--output"]);
    let recording = recording.arg(directory.path().join("x.pgt"));
    let recording = recording.args(["--", "cat"]).process_group(0).stderr(Stdio::null());
    let recording = recording.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = recording.spawn().expect("it runs");
    // The program has begun when it gives back what it gets; then it waits for more.
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    stdin.write_all(b"begun").expect("it reads");
    let mut begun = [0; 5];
    let mut stdout = child.stdout.take().expect("standard output is a pipe");
    stdout.read_exact(&mut begun).expect("it writes");
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status().expect("kill runs");
    assert!(sent.success());
    let status = child.wait().expect("it ends");
    assert!(!status.success(), "{status}");
    assert_eq!(entries(directory.path()), Vec::<String>::new());
}

/// Killed in the middle by a signal that nothing can catch, and so by any.
#[test]
fn what_is_killed_leaves_no_file() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("x.pgt");
    std::fs::write(&trace, "what was there before").expect("a file");
    let mut importing = command("trace import - --epoch 1 --output");
    let importing = importing.arg(&trace).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = importing.spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    // More than the pipe and the reader's buffer hold: when all of it is taken, much of it is read.
    stdin.write_all("I  1000,4\n".repeat(100_000).as_bytes()).expect("it reads");
    child.kill().expect("it runs still");
    assert_eq!(child.wait().expect("it ends").code(), None, "it was killed");
    assert_eq!(entries(directory.path()), ["x.pgt"]);
    let before = std::fs::read_to_string(&trace).expect("the file");
    assert_eq!(before, "what was there before");
}

/// Returns true if the process runs. A zombie does not run.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_recorded_program_ends_with_its_recorder() {
    for signal in ["TERM", "INT", "KILL"] {
        let directory = tempdir().expect("a directory");
        let mut recording = Command::new("env");
        recording.arg("--default-signal=INT,TERM").arg(env!("CARGO_BIN_EXE_pageout"));
        recording.args(["trace", "record", "--output"]).arg(directory.path().join("x.pgt"));
        // It tells its number, which is Valgrind's, and then waits.
        recording.args(["--", "sh", "-c", "echo $$; read forever"]);
        recording.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = recording.spawn().expect("it runs");
        let mut pid = [0; 32];
        let mut said = child.stdout.take().expect("a pipe");
        let length = said.read(&mut pid).expect("it begins");
        let pid = String::from_utf8_lossy(&pid[..length]).trim().to_owned();
        assert!(runs(&pid), "{pid}");
        let recorder = child.id().to_string();
        let killed = Command::new("kill").args(["-s", signal, &recorder]).status();
        assert!(killed.expect("kill runs").success());
        let mut stdin = child.stdin.take().expect("a pipe");
        child.wait().expect("it ends");
        let since = Instant::now();
        while runs(&pid) {
            assert!(since.elapsed() < Duration::from_secs(60), "{signal}: it lives on");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Nothing ended its input.
        let _ = stdin.write_all(b"\n");
        assert_eq!(entries(directory.path()), Vec::<String>::new());
    }
}
