//! The files and lines of points.

use std::path::Path;
use std::process::Command;

use super::super::child::{self, NotRun};

const UNKNOWN: &str = "line unknown";

/// Returns the file and line of each point in its own function, not in a function that is inlined
/// there. A point is the address after its call.
pub(super) fn lines(linked: &Path, points: &[u64]) -> Result<Vec<String>, NotRun> {
    if points.is_empty() {
        return Ok(Vec::new());
    }
    let addresses = points.iter().map(|point| format!("{:#x}", point - 1));
    let mut command = Command::new("addr2line");
    let output = child::output(command.args(["-a", "-i", "-e"]).arg(linked).args(addresses))?;
    let mut lines = outermost(&String::from_utf8_lossy(&output.stdout));
    lines.resize(points.len(), UNKNOWN.to_owned());
    Ok(lines)
}

/// Returns the last line of each address: inlined functions come first. Each address has a line
/// itself, before its others.
fn outermost(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("0x") {
            lines.push(UNKNOWN.to_owned());
        } else if let Some(last) = lines.last_mut() {
            *last = short(line);
        }
    }
    lines
}

/// Strips the tree, `.../trees/SOURCE/CONFIG/`, and the text after the number from a line of
/// addr2line.
fn short(line: &str) -> String {
    let line = line.split(' ').next().unwrap_or_default();
    let inside = line.split_once("/trees/").and_then(|(_, rest)| rest.splitn(3, '/').nth(2));
    match inside.unwrap_or(line) {
        line if line.is_empty() || line.starts_with('?') => UNKNOWN.to_owned(),
        line => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_at_the_line_of_its_own_function() {
        let text = "0xffffffff81171180\n\
            /c/lab/trees/debian-a1/x86-64-swap/arch/x86/include/asm/pgtable.h:259\n\
            /c/lab/trees/debian-a1/x86-64-swap/mm/rmap.c:2301 (discriminator 3)\n\
            0xffffffff81171181\n??:0\n\
            0xffffffff81171182\nmm/vmscan.c:7\n";
        assert_eq!(outermost(text), ["mm/rmap.c:2301", UNKNOWN, "mm/vmscan.c:7"]);
    }
}
