//! The lab's counts on real kernels, stored with it as record files.

/// Linux 6.12.117 and our backport of the batches to it.
pub static LINUX_6_12: &str = include_str!(concat!(env!("OUT_DIR"), "/linux-6.12.json"));
/// Linux 7.3.4, and without its batches.
pub static LINUX_7_3: &str = include_str!(concat!(env!("OUT_DIR"), "/linux-7.3.json"));
