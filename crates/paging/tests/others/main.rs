//! The kit, tried on page-table code of public crates. What it finds is what these tests expect; a
//! release without the finding fails its test, so that this page can be corrected.
#![cfg(not(miri))] // the crates' own unsafe code is not ours to check
#![allow(unsafe_code)]

mod aarch64_paging;
mod memory;
mod x86_64;
