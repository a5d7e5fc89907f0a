//! Wrappers for embedders' own tests. They check tables, TLB maintenance and address spaces against
//! the demands of hardware, and panic with the rule that was broken.
//!
//! - [`LazyMmu`] is TLB maintenance whose invalidations take effect only at the barrier that
//!   completes them. Until then, every CPU's TLB may hold any translation that an entry once
//!   offered. [`Tlbs`] records the translations that they may hold.
//! - [`Checked`] wraps an environment. Its tables ([`CheckedTable`]) refuse changes that
//!   break-before-make forbids, and plain stores over live entries.
//! - Hardware may act between any two operations on its tables. [`Machine::plan`] has it use one
//!   page at one step, and [`Machine::act_at_random`] pages at random. Each use sets the accessed
//!   and the dirty bit as a walk does.
//!
//! The rules, as panics name them, and the mistakes that break them:
//!
//! - *break before make*: an entry changes its frame or its block while a TLB may hold its old
//!   translation. No invalidation was issued, or no barrier has completed it.
//! - *one atomic operation*: a plain store over a valid entry, in which hardware may just have set
//!   a bit.
//! - *one ASID, one address space*: an ASID is given to an address space while another has it, or
//!   while a TLB may hold a translation of another.
//! - *flush before free*: frames of pages or of tables are freed ([`Tlbs::check_free`]) that a TLB
//!   or an entry still leads to.
//! - *same pages*: a split or another change that must keep pages moves one
//!   ([`WatchedTables::keeps`]).
//!
//! An invalidation by broadcast counts only if a barrier published the change of the entry before
//! it, and a barrier of the same CPU completed it. One by interrupts
//! ([`Shootdown::Ipi`](crate::mmu::Shootdown)) publishes by itself. Walk caches are TLBs too: a
//! step to a table stays until an invalidation of that kind of entry. [`Tlbs::that_repeat`] has the
//! Arm erratum by which an invalidation must be repeated.
//!
//! Code that does not use this crate's tables is checked by [`WatchedTables`], which reads its
//! tables, and by [`LazyMmu::tlbi`] and the like, which execute its instructions. [`mistakes`] has
//! 37 mistakes, and what is said of each.
//!
//! The wrappers run on one thread and need only their own memory. They do not check global entries
//! or memory types.
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
mod held;
mod instruction;
mod machine;
mod rule;
mod tlbs;
mod translation;
mod tree;
mod watched;

pub use checked::{Checked, CheckedTable, Checks};
pub use instruction::Invpcid;
pub use machine::{Access, Machine};
pub use tlbs::{LazyMmu, Tlbs};
pub use translation::Translation;
pub use watched::WatchedTables;

#[doc = include_str!("../../MISTAKES.md")]
pub mod mistakes {}
