//! The errors of records that cannot be compared.

use crate::schema::InvalidRecord;

/// The reason why records cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// The set breaks a rule of the format.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
    /// No record is on a ground that runs anything.
    #[error("no records to compare: figures quoted from sources are not compared")]
    Nothing,
    /// A group lacks the base variant.
    #[error("{group}: no variant has {base}; there are: {found}")]
    NoBase {
        /// Scenario, ground, seed and fields.
        group: String,
        /// The base asked for.
        base: String,
        /// The variants of the group.
        found: String,
    },
    /// Several variants of a group fit the base.
    #[error("{group}: {base} fits several variants; name more axes to choose one of: {found}")]
    SeveralBases {
        /// Scenario, ground, seed and fields.
        group: String,
        /// The base asked for.
        base: String,
        /// The variants that fit.
        found: String,
    },
    /// The base is another variant in another group.
    #[error("the base is {first} in one group and {second} in another; name all of its axes")]
    BaseDiffers {
        /// Column title in the first group.
        first: String,
        /// Column title in a later one.
        second: String,
    },
    /// Two variants give one metric in other units, of another basis or with another direction.
    #[error("{group}: metric {metric:?} is {first} in one variant and {second} in another")]
    Unlike {
        /// Scenario, ground, seed and fields.
        group: String,
        /// The metric.
        metric: String,
        /// Unit, basis and direction in the first variant.
        first: String,
        /// Unit, basis and direction in the other.
        second: String,
    },
}
