//! Names for content: the beginning of its SHA-256, in hexadecimal.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// A name for a sequence of parts.
#[derive(Default)]
pub(super) struct Name(Sha256);

impl Name {
    /// Adds a part, and its length.
    pub(super) fn part(mut self, part: impl AsRef<[u8]>) -> Self {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// Adds each of these parts.
    pub(super) fn parts<P: AsRef<[u8]>>(self, parts: impl IntoIterator<Item = P>) -> Self {
        parts.into_iter().fold(self, Self::part)
    }

    /// Adds the content of a file, and its length.
    pub(super) fn file(mut self, path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut buffer = vec![0; 1 << 18];
        let mut length = 0u64;
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(self.part(length.to_le_bytes())),
                n => {
                    length += n as u64;
                    self.0.update(&buffer[..n]);
                }
            }
        }
    }

    /// Returns the name.
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
        let name = |parts: &[&str]| Name::default().parts(parts).finish();
        assert_eq!(name(&["ab", "c"]), name(&["ab", "c"]));
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_eq!(name(&[]).len(), 16);
    }
}
