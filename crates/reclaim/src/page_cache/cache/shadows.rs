//! The table of shadows. It has no lock. If two tasks change one entry at once, one of them may
//! find the other's shadow, as if their keys had one fingerprint, or lose its own.

use super::ShadowEntry;
use super::key::Key;
use super::shadow::Shadow;
use crate::mm_state::MmState;
use core::num::NonZeroU64;
use core::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// The number of entries that may hold one shadow.
const WAYS: usize = 4;

/// Returns the entries that may hold the shadow of `key`.
#[inline]
fn ways<'a>(maps: &'a MmState<'_>, key: Key) -> &'a [ShadowEntry] {
    let sets = maps.stored.shadows.len() / WAYS;
    if sets == 0 {
        return maps.stored.shadows;
    }
    let first = (key.place() / WAYS as u64 % sets as u64) as usize * WAYS;
    &maps.stored.shadows[first..first + WAYS]
}

/// Returns the shadow of `key`, and forgets it unless `keep` is set.
#[inline]
pub(super) fn take_shadow(maps: &MmState<'_>, key: Key, keep: bool) -> Option<Shadow> {
    let print = key.print(maps);
    let entry = ways(maps, key).iter().find(|entry| entry.key.load(Acquire) == print)?;
    if !keep {
        entry.key.store(0, Relaxed);
    }
    NonZeroU64::new(entry.shadow.load(Relaxed)).map(Shadow)
}

/// Keeps a shadow, in place of the oldest that may be in the same entries.
#[inline]
pub(super) fn store_shadow(maps: &MmState<'_>, key: Key, shadow: Shadow) {
    let print = key.print(maps);
    let now = maps.stored.shadow_clock.load(Relaxed).wrapping_add(1);
    maps.stored.shadow_clock.store(now, Relaxed);
    let age = |entry: &ShadowEntry| match entry.key.load(Relaxed) {
        0 => u32::MAX,
        _ => now.wrapping_sub(entry.stored.load(Relaxed)),
    };
    let ways = ways(maps, key);
    let same = ways.iter().find(|entry| entry.key.load(Relaxed) == print);
    if let Some(entry) = same.or_else(|| ways.iter().max_by_key(|entry| age(entry))) {
        entry.shadow.store(shadow.0.get(), Relaxed);
        entry.stored.store(now, Relaxed);
        entry.key.store(print, Release);
    }
}
