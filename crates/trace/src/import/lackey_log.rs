//! A log of `valgrind --tool=lackey --trace-mem=yes` that was made elsewhere.

use super::access::{Access, Cause};
use super::text::Line;
use crate::lackey;

pub(super) fn line(line: &[u8]) -> Option<Line> {
    if let Some(reference) = lackey::reference(line) {
        return Some(Line::Access { process: 0, access: Access::Reference(reference) });
    }
    if line.is_empty() {
        return Some(Line::Nothing);
    }
    // With --trace-superblocks=yes: a block of code is entered, of which `I` lines follow.
    if line.starts_with(b"SB ") {
        return Some(Line::PassedOver(Cause::Marker));
    }
    lackey::is_noise(line).then(|| match lackey::command(line) {
        command if command.is_empty() => Line::PassedOver(Cause::Remark),
        command => Line::Command(command),
    })
}
