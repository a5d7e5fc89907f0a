//! Memory that is cut into slices.

use core::mem::{self, MaybeUninit};
use core::slice;

/// Memory that is cut into slices, from its start on. An engine's tables are made so, from memory
/// of a boot loader, a static or an allocator.
#[derive(Debug)]
pub struct Area<'m> {
    left: &'m mut [MaybeUninit<u8>],
}

impl<'m> Area<'m> {
    /// Makes an area of all of `bytes`, whatever their content.
    pub fn new(bytes: &'m mut [MaybeUninit<u8>]) -> Self {
        Self { left: bytes }
    }

    /// Cuts off `len` values, aligned for their type, each the type's default. Returns `None` and
    /// cuts nothing off if too little is left. Values that own resources are never dropped.
    pub fn take<T: Default>(&mut self, len: usize) -> Option<&'m mut [T]> {
        let skipped = match len {
            0 => 0,
            _ => self.left.as_ptr().align_offset(align_of::<T>()),
        };
        let end = len.checked_mul(size_of::<T>())?.checked_add(skipped)?;
        if end > self.left.len() {
            return None;
        }
        let (taken, left) = mem::take(&mut self.left).split_at_mut(end);
        self.left = left;
        if len == 0 {
            return Some(&mut []);
        }
        let first = taken[skipped..].as_mut_ptr().cast::<T>();
        for k in 0..len {
            // SAFETY: `first` is aligned, and `taken` has room for `len` values from there on: both
            // were computed with overflow checked.
            unsafe { first.add(k).write(T::default()) };
        }
        // SAFETY: all `len` values were written just now. The memory is borrowed for 'm, and is in
        // no other slice: it was split off what is left.
        Some(unsafe { slice::from_raw_parts_mut(first, len) })
    }
}
