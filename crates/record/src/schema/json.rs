//! Writing JSON: a line a metric, keys in a stable order.

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
    /// Returns the file as indented JSON, keys in a stable order, with a final newline. Each metric
    /// has a line, and so have a record's labels.
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
    let mut json = Serializer::with_formatter(&mut text, OneLine::default());
    let file = Written { schema: SCHEMA, version: VERSION, sets };
    file.serialize(&mut json).expect("string keys, finite numbers, memory to write to");
    text.push(b'\n');
    Ok(String::from_utf8(text).expect("JSON is UTF-8"))
}

/// Indents as serde_json does, but for objects at [`OneLine::FROM`], which stand in one line with
/// all that is in them.
#[derive(Default)]
struct OneLine {
    pretty: PrettyFormatter<'static>,
    /// The number of lists and objects that are open.
    depth: usize,
    /// The depth of the open object that stands in one line.
    line: Option<usize>,
}

impl OneLine {
    /// The depth from which objects stand in one line: that of a record's labels. Its metrics are
    /// deeper, a list's length from it.
    const FROM: usize = 6;

    /// Writes what stands before an element: nothing, or a comma.
    fn separate<W: ?Sized + Write>(to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }
}

impl Formatter for OneLine {
    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        let negative_zero = value == 0.0 && value.is_sign_negative();
        if value.fract() == 0.0 && value.abs() < WHOLE && !negative_zero {
            write!(to, "{value:.0}")
        } else {
            self.pretty.write_f64(to, value)
        }
    }

    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.line.is_some() { to.write_all(b"[") } else { self.pretty.begin_array(to) }
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.line.is_some() { to.write_all(b"]") } else { self.pretty.end_array(to) }
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        match self.line {
            Some(_) => Self::separate(to, first),
            None => self.pretty.begin_array_value(to, first),
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        if self.line.is_some() { Ok(()) } else { self.pretty.end_array_value(to) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.line.is_none() && self.depth >= Self::FROM {
            self.line = Some(self.depth);
        }
        if self.line.is_some() { to.write_all(b"{") } else { self.pretty.begin_object(to) }
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let in_line = self.line.is_some();
        if self.line == Some(self.depth) {
            self.line = None;
        }
        self.depth -= 1;
        if in_line { to.write_all(b"}") } else { self.pretty.end_object(to) }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        match self.line {
            Some(_) => Self::separate(to, first),
            None => self.pretty.begin_object_key(to, first),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        if self.line.is_some() { Ok(()) } else { self.pretty.end_object_value(to) }
    }
}
