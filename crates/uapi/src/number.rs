//! Numbers, as Linux parses them in text from user space.

/// Returns true for C's white space.
pub(crate) fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// Returns the text as C sees it: up to the first NUL.
pub(crate) fn c_string(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// Parses the digits at the start of `text` as a number, in the base that C gives them, and returns
/// it with the rest. Returns `None` past 64 bits. No digits mean 0.
pub(crate) fn number(text: &str) -> Option<(u64, &str)> {
    let hexadecimal = text.get(..2).is_some_and(|x| x.eq_ignore_ascii_case("0x"))
        && text[2..].starts_with(|c: char| c.is_ascii_hexdigit());
    let (radix, digits) = match text {
        _ if hexadecimal => (16, &text[2..]),
        _ if text.starts_with('0') => (8, text),
        _ => (10, text),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let n = if digits.is_empty() { 0 } else { u64::from_str_radix(digits, radix).ok()? };
    Some((n, rest))
}

/// Parses all of `text` as a number of 32 bits, in the base that C gives it. A `+` before it and a
/// line end behind it are allowed (Linux 7.3.4, `kstrtouint` with base 0).
pub(crate) fn kstrtouint(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let digits = digits.strip_suffix('\n').unwrap_or(digits);
    let (n, rest) = number(digits)?;
    if digits.is_empty() || !rest.is_empty() {
        return None;
    }
    n.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_32_bits_is_read_as_the_kernel_reads_it() {
        let good = [
            ("0", 0),
            ("7", 7),
            ("+7", 7),
            ("7\n", 7),
            ("0x7", 7),
            ("0X1f", 31),
            ("017", 15),
            ("4294967295", u32::MAX),
        ];
        for (text, n) in good {
            assert_eq!(kstrtouint(text), Some(n), "{text:?}");
        }
        let bad = [
            "",
            "\n",
            "+",
            "-1",
            "++1",
            " 1",
            "1 ",
            "1\n\n",
            "08",
            "0x",
            "0xg",
            "1x",
            "x",
            "4294967296",
            "18446744073709551616",
            "é",
        ];
        for text in bad {
            assert_eq!(kstrtouint(text), None, "{text:?}");
        }
    }
}
