//! Declaring a scenario: its name, and its fields with their kinds and defaults. The parser, the
//! errors, the help and the labels of records follow from the declaration.

use crate::fields::{FieldError, pairs, refused, twice};
use crate::kinds::Kind;
use pageout_record::schema::Labels;

/// The description of a field, as help and errors show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldHelp {
    /// The field's name.
    pub name: &'static str,
    /// The field's meaning for the scenario.
    pub about: String,
    /// The values that the field accepts, in words.
    pub accepted: String,
    /// The field's values if they are few; empty if they are many.
    pub names: Vec<String>,
    /// The values when nothing is given, separated by commas. Empty if they follow from other
    /// fields.
    pub default: String,
}

/// A scenario, or a part of one that a ground adds, as [`scenario!`](crate::scenario) declares it.
pub trait Declared: Clone + Sized {
    /// The scenario's name in records.
    const NAME: &'static str;
    /// A description of what the scenario does.
    const ABOUT: &'static str;
    /// The lists of values of each field.
    type Lists: Lists<Of = Self>;

    /// Returns the fields as labels of records.
    fn labels(&self) -> Labels;
}

/// A declared scenario that refuses values which do not go together.
pub trait Checked: Declared {
    /// Returns every combination of `lists`.
    ///
    /// # Errors
    /// [`FieldError`] for values that do not go together.
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError>;

    /// Returns the fields as labels of records. Some scenarios write the result of a field instead,
    /// or leave out a field that does not matter.
    fn record_labels(&self) -> Labels {
        self.labels()
    }

    /// Reads scenarios from `FIELD=VALUE` arguments. A field may have several values, separated by
    /// commas; every combination is one scenario.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    fn parse(arguments: &[String]) -> Result<Vec<Self>, FieldError> {
        let mut lists = Self::Lists::default();
        read::<Self>(arguments, &mut lists)?;
        Self::combined(&lists)
    }
}

/// Lists of values for each field of a scenario. Every combination of values is one scenario.
pub trait Lists: Default {
    /// The scenario.
    type Of;

    /// Reads the values of `field` from `values`, which commas separate. Returns false if the
    /// scenario has no such field.
    ///
    /// # Errors
    /// [`FieldError::Name`] or [`FieldError::Value`].
    fn read(&mut self, field: &str, values: &str) -> Result<bool, FieldError>;

    /// Describes the fields.
    fn help(&self) -> Vec<FieldHelp>;

    /// Returns every combination; the last field's values change fastest.
    fn combinations(&self) -> Vec<Self::Of>;
}

/// Reads `FIELD=VALUE` arguments into `lists`. Fields that are not given keep their values.
///
/// # Errors
/// [`FieldError`] names the field, what was found and what is accepted.
pub fn read<S: Declared>(arguments: &[String], lists: &mut S::Lists) -> Result<(), FieldError> {
    for (field, values) in pairs(arguments)? {
        if !lists.read(field, values)? {
            return Err(unknown::<S>(field, &lists.help()));
        }
    }
    Ok(())
}

/// Reads `FIELD=VALUE` arguments into the lists of two parts of a scenario, of which a ground adds
/// the second.
///
/// # Errors
/// Those of [`read`].
pub fn read_both<S: Declared, T: Declared>(
    arguments: &[String],
    (lists, added): (&mut S::Lists, &mut T::Lists),
) -> Result<(), FieldError> {
    for (field, values) in pairs(arguments)? {
        if !lists.read(field, values)? && !added.read(field, values)? {
            let known = [lists.help(), added.help()].concat();
            return Err(unknown::<S>(field, &known));
        }
    }
    Ok(())
}

/// Returns the error for a field that is not among `fields`.
fn unknown<S: Declared>(field: &str, fields: &[FieldHelp]) -> FieldError {
    let names: Vec<_> = fields.iter().map(|field| field.name).collect();
    FieldError::unknown(S::NAME, field, &names, format!("pageout scenarios {}", S::NAME))
}

/// Reads the values of one field; no value may come twice. If the kind has ranges, `A..B` has steps
/// of `A`, and `A..B:STEP` steps of `STEP`.
///
/// # Errors
/// [`FieldError::Name`] or [`FieldError::Value`].
pub fn values<K: Kind>(field: &'static str, text: &str) -> Result<Vec<K::Value>, FieldError> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let one = K::read(part).map(|one| vec![one]);
        let some = one.or_else(|| range::<K>(part));
        for value in some.ok_or_else(|| refused::<K>(field, part))? {
            if all.contains(&value) {
                return Err(twice(field, text));
            }
            all.push(value);
        }
    }
    Ok(all)
}

/// Returns the values of `A..B` or `A..B:STEP`.
fn range<K: Kind>(text: &str) -> Option<Vec<K::Value>> {
    let (first, end) = text.split_once("..")?;
    let (last, step) = end.split_once(':').unwrap_or((end, first));
    K::range(&K::read(first)?, &K::read(step)?, &K::read(last)?)
}

/// Declares a scenario: a struct with its fields, and the lists of values that a comparison takes.
/// A field is `FIELD: TYPE, "name" as KIND = DEFAULT`. Fields that take several values when nothing
/// is given end with `, in LIST`.
#[macro_export]
macro_rules! scenario {
    (
        $(#[doc = $what:literal])+
        pub struct $Scenario:ident, $Lists:ident: $name:literal {
            $(
                $(#[doc = $about:literal])+
                $field:ident: $Type:ty, $label:literal as $Kind:ty = $default:expr
                    $(, in $list:expr)?;
            )+
        }
    ) => {
        $(#[doc = $what])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $Scenario {
            $($(#[doc = $about])+ pub $field: $Type,)+
        }

        #[doc = concat!("Values of each field of [`", stringify!($Scenario), "`].")]
        #[derive(Clone, PartialEq, Debug)]
        pub struct $Lists {
            $(
                #[doc = concat!("Of `", $label, "`.")]
                pub $field: Vec<$Type>,
            )+
        }

        impl $Scenario {
            /// The value of each field when one value is wanted and none is given.
            pub const DEFAULT: Self = Self { $($field: $default),+ };
        }

        impl $crate::declare::Declared for $Scenario {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = concat!($($what),+).trim_ascii();
            type Lists = $Lists;

            fn labels(&self) -> pageout_record::schema::Labels {
                $crate::metrics::labels([
                    $(($label, <$Kind as $crate::kinds::Kind>::text(&self.$field)),)+
                ])
            }
        }

        impl Default for $Lists {
            fn default() -> Self {
                Self { $($field: $crate::scenario!(@list $Scenario::DEFAULT.$field $(, $list)?),)+ }
            }
        }

        impl $crate::declare::Lists for $Lists {
            type Of = $Scenario;

            fn read(
                &mut self,
                field: &str,
                values: &str,
            ) -> Result<bool, $crate::fields::FieldError> {
                match field {
                    $($label => self.$field = $crate::declare::values::<$Kind>($label, values)?,)+
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn help(&self) -> Vec<$crate::declare::FieldHelp> {
                vec![$($crate::declare::help::<$Kind>(
                    $label,
                    &[$($about),+],
                    &self.$field,
                )),+]
            }

            fn combinations(&self) -> Vec<$Scenario> {
                let mut all = vec![$Scenario::DEFAULT];
                $(all = $crate::declare::with_each(&all, &self.$field, |mut one, value| {
                    one.$field = value;
                    one
                });)+
                all
            }
        }
    };
    (@list $default:expr) => { vec![$default] };
    (@list $default:expr, $list:expr) => { $list.to_vec() };
}

/// Returns every scenario with every value of a field; `set` sets it.
#[doc(hidden)]
pub fn with_each<S: Clone, V: Clone>(all: &[S], values: &[V], set: fn(S, V) -> S) -> Vec<S> {
    let with = |one: &S, value: &V| set(one.clone(), value.clone());
    all.iter().flat_map(|one| values.iter().map(move |value| with(one, value))).collect()
}

/// Describes a field from its declaration.
#[doc(hidden)]
pub fn help<K: Kind>(name: &'static str, about: &[&str], values: &[K::Value]) -> FieldHelp {
    let lines: Vec<_> = about.iter().map(|line| line.trim()).collect();
    let default: Vec<_> = values.iter().map(K::text).collect();
    FieldHelp {
        name,
        about: lines.join(" "),
        accepted: K::accepted(),
        names: K::names(),
        default: default.join(","),
    }
}
