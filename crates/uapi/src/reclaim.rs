//! The file `memory.reclaim`, through which user space asks for reclaim.

use core::fmt;

use crate::errno::Errno;
use crate::number::{is_space, number};
use crate::{MAX_SWAPPINESS, SWAPPINESS_ANON_ONLY};

/// A request, as it is written to the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReclaimRequest {
    /// The amount in bytes.
    pub bytes: u64,
    /// The swappiness: 0 to 200, or 201 for `max`: only anonymous memory. `None` uses that of each
    /// cgroup.
    pub swappiness: Option<u8>,
}

impl ReclaimRequest {
    /// Asks for an amount, with each cgroup's swappiness.
    pub const fn of(bytes: u64) -> Self {
        Self { bytes, swappiness: None }
    }

    /// Parses `<bytes>[KMGTPE] [swappiness=N|max]`, as Linux 7.3.4 does: numbers in C's bases; only
    /// a suffix means 0; the last swappiness counts. The one difference: a size past 64 bits is
    /// refused, while Linux wraps it around.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Errno> {
        let text = text.trim_matches(is_space);
        let (bytes, options) = memparse(text).ok_or(Errno::EINVAL)?;
        let options = options.trim_start_matches(is_space);
        let mut request = Self::of(bytes);
        for option in options.split(' ').filter(|option| !option.is_empty()) {
            let value = option.strip_prefix("swappiness=").ok_or(Errno::EINVAL)?;
            request.swappiness = Some(match value {
                "max" => SWAPPINESS_ANON_ONLY,
                number => swappiness(number).ok_or(Errno::EINVAL)?,
            });
        }
        Ok(request)
    }
}

/// Parses a size with an optional suffix, and returns it with the rest. Returns `None` if there is
/// neither, or if the size is past 64 bits.
fn memparse(text: &str) -> Option<(u64, &str)> {
    let (n, rest) = number(text)?;
    let suffix = rest.chars().next().map(|c| c.to_ascii_uppercase());
    let (shift, rest) = match suffix.and_then(|c| "KMGTPE".find(c)) {
        Some(i) => (10 * (i as u32 + 1), &rest[1..]),
        None => (0, rest),
    };
    let read = rest.len() < text.len();
    Some((n.checked_mul(1 << shift).filter(|_| read)?, rest))
}

fn swappiness(text: &str) -> Option<u8> {
    let (n, rest) = number(text)?;
    let good = rest.is_empty() && !text.is_empty() && n <= u64::from(MAX_SWAPPINESS);
    good.then_some(n as u8)
}

/// Writes the request as the file takes it.
impl fmt::Display for ReclaimRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.bytes)?;
        match self.swappiness {
            None => Ok(()),
            Some(SWAPPINESS_ANON_ONLY) => write!(out, " swappiness=max"),
            Some(swappiness) => write!(out, " swappiness={swappiness}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_request_is_printed_as_it_is_read() {
        for text in ["4096", "0 swappiness=0", "8192 swappiness=200", "1 swappiness=max"] {
            assert_eq!(ReclaimRequest::parse(text).unwrap().to_string(), text);
        }
    }

    fn read(text: &str) -> Result<(u64, Option<u8>), Errno> {
        ReclaimRequest::parse(text).map(|request| (request.bytes, request.swappiness))
    }

    #[test]
    fn sizes_are_read_as_the_kernel_reads_them() {
        let sizes = [
            ("0", 0),
            ("4096", 4096),
            ("  8G\n", 8 << 30),
            ("1k", 1 << 10),
            ("3M", 3 << 20),
            ("2T", 2 << 40),
            ("2P", 2 << 50),
            ("2E", 2 << 60),
            ("0x10", 16),
            ("0X1fK", 31 << 10),
            ("010", 8),
            ("18446744073709551615", u64::MAX),
            ("15E", 15 << 60),
            ("M", 0),
        ];
        for (text, bytes) in sizes {
            assert_eq!(read(text), Ok((bytes, None)), "{text:?}");
        }
    }

    #[test]
    fn swappiness_is_a_number_up_to_200_or_max() {
        let cases = [
            ("1M swappiness=0", 0),
            ("1M swappiness=200", 200),
            ("1M swappiness=max", 201),
            ("1M\tswappiness=60", 60),
            ("1M   swappiness=60  ", 60),
            ("1Mswappiness=60", 60),
            ("1M swappiness=0x20", 32),
            ("1M swappiness=1 swappiness=max swappiness=2", 2),
        ];
        for (text, swappiness) in cases {
            assert_eq!(read(text), Ok((1 << 20, Some(swappiness))), "{text:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let bad = [
            "",
            " ",
            "-1",
            "x",
            "max",
            "1Q",
            "1M K",
            "1M x",
            "1M swappiness",
            "1M swappiness=",
            "1M swappiness=201",
            "1M swappiness=-1",
            "1M swappiness=+1",
            "1M swappiness=1x",
            "1M swappiness=max1",
            "1M Swappiness=1",
            "1M swappiness=1,2",
            "1M swappiness= 1",
            "1M swappiness=18446744073709551617",
            "18446744073709551616",
            "16E",
            "1MM",
            "1é",
        ];
        for text in bad {
            assert_eq!(read(text), Err(Errno::EINVAL), "{text:?}");
        }
    }
}
