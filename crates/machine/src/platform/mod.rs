//! Platforms: the hardware of a machine ([`Shape`]) and the cost of each operation on it
//! ([`Prices`]). Both come from files that give each price a range and a source.

mod architecture;
mod draw;
mod error;
mod lever;
mod parse;
mod price;
mod prices;
mod provenance;
mod range;
mod shape;

#[cfg(test)]
mod tests;

pub use architecture::Architecture;
pub use draw::Draw;
pub use error::{PlatformError, Problem};
pub use lever::Lever;
pub use price::{Kind, Price, Unit};
pub use prices::{
    Bandwidth, BroadcastPrices, InvalidationPrices, IpiPrices, PriceName, Prices, Publish,
};
pub use provenance::{Basis, Provenance, SectionOrigin};
pub use shape::{Broadcast, Hardware, Invalidation, Ipi, Shape, Storage};

/// The platforms that come with the program, each with its name and file.
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
    /// The prices, in the order of [`Prices::names`].
    prices: Vec<Price>,
}

impl Platform {
    /// Returns the names of the platforms that come with the program, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// Returns a platform that comes with the program.
    ///
    /// # Panics
    /// If its file is refused, which is a bug of ours.
    pub fn named(name: &str) -> Option<Self> {
        let (name, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
        let parsed = Self::parse(&format!("{name}.toml"), text);
        Some(parsed.unwrap_or_else(|error| panic!("a shipped platform is refused: {error}")))
    }

    /// Returns the file of a platform that comes with the program, as a start for other files.
    pub fn file(name: &str) -> Option<&'static str> {
        SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
    }

    /// Reads a platform file. Errors call it `file`.
    ///
    /// # Errors
    /// The first problem of the file, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, PlatformError> {
        parse::platform(file, text)
    }

    /// Returns the platform's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Describes the machines that it stands for, in a sentence.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Returns the platform's architecture.
    pub const fn architecture(&self) -> Architecture {
        self.shape.architecture
    }

    /// Returns the hardware of the machine. It is the same in every draw; other hardware is another
    /// platform.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns all prices: as the file gives them, drawn from their ranges, or with a lever moved.
    pub fn prices(&self, draw: Draw) -> Prices {
        let quotes = &self.prices;
        Prices::resolve(self.shape.architecture, draw.publish(), |name| {
            let quote = quotes.iter().find(|quote| quote.name == name);
            draw.of(quote.unwrap_or_else(|| panic!("platform {} has no price {name}", self.name)))
        })
    }

    /// Returns each price with its range and source, in the order of the documentation.
    pub fn quotes(&self) -> &[Price] {
        &self.prices
    }

    /// Returns the origin of each section of the shape.
    pub fn sections(&self) -> &[SectionOrigin] {
        &self.sections
    }
}
