//! Words of software's locks: their lines move between cores, one move at a time.
//!
//! A line belongs to one core, or several cores share copies of it. A change takes the line from
//! all others. A core that wants the line while it moves waits until that move is over.

use crate::Time;
use crate::core_set::{CoreId, CoreSet};
use crate::lines::Line;
use std::collections::HashMap;

/// A lock's word, by a number that the caller chooses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WordId(pub u64);

/// The time that a use of a word took, and where that went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WordUse {
    /// True if another core had to give up or share the line.
    pub moved: bool,
    /// The time of the access itself: the atomic, and the line's way to this core.
    pub access: Time,
    /// The time until the line was free to move.
    pub waited: Time,
}

/// A core that waits for another core's change of the word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) core: CoreId,
    pub(crate) since: Time,
}

/// A word, and the place of its line.
#[derive(Debug, Default)]
pub(crate) struct Word {
    /// The cores that have a copy.
    near: CoreSet,
    /// The core that may change its copy.
    owner: Option<CoreId>,
    /// The time from which the line may move again.
    pub(crate) free: Time,
    pub(crate) waiters: Vec<Waiter>,
}

impl Word {
    /// Returns true if the core has a copy.
    pub(crate) fn is_near(&self, core: CoreId) -> bool {
        self.near.contains(core)
    }

    /// Reads the word, and returns the place where its line was found.
    pub(crate) fn read(&mut self, core: CoreId) -> Line {
        let found = match self.owner {
            _ if self.near.contains(core) => return Line::Near,
            Some(_) => Line::Transfer,
            None => Line::Far,
        };
        self.owner = self.near.is_empty().then_some(core);
        self.near.insert(core);
        found
    }

    /// Changes the word, after which no other core has a copy. Returns the place where its line was
    /// found.
    pub(crate) fn change(&mut self, core: CoreId) -> Line {
        let found = match self.owner {
            Some(owner) if owner == core => Line::Near,
            None if self.near.without(core).is_empty() => Line::Far,
            _ => Line::Transfer,
        };
        (self.near, self.owner) = (CoreSet::default(), Some(core));
        self.near.insert(core);
        found
    }
}

/// All words that were ever used.
#[derive(Debug, Default)]
pub(crate) struct Words(HashMap<WordId, Word>);

impl Words {
    /// Returns a word, which no core has yet if it is new.
    pub(crate) fn of(&mut self, id: WordId) -> &mut Word {
        self.0.entry(id).or_default()
    }
}
