//! Writing JSON: indented, keys in a stable order, numbers of one metric in one line.

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};
use std::slice;

use super::problem::InvalidRecord;
use super::types::{RecordFile, RecordSet, SCHEMA, VERSION};
use super::validate::validate;

/// Whole numbers up to this are written without a point; each is a value of its own.
const WHOLE: f64 = 9_007_199_254_740_992.0;

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    version: u32,
    sets: &'a [RecordSet],
}

impl RecordFile {
    /// Returns the file as indented JSON, keys in a stable order, with a final newline.
    ///
    /// # Errors
    /// [`InvalidRecord`] when [`RecordFile::from_json`] would refuse the text.
    pub fn to_json(&self) -> Result<String, InvalidRecord> {
        to_json(&self.sets)
    }
}

impl RecordSet {
    /// [`RecordFile::to_json`] of a file of this run.
    ///
    /// # Errors
    /// [`InvalidRecord`] when [`RecordSet::from_json`] would refuse the text.
    pub fn to_json(&self) -> Result<String, InvalidRecord> {
        to_json(slice::from_ref(self))
    }
}

fn to_json(sets: &[RecordSet]) -> Result<String, InvalidRecord> {
    validate(sets)?;
    let mut text = Vec::new();
    let mut json = Serializer::with_formatter(&mut text, Compact::default());
    let file = Written { schema: SCHEMA, version: VERSION, sets };
    file.serialize(&mut json).expect("string keys, finite numbers, memory to write to");
    text.push(b'\n');
    Ok(String::from_utf8(text).expect("JSON is UTF-8"))
}

/// Indents as serde_json does, but keeps lists of numbers in one line.
#[derive(Default)]
struct Compact {
    pretty: PrettyFormatter<'static>,
    /// Within a list, what must stand before its next element, once it is known what that is.
    next: Option<Place>,
    /// True if the element just written was a number of a list.
    after_number: bool,
}

/// The position of an element in its list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    Later,
}

impl Compact {
    /// Begins an element of a list that has a line of its own.
    fn own_line<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        match self.next.take() {
            Some(place) => self.pretty.begin_array_value(to, place == Place::First),
            None => Ok(()),
        }
    }

    /// Begins a number, or the lack of one; within a list it stays in the list's line.
    fn same_line<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let in_list = self.next.take();
        self.after_number = in_list.is_some();
        if in_list == Some(Place::Later) { to.write_all(b", ") } else { Ok(()) }
    }
}

impl Formatter for Compact {
    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        self.same_line(to)?;
        let negative_zero = value == 0.0 && value.is_sign_negative();
        if value.fract() == 0.0 && value.abs() < WHOLE && !negative_zero {
            write!(to, "{value:.0}")
        } else {
            self.pretty.write_f64(to, value)
        }
    }

    fn write_null<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.same_line(to)?;
        self.pretty.write_null(to)
    }

    fn begin_string<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.own_line(to)?;
        self.pretty.begin_string(to)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.own_line(to)?;
        self.pretty.begin_array(to)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> io::Result<()> {
        self.next = Some(if first { Place::First } else { Place::Later });
        Ok(())
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        if self.after_number { Ok(()) } else { self.pretty.end_array_value(to) }
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        // The inner formatter saw none of its elements if they are numbers.
        self.after_number = false;
        self.pretty.end_array(to)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.own_line(to)?;
        self.pretty.begin_object(to)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.end_object(to)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_object_key(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(to)
    }
}
