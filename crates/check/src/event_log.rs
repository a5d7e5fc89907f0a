//! The log of an execution, in steps that a person can follow.

use pageout_paging::Pfn;
use pageout_record::schema::{Sequence, Step, StepKind};

/// The parts of the world that are shown after each step.
pub const WATCHED: [&str; 2] = ["page table", "TLBs may hold"];

/// An event of an agent. Like events on neighbouring pages are merged into one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The acting agent, by its place among the agents; `None` for hardware.
    pub who: Option<usize>,
    /// The action: the words before the pages.
    pub verb: &'static str,
    /// The first page, by number from the scenario's first, and the number of pages.
    pub pages: Option<(u64, u64)>,
    /// The first frame and the number of frames.
    pub frames: Option<(Pfn, u64)>,
    /// Words after everything else.
    pub note: String,
}

impl Event {
    /// Returns an event without pages.
    pub fn plain(who: Option<usize>, verb: &'static str) -> Self {
        Self { who, verb, pages: None, frames: None, note: String::new() }
    }

    /// Adds `nr` pages from one on to the event.
    #[must_use]
    pub fn of_pages(self, first: u64, nr: u64) -> Self {
        Self { pages: Some((first, nr)), ..self }
    }

    /// Adds `nr` frames from one on to the event.
    #[must_use]
    pub fn of_frames(self, first: Pfn, nr: u64) -> Self {
        Self { frames: Some((first, nr)), ..self }
    }

    /// Adds words to the event.
    #[must_use]
    pub fn noting(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Merges `next` into this event if it continues it; returns true if it did.
    fn absorb(&mut self, next: &Self) -> bool {
        let alike = (self.who, self.verb, &self.note) == (next.who, next.verb, &next.note);
        let pages = match (self.pages, next.pages) {
            (Some((first, nr)), Some((start, more))) if first + nr == start => {
                Some((first, nr + more))
            }
            _ => return false,
        };
        let frames = match (self.frames, next.frames) {
            (None, None) => None,
            (Some((first, nr)), Some((start, more))) if first.add(nr) == start => {
                Some((first, nr + more))
            }
            _ => return false,
        };
        if alike {
            (self.pages, self.frames) = (pages, frames);
        }
        alike
    }

    /// Returns the action in words, without the agent.
    fn text(&self) -> String {
        let range = |what: &str, first: u64, nr: u64| match nr {
            1 => format!("{what} {first}"),
            _ => format!("{what}s {first}–{}", first + nr - 1),
        };
        let pages = self.pages.map(|(first, nr)| range("page", first, nr));
        let frames = self.frames.map(|(first, nr)| range("frame", first.get(), nr));
        let of: Vec<String> = pages.into_iter().chain(frames).collect();
        let words = [self.verb.to_owned(), of.join(" → ")];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join(" ") + &self.note
    }
}

/// An event, and the state of each watched thing after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logged {
    /// The event.
    pub event: Event,
    /// The state of each watched thing, in the order of [`WATCHED`].
    pub after: Vec<String>,
}

impl Logged {
    /// Merges `next` into this one if it continues it; returns true if it did.
    fn absorb(&mut self, next: &Self) -> bool {
        let absorbed = self.event.absorb(&next.event);
        if absorbed {
            self.after.clone_from(&next.after);
        }
        absorbed
    }
}

/// Returns the agents' events as steps, in order. Agents beyond the named ones stand after all of
/// them.
pub fn steps(logged: &[Logged], agents: &[impl AsRef<str>], start: Vec<String>) -> Sequence {
    let mut actors: Vec<String> = agents.iter().map(|name| name.as_ref().to_owned()).collect();
    let mut merged: Vec<Logged> = Vec::new();
    for next in logged {
        if !merged.last_mut().is_some_and(|last| last.absorb(next)) {
            merged.push(next.clone());
        }
    }
    let mut steps = Vec::new();
    for Logged { event, after } in merged {
        let actor = match event.who {
            Some(who) if who < agents.len() => who,
            Some(_) => place(&mut actors, "afterwards"),
            None => place(&mut actors, "hardware"),
        };
        steps.push(Step { actor, text: event.text(), after, kind: StepKind::Step });
    }
    let watched = WATCHED.map(str::to_owned).into();
    Sequence { actors, start, watched, steps }
}

/// Returns the place of a name, which is added if it is missing.
fn place(actors: &mut Vec<String>, name: &str) -> usize {
    actors.iter().position(|known| known == name).unwrap_or_else(|| {
        actors.push(name.to_owned());
        actors.len() - 1
    })
}

/// Returns the events in lines; like events in a row are merged, whichever agent acted.
pub fn lines(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    let mut merged: Vec<Event> = Vec::new();
    for event in events {
        if !merged.last_mut().is_some_and(|last| last.absorb(&event)) {
            merged.push(event);
        }
    }
    merged.iter().map(Event::text).collect()
}
