//! Programs that end with this process, however that ends.

use std::ffi::OsStr;
use std::process::Command;

/// A command that gets `signal`, such as `KILL`, when the thread that starts it ends, or the whole
/// process is killed: setpriv has the system see to that.
pub fn bound(signal: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", signal, "--"]).arg(program);
    command
}
