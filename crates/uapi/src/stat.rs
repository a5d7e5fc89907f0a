//! Counters as text: `memory.stat`, `memory.events` and `/proc/vmstat`.

use core::fmt;

/// A reading of counters: names and values, in the order of the file.
///
/// ```
/// let stat = pageout_uapi::Stat([("low", 0), ("max", 7)]);
/// assert_eq!(stat.to_string(), "low 0\nmax 7\n");
/// assert_eq!(stat.get("max"), Some(7));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat<const N: usize>(pub [(&'static str, u64); N]);

impl<const N: usize> Stat<N> {
    /// Returns the value of a name; `None` if the file has no such line.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(of, _)| *of == name).map(|(_, value)| *value)
    }
}

/// Writes a line for each counter.
impl<const N: usize> fmt::Display for Stat<N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, value)| writeln!(out, "{name} {value}"))
    }
}
