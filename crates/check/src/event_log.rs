//! What happened, told in steps a person can follow.

use super::world::WATCHED;
use pageout_paging::Pfn;
use pageout_record::schema::{Sequence, Step, StepKind};

/// Something that was done by one agent. Like things done to neighbouring pages are told as one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who did it, by its place among the agents; none for hardware.
    pub who: Option<usize>,
    /// What was done: words before the pages.
    pub verb: &'static str,
    /// To which pages, by number from the scenario's first.
    pub pages: Option<(u64, u64)>,
    /// Which frames.
    pub frames: Option<(Pfn, u64)>,
    /// Words after all.
    pub note: String,
}

impl Event {
    /// What is told without pages.
    pub fn plain(who: Option<usize>, verb: &'static str) -> Self {
        Self { who, verb, pages: None, frames: None, note: String::new() }
    }

    /// The event, of so many pages from one on.
    #[must_use]
    pub fn of_pages(self, first: u64, nr: u64) -> Self {
        Self { pages: Some((first, nr)), ..self }
    }

    /// The event, of so many frames from one on.
    #[must_use]
    pub fn of_frames(self, first: Pfn, nr: u64) -> Self {
        Self { frames: Some((first, nr)), ..self }
    }

    /// The event, with more words.
    #[must_use]
    pub fn noting(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Makes `next` a part of this, if it goes on where this ended.
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

    /// What was done, without who did it.
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

/// An event, and what it left of each thing that is watched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logged {
    /// What was done.
    pub event: Event,
    /// What things were like then, in the order of [`WATCHED`].
    pub after: Vec<String>,
}

impl Logged {
    /// Makes `next` a part of this, if it goes on where this ended.
    fn absorb(&mut self, next: &Self) -> bool {
        let absorbed = self.event.absorb(&next.event);
        if absorbed {
            self.after.clone_from(&next.after);
        }
        absorbed
    }
}

/// The events of agents as steps, in order. Agents beyond those named act after all of them.
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

/// The place of a name, added if it is not there.
fn place(actors: &mut Vec<String>, name: &str) -> usize {
    actors.iter().position(|known| known == name).unwrap_or_else(|| {
        actors.push(name.to_owned());
        actors.len() - 1
    })
}

/// Like things in a row as lines of their own, whoever did them.
pub fn lines(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    let mut merged: Vec<Event> = Vec::new();
    for event in events {
        if !merged.last_mut().is_some_and(|last| last.absorb(&event)) {
            merged.push(event);
        }
    }
    merged.iter().map(Event::text).collect()
}
