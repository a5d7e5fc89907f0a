//! Memory for the tables of a trace: tables grow while memory is available, and no allocation
//! aborts.

use std::collections::TryReserveError;

/// The number of entries that a table has room for at first.
const FIRST: usize = 1024;

/// The error if more memory is needed than is available.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom;

impl From<TryReserveError> for NoRoom {
    fn from(_: TryReserveError) -> Self {
        Self
    }
}

/// The number of bytes that tables may still take.
#[derive(Clone, Copy, Debug)]
pub struct Room(u64);

impl Room {
    /// Returns room for that many bytes; without a bound if the number is not known.
    pub fn new(available: Option<u64>) -> Self {
        Self(available.unwrap_or(u64::MAX))
    }

    /// Reserves bytes.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub fn take(&mut self, bytes: u64) -> Result<(), NoRoom> {
        self.0 = self.0.checked_sub(bytes).ok_or(NoRoom)?;
        Ok(())
    }

    /// Adds an entry to a table, which grows by half if it is full.
    ///
    /// # Errors
    /// [`NoRoom`].
    #[inline]
    pub fn push<T>(&mut self, table: &mut Vec<T>, entry: T) -> Result<(), NoRoom> {
        if table.len() == table.capacity() {
            self.grow(table)?;
        }
        table.push(entry);
        Ok(())
    }

    #[cold]
    fn grow<T>(&mut self, table: &mut Vec<T>) -> Result<(), NoRoom> {
        let more = (table.len() / 2).max(FIRST);
        self.take((more * size_of::<T>()) as u64)?;
        Ok(table.try_reserve_exact(more)?)
    }
}

/// Returns a table of `entries` equal entries.
///
/// # Errors
/// [`NoRoom`].
pub(crate) fn filled<T: Copy>(entry: T, entries: usize) -> Result<Vec<T>, NoRoom> {
    let mut table = Vec::new();
    table.try_reserve_exact(entries)?;
    table.resize(entries, entry);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_grows_while_there_is_room_and_keeps_what_it_has() {
        let bytes = (FIRST * 5 / 2 * size_of::<u32>()) as u64;
        let (mut room, mut table) = (Room::new(Some(bytes)), Vec::new());
        let full = (0_u32..).find(|entry| room.push(&mut table, *entry) == Err(NoRoom));
        assert_eq!(full, Some(2 * FIRST as u32));
        assert!(table.iter().copied().eq(0..2 * FIRST as u32));
    }

    #[test]
    fn what_no_address_space_holds_is_refused() {
        let mut table: Vec<[u8; 1 << 40]> = Vec::new();
        assert_eq!(Room::new(None).grow(&mut table), Err(NoRoom));
        assert_eq!(filled(0_u8, 1 << 60).err(), Some(NoRoom));
    }
}
