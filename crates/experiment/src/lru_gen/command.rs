//! Commands that are written to `lru_gen`: text in which `$NAME` is a cgroup's id and `\n` a new
//! line.

/// A piece of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// Text that is written as it is.
    Text(String),
    /// The id of the cgroup with this index.
    Id(usize),
}

/// The text of one call of `write`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command(Vec<Piece>);

impl Command {
    /// Reads a command; `memcg` returns the index of a cgroup by its name.
    ///
    /// # Errors
    ///
    /// A `$` or `\` with text after it that has no meaning.
    pub(super) fn parse(
        text: &str,
        memcg: impl Fn(&str) -> Option<usize>,
    ) -> Result<Self, BadPiece> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            plain += &rest[..at];
            let after = &rest[at + 1..];
            if rest[at..].starts_with('\\') {
                rest = after.strip_prefix('n').ok_or(BadPiece::Escape)?;
                plain.push('\n');
                continue;
            }
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
            let name = &after[..end];
            let id = memcg(name).ok_or_else(|| BadPiece::Memcg(name.to_owned()))?;
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Id(id));
            rest = &after[end..];
        }
        plain += rest;
        pieces.push(Piece::Text(plain));
        Ok(Self(pieces))
    }

    /// Returns the text; `id` gives a cgroup's id by its index.
    pub fn text(&self, mut id: impl FnMut(usize) -> String) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Id(memcg) => id(*memcg),
        };
        self.0.iter().map(text).collect()
    }
}

/// The reason why a command was refused.
#[derive(Debug)]
pub(super) enum BadPiece {
    /// A name that is no cgroup's.
    Memcg(String),
    /// A `\` before anything other than `n`.
    Escape,
}
