//! Patches as they are given.

/// A patch to the kernel's source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The file's name, for messages.
    pub name: String,
    /// Its text.
    pub text: Vec<u8>,
}

/// Patches of the user's that make one kernel, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatchSet {
    /// The kernel's name.
    pub name: String,
    /// What makes it.
    pub patches: Vec<Patch>,
}

/// A subject's tag and the rest: `PATCH v2 1/3` of `[PATCH v2 1/3] mm: x`.
pub(super) fn tag(subject: &str) -> (&str, &str) {
    let tagged = subject.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    tagged.unwrap_or(("", subject))
}
