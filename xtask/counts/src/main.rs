//! Counts the instructions that the engine takes on bare arm64, as `cargo xtask counts` runs it:
//! QEMU's clock advances by a nanosecond an instruction.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod board;
#[cfg(target_os = "none")]
mod kernel;
#[cfg(target_os = "none")]
mod measure;

#[cfg(not(target_os = "none"))]
fn main() {
    println!("this program boots under QEMU: `cargo xtask counts` builds and runs it");
}
