//! The limits of a trace, which writer and reader both hold.

/// The longest string, in bytes: the longest argument that Linux allows (`MAX_ARG_STRLEN`).
pub(crate) const MAX_STRING: u64 = 128 << 10;
/// The maximum number of bytes of all strings of a trace together.
pub(crate) const MAX_STRINGS: u64 = 16 << 20;
/// The maximum number of files that a trace names.
pub(crate) const MAX_FILES: usize = 1 << 18;
/// The maximum number of arguments of a command.
pub(crate) const MAX_ARGUMENTS: u64 = 1 << 16;
/// Steps that any trace may take: a record is one, and each area that it affects is another.
pub(crate) const STEPS: u64 = 1 << 26;
/// Additional steps for each byte of the file: real programs' traces have about one.
pub(crate) const STEPS_PER_BYTE: u64 = 256;
/// The number of steps for each area that a change of mappings affects: each is looked up, some are
/// split.
pub(crate) const STEPS_PER_AREA: u64 = 16;
