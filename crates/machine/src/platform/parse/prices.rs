//! The prices of a platform file.

use super::provenance::{PROVENANCE, provenance};
use super::section::Section;
use crate::platform::architecture::Architecture;
use crate::platform::error::PlatformError;
use crate::platform::price::{Kind, Price, Unit};
use crate::platform::prices::{PriceName, Prices};

/// Reads every price of the architecture, in the order of the documentation.
pub(super) fn read(
    root: &Section<'_>,
    architecture: Architecture,
) -> Result<Vec<Price>, PlatformError> {
    let names: Vec<&str> = Prices::names(architecture).map(|price| price.name).collect();
    let section = root.section("prices", &names)?;
    Prices::names(architecture).map(|declared| price(&section, declared)).collect()
}

fn price(prices: &Section<'_>, declared: PriceName) -> Result<Price, PlatformError> {
    let PriceName { name, kind, clocked } = declared;
    let keys = [&["value", "unit", "low", "high"][..], &PROVENANCE].concat();
    let section = prices.section(name, &keys)?;
    let units: Vec<(&str, Unit)> = kind.units().iter().map(|unit| (unit.name(), *unit)).collect();
    let unit = section.choice("unit", &units)?;
    let value = amount(&section, "value", kind, unit)?;
    let low = amount(&section, "low", kind, unit)?;
    let high = amount(&section, "high", kind, unit)?;
    for (key, is_outside, where_) in
        [("low", low > value, "above"), ("high", high < value, "below")]
    {
        if is_outside {
            let found = format!("{}, {where_} the value", section.written(key));
            return Err(section.refused(key, found, "low <= value <= high"));
        }
    }
    if low == 0 && high > 0 {
        let accepted = "above zero, since a draw goes by ratios; or value, low and high all zero";
        return Err(section.refused("low", section.written("low"), accepted));
    }
    Ok(Price { name, clocked, value, low, high, unit, provenance: provenance(&section)? })
}

/// Reads a price in base units, which are so small that rounding to them loses nothing.
fn amount(section: &Section<'_>, key: &str, kind: Kind, unit: Unit) -> Result<u64, PlatformError> {
    let number = section.number(key)?;
    let base = (number * unit.in_base() as f64).round();
    let (can_be_zero, accepted) = match kind {
        Kind::Time => (true, "zero, or from 1 ps to 1000 s"),
        Kind::Bandwidth => (false, "from 1 byte a second to 1000 GB/s"),
    };
    let is_zero = number == 0.0 && can_be_zero;
    if !is_zero && !(1.0..=kind.highest() as f64).contains(&base) {
        let found = format!("{} {}", section.written(key), unit.name());
        return Err(section.refused(key, found, accepted));
    }
    Ok(base as u64)
}
