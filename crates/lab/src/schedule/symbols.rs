//! Points by name: a function, and an offset into it.

use std::fmt;
use std::str::FromStr;

/// The functions of a kernel, by address.
#[derive(Clone, Debug)]
pub(super) struct Symbols(Vec<(u64, String)>);

/// A point: the address after its call, as an offset into a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The function's symbol. Of several with one name, `NAME@2` is the second.
    pub function: String,
    /// The offset in bytes.
    pub offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.function, self.offset)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (function, offset) = text.split_once("+0x").ok_or(())?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_.@$".contains(c);
        if function.is_empty() || !function.chars().all(is_name) {
            return Err(());
        }
        let offset = u64::from_str_radix(offset, 16).map_err(|_| ())?;
        Ok(Self { function: function.to_owned(), offset })
    }
}

impl Symbols {
    /// Parses the symbols of a System.map.
    pub(super) fn parse(map: &str) -> Self {
        let mut symbols: Vec<(u64, String)> = map.lines().filter_map(symbol).collect();
        symbols.sort_by_key(|(address, _)| *address);
        let mut seen = std::collections::BTreeMap::<String, u32>::new();
        for (_, name) in &mut symbols {
            let times = seen.entry(name.clone()).or_default();
            *times += 1;
            if *times > 1 {
                *name = format!("{name}@{times}");
            }
        }
        Self(symbols)
    }

    /// Returns the address of a symbol.
    pub(super) fn address(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(_, of)| of == name).map(|(address, _)| *address)
    }

    /// Returns the addresses of a function's first byte and of the next function's.
    pub(super) fn range(&self, name: &str) -> Option<[u64; 2]> {
        let start = self.address(name)?;
        let end = self.0.iter().map(|(address, _)| *address).find(|address| *address > start)?;
        Some([start, end])
    }

    /// Returns the addresses of the first byte of the function that a point is in, and of the next
    /// function's.
    pub(super) fn around(&self, point: u64) -> Option<[u64; 2]> {
        let at = self.at(point)?;
        let start = &self.0[at].0;
        let (end, _) = self.0[at..].iter().find(|(address, _)| address > start)?;
        // A call may be the last instruction of a function.
        Some([*start, (*end).max(point + 1)])
    }

    /// Returns the index of the last symbol before an address: a point is the address after its
    /// call.
    fn at(&self, address: u64) -> Option<usize> {
        self.0.partition_point(|(start, _)| *start < address).checked_sub(1)
    }

    /// Returns the point at an address.
    pub(super) fn place(&self, address: u64) -> Place {
        match self.at(address).map(|at| &self.0[at]) {
            Some((start, name)) => Place { function: name.clone(), offset: address - start },
            None => Place { function: "nowhere".to_owned(), offset: address },
        }
    }

    /// Returns the names of all functions.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, name)| name.as_str())
    }
}

/// Parses a line of a System.map: address, kind, name.
fn symbol(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let (_kind, name) = (words.next()?, words.next()?);
    // The compiler's own marks are not functions.
    (!name.starts_with("__pfx_")).then(|| (address, name.to_owned()))
}

/// Returns a function's points, found in the bytes of its code: the addresses after each call of
/// `target`, in bytes from its beginning at `start`.
pub(super) fn calls(code: &[u8], start: u64, target: u64) -> Vec<u64> {
    /// A call of x86-64: this opcode, and the distance from the next instruction to the function.
    const CALL: u8 = 0xe8;
    let is_call = |place: &usize| {
        let distance = code.get(place + 1..place + 5).and_then(|bytes| bytes.try_into().ok());
        let distance = distance.map(|bytes| i64::from(i32::from_le_bytes(bytes)));
        let next = start + *place as u64 + 5;
        code[*place] == CALL
            && distance.is_some_and(|distance| next.wrapping_add_signed(distance) == target)
    };
    (0..code.len()).filter(is_call).map(|place| place as u64 + 5).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "ffffffff81000100 T __pfx_a\nffffffff81000110 T a\n\
        ffffffff81000200 t b\nffffffff81000300 t b\nffffffff81000400 T c\n";

    #[test]
    fn points_are_named_by_function_and_offset() {
        let symbols = Symbols::parse(MAP);
        assert_eq!(symbols.place(0xffff_ffff_8100_0115).to_string(), "a+0x5");
        // A call may be the last instruction of a function.
        assert_eq!(symbols.place(0xffff_ffff_8100_0200).to_string(), "a+0xf0");
        assert_eq!(symbols.place(0xffff_ffff_8100_0308).to_string(), "b@2+0x8");
        assert_eq!(symbols.address("b@2"), Some(0xffff_ffff_8100_0300));
        assert_eq!(symbols.range("a"), Some([0xffff_ffff_8100_0110, 0xffff_ffff_8100_0200]));
        assert_eq!(symbols.around(0xffff_ffff_8100_0115), symbols.range("a"));
        assert_eq!(symbols.around(0xffff_ffff_8100_0500), None);
        assert_eq!(symbols.address("d"), None);
        assert_eq!(symbols.names().count(), 4);
    }

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["a+0x5", "b@2+0xff", "x.constprop.0+0x10"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for bad in ["", "a", "a+5", "+0x5", "a b+0x1", "a+0xg"] {
            assert!(bad.parse::<Place>().is_err(), "{bad}");
        }
    }

    #[test]
    fn calls_are_found_in_code() {
        // nop; call +0xb (from 0x1006 to 0x1011); ret; another call elsewhere.
        let code = [0x90, 0xe8, 0x0b, 0, 0, 0, 0xc3, 0xe8, 1, 0, 0, 0];
        assert_eq!(calls(&code, 0x1000, 0x1011), [6]);
        assert_eq!(calls(&code, 0x1000, 0x2000), [0; 0]);
        assert_eq!(calls(&[0xe8, 0], 0, 0), [0; 0]);
    }
}
