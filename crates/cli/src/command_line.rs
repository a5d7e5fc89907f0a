//! The command line of this process, as a person would type it.

/// Returns the words of the command line, each as a shell takes it.
pub(crate) fn words() -> Vec<String> {
    let words = std::env::args().skip(1).map(|word| quoted(&word));
    std::iter::once(env!("CARGO_PKG_NAME").to_owned()).chain(words).collect()
}

/// Quotes a word for a shell, if it needs quotes.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:@,%".contains(c);
    match word.chars().all(plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        let words = ["order=4,pmd", "whole reclaim>3%", "it's", ""].map(quoted);
        assert_eq!(words, ["order=4,pmd", "'whole reclaim>3%'", r"'it'\''s'", "''"]);
    }
}
