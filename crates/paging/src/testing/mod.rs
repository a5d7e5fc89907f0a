//! For embedders' own tests: wrappers that hold tables, TLB maintenance and address spaces to what
//! hardware demands, and panic with the rule that was broken.
//!
//! - [`LazyMmu`] is TLB maintenance whose invalidations take effect only at the barrier that
//!   completes them. Until then, and for as long as none is issued, every CPU's TLB may hold what
//!   an entry once offered it. [`Tlbs`] is what they may hold.
//! - [`Checked`] wraps an environment. Its tables ([`CheckedTable`]) refuse what break-before-make
//!   forbids, and plain stores over live entries.
//! - Between any two operations on its tables hardware may act: [`Machine::plan`] has it use one
//!   page at one step, [`Machine::act_at_random`] pages at random, each of which sets the accessed
//!   and the dirty bit as a walk does.
//!
//! The rules, as panics name them, and what breaks them:
//!
//! - *break before make*: an entry changes its frame or its block while a TLB may hold what it was.
//!   No invalidation was issued, or no barrier has completed it.
//! - *one atomic operation*: a plain store over a valid entry, in which hardware may just have set
//!   a bit.
//! - *one ASID, one address space*: an ASID is given to an address space while another has it, or
//!   while a TLB may hold a translation of another.
//! - *flush before free*: frames are freed ([`Tlbs::check_free`]) that a TLB may still reach.
//!
//! They run on one thread and need no memory but their own. They say nothing of global entries, of
//! memory types, or of a missing [`Barrier::Publish`](crate::mmu::Barrier).
//!
//! ```
//! use pageout_paging::mmu::{Asid, Caps, Invalidate};
//! use pageout_paging::pte::{Format, Level, Prot, X86_64};
//! use pageout_paging::testing::Tlbs;
//! use pageout_paging::{Mmu, Pfn, VirtAddr, mmu::Barrier};
//!
//! let tlbs = Tlbs::<X86_64, 64>::new(Caps::IDEAL);
//! let (asid, root, page) = (Asid(1), Pfn::new(100), VirtAddr::new(5 << 12));
//! tlbs.run(asid, root);
//! let leaf = X86_64::leaf(Level::Pte, Pfn::new(7), Prot::READ);
//! tlbs.offer(root, page, Level::Pte, X86_64::mkyoung(leaf));
//!
//! let mmu = tlbs.mmu(0);
//! mmu.invalidate(Invalidate::Range { asid, start: page, nr: 1, level: Level::Pte });
//! assert!(tlbs.may_hold(root, page), "issued, not complete");
//! mmu.barrier(Barrier::Complete);
//! assert!(!tlbs.may_hold(root, page));
//! ```

mod checked;
mod machine;
mod tlbs;
mod translation;

pub use checked::{Checked, CheckedTable};
pub use machine::{Access, Machine};
pub use tlbs::{LazyMmu, Tlbs};
pub use translation::Translation;
