//! Memory that is taken away: the frames of a range are emptied.

use super::Targets;
use super::migrate::Migrated;
use crate::engine::Engine;
use crate::world::World;
use core::ops::Range;
use pageout_paging::{Order, Pfn};

/// The result of emptying a range of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offlined {
    /// The pages moved, and those of them that stayed in the last pass.
    pub migrated: Migrated,
    /// The first frame of the range that still belongs to a folio, if one does. Without one the
    /// range may be taken away.
    pub in_use: Option<Pfn>,
}

/// Targets that lie outside of a range.
struct Outside<'a> {
    targets: &'a mut dyn Targets,
    range: Range<Pfn>,
    /// A target inside of it.
    bad: Option<Pfn>,
}

impl Targets for Outside<'_> {
    fn take(&mut self, order: Order) -> Option<Pfn> {
        let to = self.targets.take(order)?;
        let end = to.get().saturating_add(order.nr_pages() as u64);
        if to < self.range.end && end > self.range.start.get() {
            self.targets.give_back(to, order);
            self.bad = Some(to);
            return None;
        }
        Some(to)
    }

    fn give_back(&mut self, pfn: Pfn, order: Order) {
        self.targets.give_back(pfn, order);
    }
}

impl<W: World> Engine<'_, W> {
    /// Empties a range of frames that are to be taken away: its folios move to frames of `targets`,
    /// in passes over the range until it is empty or a pass moves nothing (Linux 7.3.4,
    /// offline_pages, which goes on until a signal comes). It ends early where
    /// [`World::signal_pending`] says so.
    ///
    /// From before the call until the frames are added again, [`Frames`](crate::Frames) hands out
    /// none of the range. Folios in a transfer stay, and those with references of a caller or of
    /// another call: end the transfers, drop the references, and call again. Page tables do not
    /// move: take them from frames that are never taken away. Added frames need no call: the table
    /// of frames covers them from the start ([`Limits`](crate::Limits)).
    ///
    /// A target inside of the range is given back and refused ([`Migrated::bad_target`]).
    pub fn offline_pages(&mut self, range: Range<Pfn>, targets: &mut dyn Targets) -> Offlined {
        let (maps, world) = (self.maps, self.world);
        let mut outside = Outside { targets, range: range.clone(), bad: None };
        let mut migrated = Migrated::default();
        let in_use = loop {
            let pass = self.migrate_range(range.clone(), &mut outside);
            migrated = Migrated { failed: 0, ..migrated };
            migrated += pass;
            let in_use = maps.folios.first_in_use(range.clone());
            if in_use.is_none() || pass.moved == 0 || world.signal_pending() {
                break in_use;
            }
        };
        migrated.bad_target = migrated.bad_target.or(outside.bad);
        Offlined { migrated, in_use }
    }
}
