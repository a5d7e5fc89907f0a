//! The files in `/sys/kernel/mm/lru_gen/`.

use super::LruGenCaps;
use crate::engine::Engine;
use crate::errno::Errno;
use crate::mm_state::MmState;
use crate::text::{c_string, kstrtouint};
use crate::world::World;
use core::fmt::{self, Write};
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Env, Mmu};

impl<E: Env> Engine<'_, E> {
    /// Writes the text of `enabled`: `0x0007` and a line end if all is on that hardware supports
    /// (Linux 7.3.4, `enabled_show`).
    ///
    /// # Errors
    /// Those of `out`.
    pub fn lru_gen_enabled_show(&self, out: &mut impl Write) -> fmt::Result {
        let hardware = self.world.mmu().caps();
        let mut caps = self.maps.lru_gen_caps();
        if !hardware.hardware_af {
            caps.remove(LruGenCaps::MM_WALK);
        }
        if !hardware.nonleaf_af {
            caps.remove(LruGenCaps::NONLEAF_YOUNG);
        }
        writeln!(out, "0x{:04x}", caps.bits())
    }
}

impl<W: World> Engine<'_, W> {
    /// Takes a write to `enabled` (Linux 7.3.4, `enabled_store`). The text is a number with the
    /// bits of [`LruGenCaps`], of which others are ignored. It may also begin with `y` for all of
    /// them, or with `n` for none.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for anything else; nothing is changed then.
    pub fn lru_gen_enabled_store(&mut self, text: &str) -> Result<(), Errno> {
        if text.is_empty() {
            // sysfs passes no write of zero bytes on to the file.
            return Ok(());
        }
        let caps = match text.as_bytes()[0].to_ascii_lowercase() {
            b'n' => LruGenCaps::empty(),
            b'y' => LruGenCaps::all(),
            _ => {
                let bits = kstrtouint(c_string(text)).ok_or(Errno::EINVAL)?;
                LruGenCaps::from_bits_truncate(bits as u8)
            }
        };
        self.set_lru_gen_caps(caps);
        Ok(())
    }
}

impl MmState<'_> {
    /// Writes the text of `min_ttl_ms`: the time in milliseconds for which memory in use is not
    /// evicted, and a line end. The clock ticks in milliseconds: kernels with fewer ticks a second
    /// round up.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn min_ttl_ms_show(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "{}", self.cgroups.lru_gen_state.min_ttl_ms.load(Relaxed))
    }

    /// Takes a write to `min_ttl_ms`: a number of 32 bits (Linux 7.3.4, `min_ttl_ms_store`).
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for anything else; nothing is changed then.
    pub fn min_ttl_ms_store(&self, text: &str) -> Result<(), Errno> {
        if text.is_empty() {
            return Ok(());
        }
        let ms = kstrtouint(c_string(text)).ok_or(Errno::EINVAL)?;
        self.cgroups.lru_gen_state.min_ttl_ms.store(ms.into(), Relaxed);
        Ok(())
    }
}
