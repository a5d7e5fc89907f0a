//! From a platform file's text to a platform, or to the first thing wrong with it.

use toml_edit::Document;

use super::error::{PlatformError, Problem};
use super::price::{Basis, Kind, Price, Provenance, Unit};
use super::section::{Section, Source};
use super::shape::{Broadcast, Hardware, Invalidation, Ipi, Shape, Storage};
use super::{Architecture, Platform, Prices};

/// The keys that say where a section or price comes from.
const PROVENANCE: [&str; 3] = ["basis", "on", "source"];

/// Reads a platform file.
pub(super) fn platform(file: &str, text: &str) -> Result<Platform, PlatformError> {
    let source = Source { file, text };
    let document = Document::parse(text).map_err(|error| {
        let offset = error.span().map_or_else(|| source.last_line(), |span| span.start);
        let message = error.message().trim().replace('\n', ", ");
        source.refusal(offset, Problem::Syntax(message))
    })?;
    let architecture = architecture(source, &document)?;
    let invalidation = match architecture {
        Architecture::Arm64 => "broadcast",
        Architecture::X86 | Architecture::Riscv => "ipi",
    };
    let root = ["name", "about", "architecture", "cores", invalidation, "storage", "prices"];
    let root = Section::root(source, document.as_table(), &root)?;
    let mut sections = Vec::new();
    let mut known = |name, section: &Section<'_>| -> Result<(), PlatformError> {
        sections.push((name, provenance(section)?));
        Ok(())
    };
    let (cores, hardware) = cores(&root, architecture, &mut known)?;
    let invalidation = match architecture {
        Architecture::Arm64 => Invalidation::Broadcast(broadcast(&root, &mut known)?),
        Architecture::X86 | Architecture::Riscv => Invalidation::Ipi(ipi(&root, &mut known)?),
    };
    let storage = storage(&root, &mut known)?;
    Ok(Platform {
        name: root.text("name", "the platform's name")?.to_owned(),
        about: root.text("about", "a sentence")?.to_owned(),
        shape: Shape { architecture, cores, hardware, invalidation, storage },
        sections,
        prices: prices(&root, architecture)?,
    })
}

/// The architecture, which decides what other keys there are.
fn architecture(
    source: Source<'_>,
    document: &Document<&str>,
) -> Result<Architecture, PlatformError> {
    let keys: Vec<&str> = document.iter().map(|(key, _)| key).collect();
    let root = Section::root(source, document.as_table(), &keys)?;
    let place = root.choice("architecture", &Architecture::ALL.map(Architecture::name))?;
    Ok(Architecture::ALL[place])
}

/// Notes where a section comes from.
type Known<'a> = &'a mut dyn FnMut(&'static str, &Section<'_>) -> Result<(), PlatformError>;

/// A section of the shape: its own keys and those of its provenance.
fn section<'a>(
    root: &Section<'a>,
    name: &'static str,
    keys: &[&str],
    known: Known<'_>,
) -> Result<Section<'a>, PlatformError> {
    let section = root.section(name, &[keys, &PROVENANCE].concat())?;
    known(name, &section)?;
    Ok(section)
}

fn cores(
    root: &Section<'_>,
    architecture: Architecture,
    known: Known<'_>,
) -> Result<(u16, Hardware), PlatformError> {
    let keys = ["count", "hardware_accessed", "hardware_dirty", "nonleaf_accessed"];
    let arm = ["bbml2_noabort"];
    let is_arm = architecture == Architecture::Arm64;
    let keys = [&keys[..], if is_arm { &arm } else { &[] }].concat();
    let cores = section(root, "cores", &keys, known)?;
    let hardware = Hardware {
        accessed: cores.flag("hardware_accessed")?,
        dirty: cores.flag("hardware_dirty")?,
        nonleaf_accessed: cores.flag("nonleaf_accessed")?,
        bbml2_noabort: is_arm && cores.flag("bbml2_noabort")?,
    };
    for (key, has) in
        [("hardware_dirty", hardware.dirty), ("nonleaf_accessed", hardware.nonleaf_accessed)]
    {
        if has && !hardware.accessed {
            let found = "true, and hardware_accessed false";
            return Err(cores.refused(key, found, "hardware that sets the accessed bit too"));
        }
    }
    Ok((cores.count("count", 1..=Shape::MAX_CORES)?, hardware))
}

fn broadcast(root: &Section<'_>, known: Known<'_>) -> Result<Broadcast, PlatformError> {
    let keys = ["asid_bits", "range_operations", "hold", "waits_for_devices"];
    let section = section(root, "broadcast", &keys, known)?;
    let asid_bits = section.count("asid_bits", 8..=16)?;
    if ![8, 16].contains(&asid_bits) {
        return Err(section.refused("asid_bits", asid_bits, "8 or 16"));
    }
    Ok(Broadcast {
        asid_bits,
        range_operations: section.flag("range_operations")?,
        hold: section.count("hold", 0..=1024)?,
        waits_for_devices: section.flag("waits_for_devices")?,
    })
}

fn ipi(root: &Section<'_>, known: Known<'_>) -> Result<Ipi, PlatformError> {
    let section = section(root, "ipi", &["tag_slots", "full_flush_ceiling", "lazy"], known)?;
    Ok(Ipi {
        tag_slots: section.count("tag_slots", 0..=64)?,
        full_flush_ceiling: section.count("full_flush_ceiling", 0..=1 << 21)?,
        lazy: section.flag("lazy")?,
    })
}

fn storage(root: &Section<'_>, known: Known<'_>) -> Result<Storage, PlatformError> {
    let section = section(root, "storage", &["queue_depth"], known)?;
    Ok(Storage { queue_depth: section.count("queue_depth", 1..=u16::MAX)? })
}

fn prices(root: &Section<'_>, architecture: Architecture) -> Result<Vec<Price>, PlatformError> {
    let names: Vec<&str> = Prices::names(architecture).map(|(name, _)| name).collect();
    let section = root.section("prices", &names)?;
    Prices::names(architecture).map(|(name, kind)| price(&section, name, kind)).collect()
}

fn price(prices: &Section<'_>, name: &'static str, kind: Kind) -> Result<Price, PlatformError> {
    let keys = [&["value", "unit", "low", "high"][..], &PROVENANCE].concat();
    let section = prices.section(name, &keys)?;
    let units: Vec<&str> = kind.units().iter().map(|unit| unit.name()).collect();
    let unit = kind.units()[section.choice("unit", &units)?];
    let value = amount(&section, "value", kind, unit)?;
    let (low, high) = (amount(&section, "low", kind, unit)?, amount(&section, "high", kind, unit)?);
    if low > value {
        let found = format!("{}, above the value", section.written("low"));
        return Err(section.refused("low", found, "low <= value <= high"));
    }
    if high < value {
        let found = format!("{}, below the value", section.written("high"));
        return Err(section.refused("high", found, "low <= value <= high"));
    }
    if low == 0 && high > 0 {
        let accepted = "above zero, since a draw goes by ratios; or value, low and high all zero";
        return Err(section.refused("low", section.written("low"), accepted));
    }
    Ok(Price { name, value, low, high, unit, provenance: provenance(&section)? })
}

/// A price in base units, which are so small that rounding to them loses nothing.
fn amount(section: &Section<'_>, key: &str, kind: Kind, unit: Unit) -> Result<u64, PlatformError> {
    let number = section.number(key)?;
    let base = (number * unit.in_base() as f64).round();
    let (least, highest) = match kind {
        Kind::Time => (0.0, "1000 s, and zero or at least 1 ps"),
        Kind::Bandwidth => (1.0, "1000 GB/s, and at least 1 byte a second"),
    };
    let vanished = number > 0.0 && base == 0.0;
    if vanished || base < least || base > kind.highest() as f64 {
        let found = format!("{} {}", section.written(key), unit.name());
        return Err(section.refused(key, found, format!("at most {highest}")));
    }
    Ok(base as u64)
}

/// Where a section or price comes from.
fn provenance(section: &Section<'_>) -> Result<Provenance, PlatformError> {
    let place = section.choice("basis", &Basis::NAMES)?;
    let is_fitted = Basis::NAMES[place] == "fitted";
    if !is_fitted && section.has("on") {
        let found = format!("on, and basis \"{}\"", Basis::NAMES[place]);
        return Err(section.refused("on", found, "on beside basis \"fitted\" alone"));
    }
    let basis = match place {
        0 => Basis::Documented,
        1 => Basis::Measured,
        2 => Basis::Fitted { on: section.text("on", "what it was fitted on")?.to_owned() },
        _ => Basis::Guessed,
    };
    let source = section.text("source", "the document, the measurement or the reasoning")?;
    Ok(Provenance { basis, source: source.to_owned() })
}
