//! A platform file with the measured prices, and with another platform's figures for the rest.

use super::{Calibration, Figure};
use pageout_machine::platform::{Architecture, Platform};
use std::fmt::Write;
use toml_edit::{DocumentMut, Item, TableLike, value};

/// Returns the architecture that this program was built for, if its invalidations are modelled.
pub fn architecture() -> Option<Architecture> {
    match std::env::consts::ARCH {
        "aarch64" => Some(Architecture::Arm64),
        "x86_64" => Some(Architecture::X86),
        "riscv64" => Some(Architecture::Riscv),
        _ => None,
    }
}

/// The platform whose figures are taken for those that were not measured.
#[derive(Debug)]
pub struct Like {
    platform: Platform,
    text: String,
}

/// The reason why figures cannot be taken from a platform.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LikeError {
    /// Invalidations are not modelled for this architecture.
    #[error("{0} is not modelled: expected a machine of arm64, x86 or riscv")]
    NotModelled(&'static str),
    /// The other platform is of another architecture.
    #[error("platform {name} is {found}: expected {expected}, as this machine is")]
    Other {
        /// The platform.
        name: String,
        /// The platform's architecture.
        found: Architecture,
        /// The architecture of this machine.
        expected: Architecture,
    },
}

impl Like {
    /// Takes a platform with the text of its file.
    ///
    /// # Errors
    /// [`LikeError`] if it is of another architecture than this machine.
    pub fn new(platform: Platform, text: impl Into<String>) -> Result<Self, LikeError> {
        let expected = architecture().ok_or(LikeError::NotModelled(std::env::consts::ARCH))?;
        let found = platform.architecture();
        if found != expected {
            return Err(LikeError::Other { name: platform.name().to_owned(), found, expected });
        }
        Ok(Self { platform, text: text.into() })
    }

    /// Returns the platform.
    pub const fn platform(&self) -> &Platform {
        &self.platform
    }
}

/// Returns the file of a platform called `name`.
///
/// # Panics
/// If [`Platform::parse`] refuses the file, which is a bug of ours.
pub fn file(name: &str, calibration: &Calibration, like: &Like) -> String {
    let mut document: DocumentMut = like.text.parse().expect("a platform's file is TOML");
    let other = like.platform.name();
    document["name"] = value(name);
    document["about"] = value(format!(
        "Measured on {} by pageout calibrate; what was not measured as {other}.",
        calibration.cpu
    ));
    if let Some(mut first) = document.as_table_mut().key_mut("name") {
        first.leaf_decor_mut().set_prefix(remarks(calibration, other));
    }
    let cores = section(&mut document["cores"]);
    let count = i64::try_from(calibration.cores).expect("few cores");
    let source = cores.get("source").and_then(Item::as_str).unwrap_or_default();
    let source = format!("count: the cores measured on. The rest as {other}: {source}");
    cores.insert("count", value(count));
    cores.insert("source", value(source));
    for price in &calibration.prices {
        let table = section(&mut document["prices"][price.name]);
        table.clear();
        let Figure { median, low, high, n } = price.figure;
        for (key, ns) in [("value", median), ("low", low), ("high", high)] {
            table.insert(key, value(to_picoseconds(ns)));
        }
        table.insert("unit", value("ns"));
        table.insert("basis", value("measured"));
        let source = format!("{}; {n} repetitions on {}", price.how, calibration.cpu);
        table.insert("source", value(source));
    }
    let text = document.to_string();
    if let Err(error) = Platform::parse(name, &text) {
        panic!("a platform file of ours is refused: {error}");
    }
    text
}

/// Returns a section that the platform has, without the comments above it, which were about
/// replaced figures.
fn section(item: &mut Item) -> &mut dyn TableLike {
    if let Some(table) = item.as_table_mut() {
        table.decor_mut().set_prefix("\n");
    }
    item.as_table_like_mut().expect("a platform has the section")
}

/// Rounds nanoseconds to the picosecond.
fn to_picoseconds(ns: f64) -> f64 {
    (ns * 1000.0).round() / 1000.0
}

/// Returns the comments at the beginning of the file: the origin of its figures, and the other
/// measurements.
fn remarks(calibration: &Calibration, other: &str) -> String {
    let names: Vec<_> = calibration.prices.iter().map(|price| price.name).collect();
    let mut lines = format!("Measured here: {}.\n", names.join(", "));
    lines += &format!("All else is of {other}, with its basis and source.\n");
    let shown = "Not in the model, seen here, in ns, median (5th to 95th percentile):\n";
    lines += shown;
    for seen in &calibration.seen {
        let Figure { median, low, high, .. } = seen.figure;
        let _ = writeln!(lines, "  {}: {median:.1} ({low:.1} to {high:.1})", seen.what);
    }
    for (level, pages) in ["first", "second"].iter().zip(calibration.reach) {
        let pages = pages.map_or_else(|| "does not show".to_owned(), |n| format!("{n} pages"));
        let _ = writeln!(lines, "  reach of the {level} TLB level: {pages}");
    }
    lines.lines().map(|line| format!("# {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Priced, Seen};
    use pageout_machine::platform::{Basis, Prices};

    fn calibration() -> Calibration {
        let figure = Figure { median: 12.345_678, low: 1.5, high: 40.0, n: 9 };
        let how = "a \"test\"\nof two lines".to_owned();
        Calibration {
            cpu: "A CPU".to_owned(),
            cores: 7,
            prices: vec![Priced { name: "rmw", figure, how }],
            seen: vec![Seen { what: "system call".to_owned(), figure }],
            reach: [Some(64), None],
            left_out: Vec::new(),
        }
    }

    /// Returns a platform of this machine's architecture, if one comes with the program.
    fn like() -> Option<Like> {
        let of_here = |name: &&str| {
            let platform = Platform::named(name).expect("one that comes with the program");
            Some(platform.architecture()) == architecture()
        };
        let name = Platform::names().find(of_here)?;
        let text = Platform::file(name).expect("one that comes with the program");
        Some(Like::new(Platform::named(name)?, text).unwrap())
    }

    #[test]
    fn the_file_has_what_was_measured_and_the_rest_of_the_other() {
        let Some(like) = like() else { return };
        let text = file("mine", &calibration(), &like);
        let platform = Platform::parse("mine.toml", &text).unwrap();
        assert_eq!((platform.name(), platform.shape().cores), ("mine", 7));
        for (own, other) in platform.quotes().iter().zip(like.platform.quotes()) {
            if own.name == "rmw" {
                assert_eq!((own.low, own.value, own.high), (1500, 12_346, 40_000));
                assert_eq!(own.provenance.basis, Basis::Measured);
                let source = "a \"test\"\nof two lines; 9 repetitions on A CPU";
                assert_eq!(own.provenance.source, source);
            } else {
                assert_eq!(own, other);
            }
        }
        assert_eq!(platform.quotes().len(), Prices::names(platform.architecture()).count());
        assert!(text.starts_with("# Measured here: rmw.\n"), "{text}");
    }

    #[test]
    fn a_platform_of_another_architecture_is_refused() {
        let other =
            |name: &&str| Some(Platform::named(name).unwrap().architecture()) != architecture();
        let name = Platform::names().find(other).unwrap();
        let refused = Like::new(Platform::named(name).unwrap(), "").unwrap_err();
        assert!(matches!(refused, LikeError::Other { .. } | LikeError::NotModelled(_)));
    }
}
