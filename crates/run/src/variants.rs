//! The variants that a question is asked of.

use crate::error::QuestionError;
use pageout_experiment::scenarios::Compared;
use pageout_experiment::variant::{Axes, Lru, Variant, VariantError};

/// The variants asked for.
#[derive(Clone, Debug)]
pub struct Variants {
    base: Option<Variant>,
    /// The variants that the base is compared with. `None` for those that the scenario, or the
    /// base, suggests.
    others: Option<Vec<Variant>>,
    /// The lists that all of them are on, if any are named.
    lru: Option<Lru>,
}

impl Variants {
    /// Reads a base and those that it is compared with. All are on the lists `lru`, if it is given;
    /// what is not given is what the scenario suggests.
    ///
    /// # Errors
    /// [`VariantError`].
    pub fn read(
        base: Option<&str>,
        others: Option<&[String]>,
        lru: Option<Lru>,
    ) -> Result<Self, VariantError> {
        let base = base.map(|text| Variant::parse_on(lru, text)).transpose()?;
        let others = others.map(|texts| {
            texts.iter().map(|text| Variant::parse_on(lru, text)).collect::<Result<_, _>>()
        });
        Ok(Self { base, others: others.transpose()?, lru })
    }

    /// Returns a single variant without others, whatever runs under it.
    pub const fn one(variant: Variant) -> Self {
        Self { base: Some(variant), others: Some(Vec::new()), lru: None }
    }

    /// Returns the variants of a scenario whose default comparison is `compared`, the base first.
    pub fn of(&self, compared: Compared) -> Vec<Variant> {
        let suggested = match self.base {
            Some(base) => base.with_every_algorithm(),
            None => compared.variants(self.lru),
        };
        match &self.others {
            Some(others) => [&suggested[..1], others].concat(),
            None => suggested,
        }
    }
}

/// Returns an error for variants that are the same on these axes.
pub(crate) fn distinct(variants: &[Variant], axes: Axes) -> Result<(), QuestionError> {
    for (k, variant) in variants.iter().enumerate() {
        let same = |other: &Variant| other.labels(axes) == variant.labels(axes);
        if variants[..k].iter().any(same) {
            let all = variant.labels(axes).into_iter();
            let all = all.map(|(axis, choice)| format!("{axis}={choice}")).collect::<Vec<_>>();
            return Err(QuestionError::SameVariant { variant: all.join(", ") });
        }
    }
    Ok(())
}
