//! The files `enabled` and `min_ttl_ms` of `/sys/kernel/mm/lru_gen`. Files of sysfs are not asked
//! about writes of zero bytes.

use core::fmt;

use crate::errno::Errno;
use crate::number::{c_string, kstrtouint};

/// The content of `enabled`: a bit for each part of the multi-generational LRU.
///
/// ```
/// use pageout_uapi::lru_gen::Enabled;
///
/// assert_eq!(Enabled::parse("y")?, Enabled(u32::MAX));
/// assert_eq!(Enabled(7).to_string(), "0x0007\n");
/// # Ok::<(), pageout_uapi::Errno>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enabled(pub u32);

impl Enabled {
    /// Parses a write (Linux 7.3.4, `enabled_store`): a number, or what begins with `y` for all
    /// parts, or with `n` for none.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Errno> {
        let bits = match text.bytes().next().map(|byte| byte.to_ascii_lowercase()) {
            Some(b'n') => 0,
            Some(b'y') => u32::MAX,
            _ => kstrtouint(c_string(text)).ok_or(Errno::EINVAL)?,
        };
        Ok(Self(bits))
    }
}

/// Writes the content with its line end (`enabled_show`).
impl fmt::Display for Enabled {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "0x{:04x}", self.0)
    }
}

/// Parses a write to `min_ttl_ms`: a number of 32 bits (Linux 7.3.4, `min_ttl_ms_store`).
///
/// # Errors
/// [`Errno::EINVAL`] for anything else.
pub fn min_ttl_ms(text: &str) -> Result<u32, Errno> {
    kstrtouint(c_string(text)).ok_or(Errno::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_enabled_is_a_number_or_a_letter() {
        let cases = [
            ("7", 7),
            ("0", 0),
            ("y\n", u32::MAX),
            ("no", 0),
            ("Yes", u32::MAX),
            ("N", 0),
            ("0x3\n", 3),
            ("05", 5),
            ("+1", 1),
            ("8", 8),
            ("4294967295", u32::MAX),
            ("2\0x", 2),
        ];
        for (text, bits) in cases {
            assert_eq!(Enabled::parse(text), Ok(Enabled(bits)), "{text:?}");
        }
        for text in ["", "x", "-1", "4294967296", " 1", "1 1", "true"] {
            assert_eq!(Enabled::parse(text), Err(Errno::EINVAL), "{text:?}");
        }
    }

    #[test]
    fn min_ttl_is_a_number_of_milliseconds() {
        for (text, ms) in [("1000\n", 1000), ("0x10", 16), ("4294967295", u32::MAX)] {
            assert_eq!(min_ttl_ms(text), Ok(ms), "{text:?}");
        }
        for text in ["-1", "x", "1s", "4294967296"] {
            assert_eq!(min_ttl_ms(text), Err(Errno::EINVAL), "{text:?}");
        }
    }
}
