//! Bars of block characters.

/// The blocks of one to seven eighths of a character.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Returns a bar that is `width` characters long for `full`, and in proportion for other values, to
/// the nearest eighth of a character. It is never longer, and values above zero have at least an
/// eighth. There is no bar if a proportion makes no sense (`full` is not above zero, or either is
/// not a number).
///
/// ```
/// use pageout_record::render::bar;
///
/// assert_eq!(bar(3.0, 8.0, 4), "█▌");
/// ```
pub fn bar(value: f64, full: f64, width: usize) -> String {
    let share = value / full;
    if !(value > 0.0 && full > 0.0 && share.is_finite()) {
        return String::new();
    }
    let eighths = (share * width as f64 * 8.0).round().clamp(1.0, width as f64 * 8.0) as usize;
    let part = (eighths % 8).checked_sub(1).map(|part| EIGHTHS[part]);
    std::iter::repeat_n('█', eighths / 8).chain(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_eighth_of_a_character_is_told_apart() {
        let all: Vec<String> = (0..=16).map(|eighths| bar(f64::from(eighths), 16.0, 2)).collect();
        let first = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█", "█▏"];
        assert_eq!(all[..10], first);
        assert_eq!(all[16], "██");
    }

    #[test]
    fn what_is_there_is_seen_and_nothing_is_longer_than_the_whole() {
        assert_eq!(bar(1e-9, 1.0, 7), "▏");
        assert_eq!(bar(1e300, 1.0, 2), "██");
        assert_eq!(bar(f64::MAX, 0.5, 2), "", "the proportion overflows");
        for (value, full) in [(0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, -1.0), (0.0, 0.0)] {
            assert_eq!(bar(value, full, 7), "", "{value} of {full}");
        }
        assert_eq!(bar(f64::NAN, 1.0, 7), "");
        assert_eq!(bar(1.0, f64::NAN, 7), "");
    }
}
