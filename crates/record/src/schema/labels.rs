//! Names with their values.

use std::collections::BTreeMap;
use std::ops::Index;
use std::slice;

use serde::{Deserialize, Serialize, Serializer};

/// Names with their values, in name order: scenario fields, or the axes of a variant.
///
/// A file may have hundreds of thousands of them, of a few names each. So it is a list without room
/// to grow, at a tenth of the memory that a tree takes for one name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(from = "BTreeMap<String, String>")]
pub struct Labels(Box<[(String, String)]>);

impl Labels {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<&String> {
        let place = self.0.binary_search_by(|(known, _)| known.as_str().cmp(name));
        place.ok().map(|place| &self.0[place].1)
    }

    /// Returns true if a name is among the labels.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets the value of a name, and replaces an earlier one.
    pub fn insert(&mut self, name: String, value: String) {
        self.extend([(name, value)]);
    }

    /// Keeps the names with their values for which `is_kept` returns true.
    pub fn retain(&mut self, is_kept: impl Fn(&str, &str) -> bool) {
        let all = std::mem::take(self).into_iter();
        *self = all.filter(|(name, value)| is_kept(name, value)).collect();
    }

    /// Returns the names.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.iter().map(|(name, _)| name)
    }

    /// Returns the names with their values.
    pub fn iter(&self) -> Iter<'_> {
        self.into_iter()
    }

    /// Returns the number of names.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no labels.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<BTreeMap<String, String>> for Labels {
    fn from(map: BTreeMap<String, String>) -> Self {
        Self(map.into_iter().collect())
    }
}

/// The last value of a name that is given twice counts.
impl FromIterator<(String, String)> for Labels {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        BTreeMap::from_iter(pairs).into()
    }
}

impl<const N: usize> From<[(String, String); N]> for Labels {
    fn from(pairs: [(String, String); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl Extend<(String, String)> for Labels {
    fn extend<I: IntoIterator<Item = (String, String)>>(&mut self, pairs: I) {
        *self = std::mem::take(self).into_iter().chain(pairs).collect();
    }
}

/// # Panics
/// If it lacks the name.
impl Index<&str> for Labels {
    type Output = String;

    fn index(&self, name: &str) -> &String {
        self.get(name).unwrap_or_else(|| panic!("no label {name:?}"))
    }
}

impl IntoIterator for Labels {
    type Item = (String, String);
    type IntoIter = std::vec::IntoIter<(String, String)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_vec().into_iter()
    }
}

/// Names with their values, one after another.
type Iter<'a> =
    std::iter::Map<slice::Iter<'a, (String, String)>, fn(&(String, String)) -> (&String, &String)>;

impl<'a> IntoIterator for &'a Labels {
    type Item = (&'a String, &'a String);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Few names, so that some are given twice.
    fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
        prop::collection::vec(("[a-d]{0,2}", "[x-z]?"), 0..12)
    }

    proptest! {
        #[test]
        fn it_is_a_map_in_name_order(first in pairs(), then in pairs(), asked in "[a-d]{0,2}") {
            let mut map: BTreeMap<String, String> = first.iter().cloned().collect();
            let mut labels: Labels = first.into_iter().collect();
            let last = then.last().cloned();
            map.extend(then.clone());
            labels.extend(then);
            if let Some((name, _)) = last {
                map.insert(name.clone(), "again".to_owned());
                labels.insert(name, "again".to_owned());
            }
            map.retain(|name, value| name != "b" && value != "z");
            labels.retain(|name, value| name != "b" && value != "z");
            prop_assert!(labels.iter().eq(&map) && labels.keys().eq(map.keys()));
            prop_assert_eq!((labels.len(), labels.is_empty()), (map.len(), map.is_empty()));
            prop_assert_eq!(labels.get(&asked), map.get(&asked));
            prop_assert_eq!(labels.contains_key(&asked), map.contains_key(&asked));
            let json = serde_json::to_string(&labels).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&map).unwrap());
            prop_assert_eq!(serde_json::from_str::<Labels>(&json).unwrap(), labels);
        }
    }

    #[test]
    fn only_an_object_of_texts_is_read() {
        for wrong in ["[]", r#"[["a", "b"]]"#, r#"{"a": 1}"#, "null"] {
            assert!(serde_json::from_str::<Labels>(wrong).is_err(), "{wrong}");
        }
        let repeated = r#"{"b": "1", "a": "2", "b": "3"}"#;
        let read = serde_json::from_str::<Labels>(repeated).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), r#"{"a":"2","b":"3"}"#);
    }
}
