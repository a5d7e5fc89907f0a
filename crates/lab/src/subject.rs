//! The subject of a mail, as kernel developers write it: `Re: [RFC PATCH v2 1/3] mm: x`.

/// A subject's parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Subject {
    /// True for an answer to another mail.
    pub(super) is_reply: bool,
    /// The version of the series; 1 if none is given.
    pub(super) version: u32,
    /// The patch's number in the series and how many there are; cover letters have number 0.
    pub(super) place: Option<(u32, u32)>,
    /// The rest, without tags in brackets.
    pub(super) title: String,
}

impl Subject {
    pub(super) fn parse(text: &str) -> Self {
        let mut rest = text.trim_start();
        let mut subject = Self { is_reply: false, version: 1, place: None, title: String::new() };
        while let Some(after) = after_reply_mark(rest) {
            subject.is_reply = true;
            rest = after;
        }
        while let Some((tags, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            tags.split([' ', ',']).for_each(|tag| subject.take(tag));
            rest = after.trim_start();
        }
        // A title of nothing but brackets is better than none.
        subject.title = if rest.is_empty() { text } else { rest }.trim().to_owned();
        subject
    }

    /// Takes one word of a tag: `v2`, `PATCHv2`, `1/3`, or one without meaning here.
    fn take(&mut self, tag: &str) {
        if let Some((number, of)) = tag.split_once('/') {
            if let (Ok(number), Ok(of)) = (number.parse(), of.parse())
                && number <= of
            {
                self.place = Some((number, of));
            }
        } else if let Some((before, version)) = tag.rsplit_once(['v', 'V'])
            && ["", "patch", "rfc"].contains(&before.to_ascii_lowercase().as_str())
            && let Ok(version) = version.parse()
        {
            self.version = version;
        }
    }
}

/// Replaces the characters of a subject that a terminal or a list of results would obey.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the text after a mark such as `Re:`, or any language's abbreviation before a tag.
fn after_reply_mark(text: &str) -> Option<&str> {
    let (mark, after) = text.split_once(':')?;
    let is_word = (2..=4).contains(&mark.len()) && mark.bytes().all(|b| b.is_ascii_alphabetic());
    let after = after.trim_start();
    let is_mark = mark.eq_ignore_ascii_case("re")
        || after.starts_with("[PATCH")
        || after.starts_with("[RFC")
        || after_reply_mark(after).is_some();
    (is_word && is_mark).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_places_are_read_from_tags_of_every_kind() {
        for (text, version, place, title) in [
            ("[PATCH] mm: x", 1, None, "mm: x"),
            ("[PATCH 2/3] mm: x", 1, Some((2, 3)), "mm: x"),
            ("[RFC PATCH mm-unstable v4 00/02] mm/rmap: two", 4, Some((0, 2)), "mm/rmap: two"),
            ("[PATCHv2 1/3] x", 2, Some((1, 3)), "x"),
            ("[RFCv3][PATCH 1/3] x", 3, Some((1, 3)), "x"),
            ("[RESEND, PATCH V2, 01/10] x", 2, Some((1, 10)), "x"),
            ("[PATCH net-next v2] [1/2] [mm] x [y]", 2, Some((1, 2)), "x [y]"),
            ("mm: x 1/2", 1, None, "mm: x 1/2"),
            ("[dev] v2/3 of x", 1, None, "v2/3 of x"),
            ("[PATCH 3/2] x", 1, None, "x"),
            ("[PATCH 1/99999999999] x", 1, None, "x"),
            ("[PATCH", 1, None, "[PATCH"),
            ("[PATCH]", 1, None, "[PATCH]"),
        ] {
            let title = title.to_owned();
            let expected = Subject { is_reply: false, version, place, title };
            assert_eq!(Subject::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn replies_are_told_from_areas() {
        for text in ["Re: [PATCH v2 1/3] x", "AW: Re: [PATCH] x", "re: x", "Antw: [PATCH] x"] {
            assert!(Subject::parse(text).is_reply, "{text}");
        }
        for text in ["mm: x", "[PATCH] Re: x", "mm: rmap: [x] y", "arm: x"] {
            assert!(!Subject::parse(text).is_reply, "{text}");
        }
    }
}
