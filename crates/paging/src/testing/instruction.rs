//! Instructions of TLB maintenance, with their operands as a register holds them. A test of code
//! that ends in such instructions executes them here, so that a wrong operand does what hardware
//! would do.

use super::LazyMmu;
use super::held::{Scope, Steps, Target, page_of};
use crate::VirtAddr;
use crate::mmu::Asid;
use crate::pte::{Format, Level};

/// The kind of an x86 INVPCID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invpcid {
    /// Type 0: one address of one PCID.
    Address(Asid, VirtAddr),
    /// Type 1: one PCID.
    Context(Asid),
    /// Types 2 and 3: every PCID.
    All,
}

/// arm64 (Arm Architecture Reference Manual, TLBI instructions).
impl<F: Format, const HELD: usize> LazyMmu<'_, F, HELD> {
    /// Executes TLBI `name`, such as `vae1is`, with its operand: forms of EL1 by address
    /// (`va`, `vaa`, with `l` for the last level), by range (`rva` and so on), by ASID (`aside1`)
    /// and of all (`vmalle1`). Without `is` or `os` it reaches this CPU alone. The address is
    /// VA\[55:12\] in bits 43 to 0, whatever the granule. A level hint (TTL) or a granule of a
    /// range that is not the translation's hits nothing.
    ///
    /// # Panics
    /// If the name is none of these.
    pub fn tlbi(&self, name: &str, operand: u64) {
        let Some(form) = Form::of(name) else {
            panic!("TLBI {name} is none of vmalle1, aside1, [r]va[a][l]e1, each with is, os or not")
        };
        let asid = form.by_asid.then_some(Asid((operand >> 48) as u32));
        let whole = Target { steps: form.steps, ..Target::whole(asid) };
        let target = match form.by {
            By::Nothing => whole,
            By::Address => {
                let page = page_of::<F>(VirtAddr::new((operand & ((1 << 44) - 1)) << 12));
                let (hint, level) = (operand >> 46 & 3, level_of(operand >> 44 & 3));
                let ignored = hint != 0 && hint != granule::<F>();
                let level = level.filter(|_| hint != 0 && !ignored);
                Target { pages: Some((page, page + 1)), level, ignored, ..whole }
            }
            By::Range => {
                // SCALE and NUM say how many pages there are.
                let (scale, num) = (operand >> 44 & 3, operand >> 39 & 0x1f);
                let first = (operand & ((1 << 37) - 1)) << F::PAGE_SHIFT;
                let first = page_of::<F>(VirtAddr::new(first));
                let pages = Some((first, first + ((num + 1) << (5 * scale + 1))));
                let level = level_of(operand >> 37 & 3);
                // A range of larger leaves begins with one.
                let unit = level.map_or(1, |level| F::nr_pages(level) as u64);
                let ignored = operand >> 46 & 3 != granule::<F>() || !first.is_multiple_of(unit);
                Target { pages, level, ignored, ..whole }
            }
        };
        self.issue(target, form.scope, false);
    }

    /// Executes DSB with an option such as `ish`. Those for stores (`st`, `ishst`, `oshst`) publish
    /// changes of entries; `sy`, `osh` and `ish` also complete invalidations; `nshst` and `nsh` do
    /// the same for this CPU's own walks and TLB.
    ///
    /// # Panics
    /// If there is no such option.
    pub fn dsb(&self, option: &str) {
        match option {
            "sy" | "osh" | "ish" => {
                self.publish(Scope::All);
                self.complete(Scope::All);
            }
            "st" | "oshst" | "ishst" => self.publish(Scope::All),
            "nsh" => {
                self.publish(Scope::Own);
                self.complete(Scope::Own);
            }
            "nshst" => self.publish(Scope::Own),
            "ld" | "oshld" | "ishld" | "nshld" => {}
            _ => panic!("DSB has no option {option}"),
        }
    }
}

/// x86-64 (Intel Software Developer's Manual, volume 3A, invalidation of TLBs and
/// paging-structure caches). These reach one CPU alone and wait for nothing: for other CPUs,
/// execute them on those, as interrupts do.
impl<F: Format, const HELD: usize> LazyMmu<'_, F, HELD> {
    /// Executes INVLPG where `asid` is the current PCID. All its steps of walks go too.
    pub fn invlpg(&self, asid: Asid, addr: VirtAddr) {
        self.at_once(Target { pages: Some(page::<F>(addr)), ..Target::whole(Some(asid)) });
    }

    /// Executes INVPCID. That of an address drops steps of walks to that address alone.
    pub fn invpcid(&self, kind: Invpcid) {
        self.at_once(match kind {
            Invpcid::Address(asid, addr) => Target {
                pages: Some(page::<F>(addr)),
                steps: Steps::ToPages,
                ..Target::whole(Some(asid))
            },
            Invpcid::Context(asid) => Target::whole(Some(asid)),
            Invpcid::All => Target::whole(None),
        });
    }

    /// Executes a write to CR3 of a root with PCID `asid`, whose bit 63 is clear: that PCID's
    /// translations go.
    pub fn write_cr3(&self, asid: Asid) {
        self.invpcid(Invpcid::Context(asid));
    }

    fn at_once(&self, target: Target) {
        self.issue(target, Scope::Own, true);
        self.complete(Scope::Own);
    }
}

/// riscv64 (privileged specification, SFENCE.VMA).
impl<F: Format, const HELD: usize> LazyMmu<'_, F, HELD> {
    /// Executes SFENCE.VMA on this hart. With an address it orders reads of leaf entries alone, and
    /// steps of walks stay.
    pub fn sfence_vma(&self, addr: Option<VirtAddr>, asid: Option<Asid>) {
        let pages = addr.map(page::<F>);
        let steps = if addr.is_some() { Steps::Kept } else { Steps::OfAddressSpace };
        self.at_once(Target { pages, steps, ..Target::whole(asid) });
    }
}

/// The operand of a form of TLBI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Nothing,
    Address,
    Range,
}

/// A form of TLBI.
struct Form {
    by: By,
    by_asid: bool,
    steps: Steps,
    scope: Scope,
}

impl Form {
    fn of(name: &str) -> Option<Self> {
        let shared = name.strip_suffix("is").or_else(|| name.strip_suffix("os"));
        let scope = if shared.is_some() { Scope::All } else { Scope::Own };
        let name = shared.unwrap_or(name).strip_suffix("e1")?;
        let by_pages = |by, by_asid, steps| Some(Self { by, by_asid, steps, scope });
        match name {
            "vmall" => by_pages(By::Nothing, false, Steps::OfAddressSpace),
            "asid" => by_pages(By::Nothing, true, Steps::OfAddressSpace),
            "va" => by_pages(By::Address, true, Steps::ToPages),
            "val" => by_pages(By::Address, true, Steps::Kept),
            "vaa" => by_pages(By::Address, false, Steps::ToPages),
            "vaal" => by_pages(By::Address, false, Steps::Kept),
            "rva" => by_pages(By::Range, true, Steps::ToPages),
            "rval" => by_pages(By::Range, true, Steps::Kept),
            "rvaa" => by_pages(By::Range, false, Steps::ToPages),
            "rvaal" => by_pages(By::Range, false, Steps::Kept),
            _ => None,
        }
    }
}

/// Returns the granule of a format as operands name it: 1 for 4 KiB, 2 for 16 KiB, 3 for 64 KiB.
const fn granule<F: Format>() -> u64 {
    (F::PAGE_SHIFT as u64 - 10) / 2
}

/// Returns the level of leaves by arm64's number; 0 hints at none.
const fn level_of(number: u64) -> Option<Level> {
    match number {
        1 => Some(Level::Pud),
        2 => Some(Level::Pmd),
        3 => Some(Level::Pte),
        _ => None,
    }
}

/// Returns the page of an address, by number, and the one after it.
fn page<F: Format>(addr: VirtAddr) -> (u64, u64) {
    (page_of::<F>(addr), page_of::<F>(addr) + 1)
}
