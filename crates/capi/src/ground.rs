//! The environment of one call: the caller's table, and its TLB maintenance.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::sync::atomic::AtomicU64;

use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::table::HostTable;
use pageout_paging::{Env, Format, Level, Mmu, Notifier, Pfn, Sound};

use crate::types::{self, Error};

/// A table, and TLB maintenance.
pub(crate) struct Ground<'c, F> {
    table: HostTable<'c, F>,
    mmu: Callbacks,
}

impl<'c, F: Format> Ground<'c, F> {
    /// Makes the ground of `entries`.
    ///
    /// # Safety
    /// For `'c` a pointer that is not null and aligned to a page points to `F::PTES` entries. All
    /// who write to them do so by single accesses of 64 bits, and `mmu` keeps its own promise.
    pub(crate) unsafe fn new(entries: *mut u64, mmu: Callbacks) -> Result<Self, Error> {
        if entries.is_null() || !entries.addr().is_multiple_of(F::PAGE_SIZE as usize) {
            return Err(Error::Table);
        }
        // SAFETY: the pointer is not null and aligned, so the caller vouches for PTES entries that
        // live for 'c. An atomic has the size of the integer, and a page's alignment is enough.
        let entries = unsafe { core::slice::from_raw_parts(entries.cast::<AtomicU64>(), F::PTES) };
        let table = HostTable::new(entries).ok_or(Error::Table)?;
        Ok(Self { table, mmu })
    }

    /// Returns the table.
    pub(crate) fn entries(&self) -> HostTable<'c, F> {
        self.table
    }
}

impl<'c, F: Format> Env for Ground<'c, F> {
    type Format = F;
    type Table = HostTable<'c, F>;
    type Mmu = Callbacks;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = ()
    where
        Self: 'a;

    fn table(&self, _frame: Pfn) -> HostTable<'c, F> {
        self.table
    }

    fn mmu(&self) -> &Callbacks {
        &self.mmu
    }

    /// Succeeds always: the caller holds the one table's lock, as its token says.
    fn try_lock_table(&self, _frame: Pfn) -> Option<()> {
        Some(())
    }

    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {
        core::hint::spin_loop();
    }
}

/// A C caller's TLB maintenance. Invariant: its functions may be called with its context, as
/// [`types::Mmu`] says, for as long as it lives.
#[derive(Clone, Copy)]
pub(crate) struct Callbacks {
    context: *mut c_void,
    invalidate_range: unsafe extern "C" fn(*mut c_void, u32, u64, usize, u32),
    invalidate_address_space: unsafe extern "C" fn(*mut c_void, u32),
    publish: unsafe extern "C" fn(*mut c_void),
    complete: unsafe extern "C" fn(*mut c_void),
    range_limit: usize,
}

impl Callbacks {
    /// The callbacks of a check without a flush, which calls none of them.
    pub(crate) const NONE: Self = Self {
        context: core::ptr::null_mut(),
        invalidate_range: no_range,
        invalidate_address_space: no_address_space,
        publish: no_barrier,
        complete: no_barrier,
        range_limit: usize::MAX,
    };

    /// Takes the functions of `mmu`.
    ///
    /// # Safety
    /// As long as the result is used, they may be called as [`types::Mmu`] says.
    pub(crate) unsafe fn new(mmu: &types::Mmu) -> Result<Self, Error> {
        Ok(Self {
            context: mmu.context,
            invalidate_range: mmu.invalidate_range.ok_or(Error::Mmu)?,
            invalidate_address_space: mmu.invalidate_address_space.ok_or(Error::Mmu)?,
            publish: mmu.publish.ok_or(Error::Mmu)?,
            complete: mmu.complete.ok_or(Error::Mmu)?,
            range_limit: mmu.range_limit,
        })
    }
}

extern "C" fn no_range(_: *mut c_void, _: u32, _: u64, _: usize, _: u32) {}
extern "C" fn no_address_space(_: *mut c_void, _: u32) {}
extern "C" fn no_barrier(_: *mut c_void) {}

impl Mmu for Callbacks {
    fn caps(&self) -> Caps {
        Caps { range_limit: self.range_limit, ..Caps::IDEAL }
    }

    fn invalidate(&self, what: Invalidate) {
        match what {
            Invalidate::Range { asid, start, nr, level } => {
                let level = if level == Level::Pte { types::Level::Pte } else { types::Level::Pmd };
                // SAFETY: the type's invariant.
                unsafe {
                    (self.invalidate_range)(self.context, asid.0, start.get(), nr, level as u32);
                }
            }
            Invalidate::AddressSpace(asid) => {
                // SAFETY: the type's invariant.
                unsafe { (self.invalidate_address_space)(self.context, asid.0) }
            }
            Invalidate::Everything => unreachable!("a young check flushes one address space"),
        }
    }

    fn barrier(&self, barrier: Barrier) {
        let call = match barrier {
            Barrier::Publish => self.publish,
            Barrier::Complete => self.complete,
        };
        // SAFETY: the type's invariant.
        unsafe { call(self.context) }
    }
}
