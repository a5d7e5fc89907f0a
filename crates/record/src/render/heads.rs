//! Titles above the columns of variants.

use super::text::width;
use crate::compare::Comparison;

/// A variant's title, and the text above its column: the title, or a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) title: String,
    pub(super) above: String,
}

/// Returns the heads of all variants, the base first. If a title is longer than `most`, letters
/// replace all titles.
pub(super) fn heads(of: &Comparison, most: usize, plain: impl Fn(&str) -> String) -> Vec<Head> {
    let titles: Vec<String> = of.columns().iter().map(|title| plain(title)).collect();
    let letters = titles.iter().any(|title| width(title) > most);
    let head = |(index, title): (usize, String)| {
        let above = if letters { letter(index) } else { title.clone() };
        Head { title, above }
    };
    titles.into_iter().enumerate().map(head).collect()
}

/// Returns a letter: `A` to `Z`, then `A2`.
fn letter(index: usize) -> String {
    let letter = char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{}", round + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_behind_the_alphabet() {
        assert_eq!([0, 1, 25, 26, 53].map(letter), ["A", "B", "Z", "A2", "B3"]);
    }
}
