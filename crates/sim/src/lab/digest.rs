//! Names for content: the beginning of its SHA-256, in hexadecimal.

use sha2::{Digest as _, Sha256};

/// A name for parts that, in their order, are all that matters.
#[derive(Default)]
pub(super) struct Name(Sha256);

impl Name {
    /// Adds a part; where it ends matters too.
    pub(super) fn part(mut self, part: impl AsRef<[u8]>) -> Self {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// Adds bytes of a long part.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The name.
    pub(super) fn finish(self) -> String {
        let digest = self.0.finalize();
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        let name = |parts: &[&str]| parts.iter().fold(Name::default(), Name::part).finish();
        assert_eq!(name(&["ab", "c"]), name(&["ab", "c"]));
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_eq!(name(&[]).len(), 16);
    }
}
