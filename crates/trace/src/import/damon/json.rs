//! DAMON's records as the JSON of damo: a list of records, each with its target and a list of
//! snapshots, each with a list of regions (`to_kvpairs` of `DamonRecord` and `DamonSnapshot` in
//! `src/_damo_records.py` of damo, of `DamonRegion` in `src/_damon.py`). `damo record` compresses
//! it with zlib. Numbers are numbers or strings with commas; -1 accesses stand in the snapshot that
//! damo adds at the end.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::super::access::Cause;
use super::super::error::{ImportError, Refusal};
use super::super::sink::Sink;
use super::snapshots::{Region, Snapshots};
use crate::reference::decimal;

/// Reads all records, and holds no more than the accessed regions.
pub(super) fn read(
    input: impl BufRead,
    snapshots: &mut Snapshots,
    sink: &mut Sink<'_>,
) -> Result<(), ImportError> {
    let mut reader = Reader { snapshots, sink, context: None, refusal: None };
    let input = BufReader::new(Bounded { input, unquoted: 0 });
    let mut json = serde_json::Deserializer::from_reader(input);
    let read = Records(&mut reader).deserialize(&mut json).and_then(|()| json.end());
    match (reader.refusal, read) {
        (Some(refusal), _) => Err(ImportError::RefusedJson(refusal)),
        (None, Err(error)) if error.is_io() => {
            let (at, source) = (error.line() as u64, error.into());
            Err(ImportError::Read { unit: "line", at, source })
        }
        (None, Err(error)) => Err(ImportError::Json(error)),
        (None, Ok(())) => snapshots.check_pages().map_err(ImportError::RefusedJson),
    }
}

/// The longest string, in bytes: the parser holds one at a time.
const MAX_STRING: usize = 1 << 20;

/// A reader that passes JSON through, and fails if a string is too long.
struct Bounded<R> {
    input: R,
    /// Bytes since the last quotation mark.
    unquoted: usize,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        let after = out[..read].iter().rev().position(|byte| *byte == b'"');
        self.unquoted = after.unwrap_or(self.unquoted + read);
        if self.unquoted > MAX_STRING {
            return Err(io::Error::other("more than 1 MiB without a quotation mark"));
        }
        Ok(read)
    }
}

/// The state of the parser.
struct Reader<'r, 's> {
    snapshots: &'r mut Snapshots,
    sink: &'r mut Sink<'s>,
    /// The numbers of kdamond, context and scheme of the records so far.
    context: Option<[u64; 3]>,
    /// The reason for which reading stops.
    refusal: Option<Refusal>,
}

impl Reader<'_, '_> {
    /// Returns the result, and keeps its refusal, if any, in the reader: the parser's error type
    /// cannot carry it.
    fn held<T, E: Error>(&mut self, result: Result<T, Refusal>) -> Result<T, E> {
        result.map_err(|refusal| {
            self.refusal = Some(refusal);
            E::custom(refusal)
        })
    }

    /// Keeps a record's snapshots if it is of the process and the context that are imported.
    fn end_record(&mut self, record: &Head) -> Result<bool, Refusal> {
        if !self.sink.is_of_trace(record.target)? {
            return Ok(false);
        }
        let before = *self.context.get_or_insert(record.context);
        if record.context != before {
            return Err(Refusal::Context { found: record.context, before });
        }
        Ok(true)
    }
}

/// The parts of a record around its snapshots.
#[derive(Default)]
struct Head {
    target: u64,
    context: [u64; 3],
}

struct Records<'a, 'r, 's>(&'a mut Reader<'r, 's>);
struct Record<'a, 'r, 's>(&'a mut Reader<'r, 's>);
struct RecordSnapshots<'a, 'r, 's>(&'a mut Reader<'r, 's>);
struct Snapshot<'a, 'r, 's>(&'a mut Reader<'r, 's>);
struct Regions<'a, 'r, 's>(&'a mut Reader<'r, 's>);

/// Reads a list whose elements are read by `$element`.
macro_rules! list {
    ($list:ident, $element:ident, $expected:literal) => {
        impl<'de> DeserializeSeed<'de> for $list<'_, '_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
                json.deserialize_seq(self)
            }
        }

        impl<'de> Visitor<'de> for $list<'_, '_, '_> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($expected)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
                while list.next_element_seed($element(&mut *self.0))?.is_some() {}
                Ok(())
            }
        }
    };
}

list!(Records, Record, "a list of DAMON's records");
list!(RecordSnapshots, Snapshot, "a list of snapshots");

impl<'de> DeserializeSeed<'de> for Record<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Record<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record of DAMON's")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mark, mut head, mut has_snapshots) = (self.0.snapshots.mark(), Head::default(), false);
        while let Some(key) = map.next_key::<String>()? {
            match &*key {
                "kdamond_idx" => head.context[0] = map.next_value::<Number>()?.or_zero(),
                "context_idx" => head.context[1] = map.next_value::<Number>()?.or_zero(),
                "scheme_idx" => head.context[2] = map.next_value::<Number>()?.or_zero(),
                "target_id" => head.target = map.next_value::<Number>()?.or_zero(),
                "snapshots" => {
                    map.next_value_seed(RecordSnapshots(&mut *self.0))?;
                    has_snapshots = true;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if !has_snapshots {
            return Err(A::Error::missing_field("snapshots"));
        }
        let is_kept = self.0.end_record(&head);
        if !self.0.held(is_kept)? {
            for _ in 0..self.0.snapshots.forget(mark) {
                self.0.sink.pass_over(Cause::OtherProcess);
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Snapshot<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Snapshot<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a snapshot")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_regions = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == "regions" {
                map.next_value_seed(Regions(&mut *self.0))?;
                has_regions = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if !has_regions {
            return Err(A::Error::missing_field("regions"));
        }
        let Reader { snapshots, sink, .. } = &mut *self.0;
        let ended = snapshots.end(sink);
        self.0.held(ended)
    }
}

impl<'de> DeserializeSeed<'de> for Regions<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Regions<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of regions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(region) = list.next_element::<JsonRegion>()? {
            let taken = self.0.snapshots.region(region.region().map_err(A::Error::custom)?);
            self.0.held(taken)?;
        }
        Ok(())
    }
}

/// A region with the names of damo.
#[derive(Deserialize)]
struct JsonRegion {
    start: Number,
    end: Number,
    nr_accesses: Accesses,
}

/// The number of times that a region was found accessed, in samples or per cent.
#[derive(Deserialize)]
struct Accesses {
    samples: Number,
    percent: Option<f64>,
}

impl JsonRegion {
    fn region(&self) -> Result<Region, &'static str> {
        let (Number::Positive(start), Number::Positive(end)) = (self.start, self.end) else {
            return Err("a region has the addresses of its start and end");
        };
        let accesses = match (self.nr_accesses.samples, self.nr_accesses.percent) {
            (Number::Minus, _) => None,
            (Number::Positive(times), _) => Some(times),
            // Only zero and more than zero differ.
            (Number::Missing, Some(percent)) => Some(u64::from(percent > 0.0)),
            (Number::Missing, None) => return Err("a region has a number of accesses"),
        };
        Ok(Region { start, end, accesses })
    }
}

/// A number, also in a string with commas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Positive(u64),
    /// -1
    Minus,
    /// `null`
    Missing,
}

impl Number {
    fn or_zero(self) -> u64 {
        match self {
            Self::Positive(number) => number,
            Self::Minus | Self::Missing => 0,
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of 64 bits, also in a string with commas")
    }

    fn visit_unit<E: Error>(self) -> Result<Number, E> {
        Ok(Number::Missing)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number::Positive(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
        if number == -1 { Ok(Number::Minus) } else { Err(E::custom("a negative number")) }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        let digits = text.replace(',', "");
        let number = if digits == "-1" { Some(Number::Minus) } else { None };
        let number = number.or_else(|| decimal(digits.as_bytes()).map(Number::Positive));
        number.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_and_without_quotes_and_commas() {
        for (json, expected) in [
            ("139637976727552", Number::Positive(139_637_976_727_552)),
            ("\"139,637,976,727,552\"", Number::Positive(139_637_976_727_552)),
            ("18446623438842320000", Number::Positive(18_446_623_438_842_320_000)),
            ("\"7\"", Number::Positive(7)),
            ("-1", Number::Minus),
            ("\"-1\"", Number::Minus),
            ("null", Number::Missing),
        ] {
            let found: Number = serde_json::from_str(json).expect("a number");
            assert_eq!(found, expected, "{json}");
        }
        for json in ["-2", "\"4 KiB\"", "\"\"", "[]", "true", "0.5"] {
            assert!(serde_json::from_str::<Number>(json).is_err(), "{json}");
        }
    }
}
