//! Platforms: what a machine has ([`Shape`]) and what everything takes on it ([`Prices`]), from
//! files that give each price a range and a source.

mod architecture;
mod draw;
mod error;
mod lever;
mod parse;
mod price;
mod prices;
mod provenance;
mod shape;

#[cfg(test)]
mod tests;

pub use architecture::Architecture;
pub use draw::Draw;
pub use error::{PlatformError, Problem};
pub use lever::Lever;
pub use price::{Kind, Price, Unit};
pub use prices::{Bandwidth, BroadcastPrices, InvalidationPrices, IpiPrices, Prices, Publish};
pub use provenance::{Basis, Provenance, SectionOrigin};
pub use shape::{Broadcast, Hardware, Invalidation, Ipi, Shape, Storage};

/// The platforms that come with the program: name and file.
static SHIPPED: [(&str, &str); 5] = [
    ("arm64-server-32-class", include_str!("../../platforms/arm64-server-32-class.toml")),
    ("carmel-8-class", include_str!("../../platforms/carmel-8-class.toml")),
    ("kunpeng-920-class", include_str!("../../platforms/kunpeng-920-class.toml")),
    ("snapdragon-888-class", include_str!("../../platforms/snapdragon-888-class.toml")),
    ("x86-server-class", include_str!("../../platforms/x86-server-class.toml")),
];

/// A machine that can be modelled.
#[derive(Clone, PartialEq, Debug)]
pub struct Platform {
    name: String,
    about: String,
    shape: Shape,
    sections: Vec<SectionOrigin>,
    /// In the order of [`Prices::names`].
    prices: Vec<Price>,
}

impl Platform {
    /// The names of the platforms that come with the program, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// A platform that comes with the program.
    ///
    /// # Panics
    /// If its file is refused, which is a bug of ours.
    pub fn named(name: &str) -> Option<Self> {
        let (name, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
        let parsed = Self::parse(&format!("{name}.toml"), text);
        Some(parsed.unwrap_or_else(|error| panic!("a shipped platform is refused: {error}")))
    }

    /// The file of a platform that comes with the program, to begin one's own from.
    pub fn file(name: &str) -> Option<&'static str> {
        SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
    }

    /// Reads a platform file. `file` is what errors call it.
    ///
    /// # Errors
    /// The first thing wrong with it, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, PlatformError> {
        parse::platform(file, text)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it stands for, in a sentence.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Its architecture.
    pub const fn architecture(&self) -> Architecture {
        self.shape.architecture
    }

    /// What the machine has. Nothing of it is uncertain within a run; other shapes are other
    /// platforms.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What everything takes: as the file says, drawn from its ranges, or with a price moved.
    pub fn prices(&self, draw: Draw) -> Prices {
        let quotes = &self.prices;
        Prices::resolve(self.shape.architecture, draw.publish(), |name| {
            let quote = quotes.iter().find(|quote| quote.name == name);
            draw.of(quote.unwrap_or_else(|| panic!("platform {} has no price {name}", self.name)))
        })
    }

    /// Each price with its range and source, in the order of the documentation.
    pub fn quotes(&self) -> &[Price] {
        &self.prices
    }

    /// Where each section of the shape comes from.
    pub fn sections(&self) -> &[SectionOrigin] {
        &self.sections
    }
}
