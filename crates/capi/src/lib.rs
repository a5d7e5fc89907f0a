#![doc = include_str!("../README.md")]
#![no_std]
#![deny(unsafe_code)]

// With an operating system its panics are those of `std`.
#[cfg(not(target_os = "none"))]
extern crate std;

pub mod engine;
pub mod entry_points;
mod error;
mod ground;
#[cfg(target_os = "none")]
mod panic;
pub mod types;
