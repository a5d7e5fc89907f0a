//! What happened, told in steps a person can follow.

use pageout_paging::Pfn;
use std::fmt::Write;

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

    fn tell(&self, agents: &[&str]) -> String {
        let who = self.who.map_or("hardware", |who| agents[who]);
        let mut line = if agents[0].is_empty() { String::new() } else { format!("{who}: ") };
        line += self.verb;
        if let Some((first, nr)) = self.pages {
            let _ = match nr {
                1 => write!(line, " page {first}"),
                _ => write!(line, " pages {first}–{}", first + nr - 1),
            };
        }
        if let Some((first, nr)) = self.frames {
            let arrow = if self.pages.is_some() { " → " } else { " " };
            let _ = match nr {
                1 => write!(line, "{arrow}frame {}", first.get()),
                _ => write!(line, "{arrow}frames {}–{}", first.get(), first.get() + nr - 1),
            };
        }
        line + &self.note
    }
}

/// The events as lines, in order.
pub fn lines(events: &[Event], agents: &[impl AsRef<str>]) -> Vec<String> {
    let agents: Vec<_> = agents.iter().map(AsRef::as_ref).chain(["afterwards"]).collect();
    let mut merged: Vec<Event> = Vec::new();
    for event in events {
        if !merged.last_mut().is_some_and(|last| last.absorb(event)) {
            merged.push(event.clone());
        }
    }
    merged.iter().map(|event| event.tell(&agents)).collect()
}
