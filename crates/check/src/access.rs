//! Loads and stores: through any translation that the CPU's TLB may hold, or through a walk.

use super::agent_cpu::AgentCpu;
use super::event_log::Event;
use super::property::Property;
use super::world::Leaf;
use pageout_paging::mmu::Asid;
use pageout_paging::{Format, Pfn, Pte, Table, VirtAddr};
use pageout_sim::Held;

/// An access of a program to a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads the page's content.
    Load,
    /// Replaces the page's content.
    Store(u64),
}

impl Access {
    /// Returns true if the access is a store.
    pub const fn is_store(self) -> bool {
        matches!(self, Self::Store(_))
    }
}

/// The result of an access in hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accessed {
    /// The access is complete, with the value loaded or stored.
    Done(u64),
    /// The access ended in a fault.
    Fault,
}

/// The entry that a walk finds.
struct Found {
    leaf: Leaf,
    /// The entry after the walk: young, and dirty after a store.
    used: Pte,
    changes: bool,
}

impl<F: Format> AgentCpu<'_, F> {
    /// Makes an access to a page of the scenario's with TLB and hardware only. A load is checked
    /// against its register through each translation that the TLB may hold. A store goes through
    /// one of them, or a walk, whichever is chosen. `kept` returns true for a frame whose content
    /// will be written out although no entry is dirty.
    pub fn access(
        &self,
        asid: Asid,
        page: u64,
        access: Access,
        kept: &dyn Fn(Pfn) -> bool,
    ) -> Accessed {
        let page = self.world.first_page + page;
        let usable = |held: &Held| held.stores || !access.is_store();
        let mut held = self.world.held(self.cpu, asid, page);
        held.retain(usable);
        if access == Access::Load {
            // The rest is the same for each of them.
            held.iter().for_each(|by| self.check(by, page, access, true));
            held.truncate(1);
        }
        let found = self.look(asid, page, access);
        let walks = held.is_empty() || found.as_ref().is_none_or(|found| found.changes);
        let chosen = self.choose(held.len() + usize::from(walks));
        let (by, is_hit) = match (held.get(chosen), found) {
            (Some(by), _) => (*by, true),
            (None, Some(found)) => (self.walk(asid, page, &found), false),
            (None, None) => return Accessed::Fault,
        };
        self.check(&by, page, access, is_hit);
        self.world.tell(|| self.told_access(&by, page, access, is_hit));
        Accessed::Done(self.reach(&by, page, access, kept))
    }

    /// Returns the entry that a walk for this access would find; `None` if it faults.
    fn look(&self, asid: Asid, page: u64, access: Access) -> Option<Found> {
        let addr = VirtAddr::new(page << F::PAGE_SHIFT);
        let leaf = self.world.entry(asid, addr).filter(|leaf| F::is_valid(leaf.pte))?;
        let used = if access.is_store() { F::hardware_dirty(leaf.pte)? } else { leaf.pte };
        let used = F::mkyoung(used);
        Some(Found { leaf, used, changes: used != leaf.pte })
    }

    /// Walks: sets young, and dirty for a store, in one atomic operation.
    fn walk(&self, asid: Asid, page: u64, found: &Found) -> Held {
        let (world, Found { leaf, used, .. }) = (self.world, found);
        world.table(leaf.table).swap(leaf.i, leaf.encode::<F>(*used));
        world.offer(leaf.table, leaf.i);
        Held::of::<F>(asid, page, leaf.level, *used, &world.hardware.memory())
    }

    /// Checks an access through a translation.
    fn check(&self, by: &Held, page: u64, access: Access, is_hit: bool) {
        let world = self.world;
        let found = world
            .forbidden_by(by.asid, page, access)
            .or_else(|| self.freed(by, page))
            .or_else(|| self.stale(by, page, access));
        if let Some((property, found)) = found {
            world.tell(|| self.told_access(by, page, access, is_hit));
            world.fail(property, found);
        }
    }

    fn freed(&self, by: &Held, page: u64) -> Option<(Property, String)> {
        let frame = by.frame(page);
        let lost = self.world.hardware.memory().lost(by, page)?;
        let (page, frame) = (page.wrapping_sub(self.world.first_page), frame.get());
        let found = format!("the access to page {page} reached frame {frame}, {lost}");
        Some((Property::StaleTranslation, found))
    }

    /// Returns a violation if a load returns a value other than the last one stored.
    fn stale(&self, by: &Held, page: u64, access: Access) -> Option<(Property, String)> {
        let (world, frame) = (self.world, by.frame(page));
        let expected = world.registers.borrow().expected(by.asid, page)?;
        let found = world.hardware.memory().content(frame);
        if access.is_store() || found == expected {
            return None;
        }
        let shown = page.wrapping_sub(world.first_page);
        Some(match self.maps(by.asid, page, frame) {
            Some(_) => {
                let found = format!("page {shown} holds {found}, where {expected} was stored last");
                (Property::LostWrite, found)
            }
            None => {
                let found = format!(
                    "the load of page {shown} found {found} in frame {}, which no longer is the \
                     page's, where {expected} was stored last",
                    frame.get()
                );
                (Property::StaleRead, found)
            }
        })
    }

    /// Uses a translation; returns the value loaded or stored.
    fn reach(&self, by: &Held, page: u64, access: Access, kept: &dyn Fn(Pfn) -> bool) -> u64 {
        let (world, frame) = (self.world, by.frame(page));
        let Access::Store(value) = access else {
            return world.hardware.memory().content(frame);
        };
        world.registers.borrow_mut().store(by.asid, page, value);
        let recorded = self.is_recorded(by.asid, page, frame) || kept(frame);
        if world.hardware.memory().store(frame, value, recorded) {
            let found = format!(
                "{value} was stored to page {} after the content of frame {} was taken for \
                 write-out, and no entry is dirty to have it written again",
                page.wrapping_sub(world.first_page),
                frame.get()
            );
            world.fail(Property::LostWrite, found);
        }
        value
    }

    /// Returns true if a dirty entry maps the page to the frame: its removal will report the store.
    fn is_recorded(&self, asid: Asid, page: u64, frame: Pfn) -> bool {
        self.maps(asid, page, frame).is_some_and(|leaf| F::is_dirty(leaf.pte))
    }

    /// Returns the entry that maps the page, if it maps it to the frame.
    fn maps(&self, asid: Asid, page: u64, frame: Pfn) -> Option<Leaf> {
        let addr = VirtAddr::new(page << F::PAGE_SHIFT);
        let maps = |leaf: &Leaf| F::is_present(leaf.pte) && leaf.frame::<F>(addr) == frame;
        self.world.entry(asid, addr).filter(maps)
    }

    fn told_access(&self, by: &Held, page: u64, access: Access, is_hit: bool) -> Event {
        let how = match is_hit {
            true => ", by a translation that its TLB may hold",
            false => ", which it walks to",
        };
        let (verb, note) = match access {
            Access::Store(value) => ("stores to", format!(": {value}{how}")),
            Access::Load => ("loads", how.to_owned()),
        };
        let shown = page.wrapping_sub(self.world.first_page);
        let event = Event::plain(Some(self.cpu), verb).of_pages(shown, 1);
        event.of_frames(by.frame(page), 1).noting(note)
    }
}
