//! Child programs that end when this process ends, in whatever way it ends.

use std::ffi::OsStr;
use std::process::Command;

/// Returns a command whose process gets `signal`, such as `KILL`, when the thread that starts it
/// ends or this process is killed. The kernel sends the signal (setpriv sets `PR_SET_PDEATHSIG`).
pub fn bound(signal: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", signal, "--"]).arg(program);
    command
}
