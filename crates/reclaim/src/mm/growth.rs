//! Growth of the tables of processes while the engine runs.

use super::mapping::Mapping;
use super::mm_struct::Mm;
use super::spaces::clear;
use super::vma::Vma;
use crate::engine::Engine;
use crate::memory::{MemoryError, TableKind};
use crate::mm_state::most_entries;
use crate::table::{Part, Room};
use core::mem::MaybeUninit;
use pageout_paging::Env;
use pageout_paging::table::Area;

/// The numbers of entries by which tables grow, as in [`Limits`](crate::Limits).
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    /// More VMAs of all processes.
    pub vmas: usize,
    /// More address spaces at once.
    pub mms: usize,
    /// More mappings at once.
    pub mappings: usize,
}

/// Memory by which the tables of processes grow ([`Engine::grow`]).
#[derive(Debug, Default)]
pub struct Chunk {
    pub(crate) vmas: Part<Vma>,
    pub(crate) mms: Part<Mm>,
    pub(crate) mappings: Part<Mapping>,
}

impl Chunk {
    /// Returns the number of bytes that [`Chunk::carve`] needs, whatever their alignment.
    pub const fn bytes_for(growth: &Growth) -> usize {
        growth.vmas * size_of::<Vma>()
            + growth.mms * size_of::<Mm>()
            + growth.mappings * size_of::<Mapping>()
            + size_of::<Self>()
            + (align_of::<Mm>() - 1)
            + (align_of::<Self>() - 1)
    }

    /// Cuts a chunk from memory that is the engine's from then on.
    ///
    /// # Errors
    /// [`MemoryError::TooShort`].
    pub fn carve(
        bytes: &'static mut [MaybeUninit<u8>],
        growth: &Growth,
    ) -> Result<&'static mut Self, MemoryError> {
        let short = MemoryError::TooShort { found: bytes.len(), needed: Self::bytes_for(growth) };
        let mut area = Area::new(bytes);
        Self::cut(&mut area, growth).ok_or(short)
    }

    /// Cuts the parts in the order of their alignment.
    fn cut(area: &mut Area<'static>, growth: &Growth) -> Option<&'static mut Self> {
        let mms = Part::new(area.take(growth.mms)?);
        let vmas = Part::new(area.take(growth.vmas)?);
        let mappings = Part::new(area.take(growth.mappings)?);
        let chunk = area.take(1)?.first_mut()?;
        *chunk = Self { vmas, mms, mappings };
        Some(chunk)
    }
}

/// The reason why tables did not grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GrowError {
    /// The table grew 16 times already.
    #[error("the table of {0} grew 16 times already")]
    Parts(TableKind),
    /// The table would be too long to number its entries; see [`MemoryError::TooLong`].
    #[error("the table of {0} would be too long to number its entries")]
    TooLong(TableKind),
}

impl<E: Env> Engine<'_, E> {
    /// Lets the tables grow by a chunk. It may be done at any time, up to 16 times for each table.
    /// Entries that were there from the start are found faster than others.
    ///
    /// # Errors
    /// [`GrowError`]; nothing is changed then, and the chunk is lost.
    pub fn grow(&mut self, chunk: &'static mut Chunk) -> Result<(), GrowError> {
        let (maps, chunk) = (self.maps, &*chunk);
        clear(chunk.vmas.entries, chunk.mms.entries, chunk.mappings.entries);
        let guard = self.lock_free_lists();
        let more =
            [chunk.vmas.entries.len(), chunk.mms.entries.len(), chunk.mappings.entries.len()];
        for ((kind, Room { len, parts_left }), more) in maps.spaces.rooms().into_iter().zip(more) {
            if more > 0 && parts_left == 0 {
                return Err(GrowError::Parts(kind));
            }
            if len.saturating_add(more) >= most_entries(kind) {
                return Err(GrowError::TooLong(kind));
            }
        }
        let spaces = maps.spaces.add(&chunk.vmas, &chunk.mms, &chunk.mappings);
        drop(guard);
        self.put_new_spaces(spaces);
        Ok(())
    }
}
