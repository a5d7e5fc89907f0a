//! Rules of the format that a record file can break.

use uuid::Uuid;

use super::basis::Basis;

/// A record file that breaks a rule of the format.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct InvalidRecord {
    /// The place, such as `sets[0].records[3] ("sweep"), metric "age"`. Both count from 0.
    pub place: String,
    /// The rule.
    pub problem: Problem,
}

/// A rule of the format that was broken.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A file without a run.
    #[error("there is no set in it; one for each run is needed")]
    NoSet,
    /// The same run twice.
    #[error("run {0} is in this file before; each run is accepted once")]
    SameRun(Uuid),
    /// A metric without content.
    #[error(
        "it has nothing to tell; values, a bound, a claim, activities, a series, a matrix or a \
         sequence is needed"
    )]
    NothingTold,
    /// A metric with several kinds of content.
    #[error(
        "it has {found}; one of values, bound, claim, activities, series, matrix and sequence is \
         accepted"
    )]
    SeveralTold {
        /// The kinds of content that it has, by name.
        found: String,
    },
    /// A number that is infinite or not a number.
    #[error("{what} is {value}; only finite numbers are accepted")]
    NotFinite {
        /// The number's place, such as `values[1]`.
        what: String,
        /// The number.
        value: f64,
    },
    /// An interval without values.
    #[error("an interval goes with values, and there are none")]
    IntervalAlone,
    /// An interval or a bound whose ends are in the wrong order.
    #[error("{what} goes from {low} to {high}; ends in their order are accepted")]
    Ends {
        /// Interval or bound.
        what: &'static str,
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// An interval's level that is no share.
    #[error("the interval's level is {0}; a share between 0 and 1 is accepted")]
    Level(f64),
    /// A bound without an end.
    #[error("the bound is empty; at_least or at_most is needed")]
    NoBound,
    /// A bound or a claim that is not quoted.
    #[error("the basis of a {what} is {basis}; basis published is accepted, since it is quoted")]
    NotPublished {
        /// Bound or claim.
        what: &'static str,
        /// The basis found.
        basis: Basis,
    },
    /// A negative time.
    #[error("activity {name:?} takes {own} by itself; times from 0 are accepted")]
    Negative {
        /// The activity's name.
        name: String,
        /// The activity's own time.
        own: f64,
    },
    /// A list with fewer elements than have a meaning.
    #[error("{what} has {found} elements; {least} or more are accepted")]
    Short {
        /// The list.
        what: &'static str,
        /// The number of its elements.
        found: usize,
        /// The number of elements that it needs.
        least: usize,
    },
    /// A list that does not go with another one.
    #[error("there are {found} {what}; {needed} are accepted here")]
    Count {
        /// The elements that were counted.
        what: &'static str,
        /// The number that there must be.
        needed: usize,
        /// The number that there are.
        found: usize,
    },
    /// Places of an axis that are not in their order.
    #[error("{what} has {before} before {after}; ascending numbers are accepted")]
    NotAscending {
        /// The list.
        what: &'static str,
        /// A number.
        before: f64,
        /// The one after it.
        after: f64,
    },
    /// A step of an actor that does not exist.
    #[error("a step is of actor {found}; there are {actors}, counted from 0")]
    NoActor {
        /// The actor named.
        found: usize,
        /// The number of actors.
        actors: usize,
    },
    /// A published value that cites nothing.
    #[error("a published value needs a source")]
    NoSource,
    /// A name that must not be empty.
    #[error("{what} is empty; a name is needed")]
    Unnamed {
        /// The part without a name.
        what: &'static str,
    },
    /// A character that [acts on the display](super::acts_on_display), and would break tables,
    /// pages and terminals.
    #[error("{what} {text:?} holds a control character; printable text is accepted")]
    ControlCharacter {
        /// The part that has it.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// The same metric twice for one run, scenario, ground, seed, fields and variant.
    #[error("given before for the same scenario, ground, seed, fields and variant; once accepted")]
    Repeated,
}
