//! Mistakes that operating systems made, each beside the code without it.

use crate::os::{ASID, Os, PAGES, PMD, PTE, PUD, ROOT, SPARE};
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::pte::{Arm64_4K, Arm64_16K, Arm64_64K, Format, Level, Prot, Riscv64, X86_64};
use pageout_paging::testing::{Invpcid, Tlbs};
use pageout_paging::{Pte, VirtAddr};

/// A mistake of an embedder.
pub(crate) struct Case {
    pub(crate) mistake: &'static str,
    /// The reports of it: `owner/repository#number`, or where the rule stands.
    pub(crate) seen: &'static str,
    /// Runs the code, with the mistake or without.
    pub(crate) run: fn(bool),
}

pub(crate) const ALL: &[Case] = &[
    Case {
        mistake: "no DSB ISHST before TLBI",
        seen: "rcore-os/tgoskits#2008; page_table_multiarch 0.6.2",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                if !mistaken {
                    os.cpu(0).dsb("ishst");
                }
                os.cpu(0).tlbi("vae1is", Os::<Arm64_4K>::operand(5));
                os.cpu(0).dsb("ish");
            });
        },
    },
    Case {
        mistake: "TLBI VMALLE1 on this CPU alone",
        seen: "zephyrproject-rtos/zephyr#98344; page_table_multiarch 0.6.2",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                os.tlbi(if mistaken { "vmalle1" } else { "vmalle1is" }, 0);
            });
        },
    },
    Case {
        mistake: "no DSB after TLBI",
        seen: "Arm manual, TLB maintenance",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                os.cpu(0).dsb("ishst");
                os.cpu(0).tlbi("vaale1is", Os::<Arm64_4K>::operand(5));
                if !mistaken {
                    os.cpu(0).dsb("ish");
                }
            });
        },
    },
    Case {
        mistake: "DSB NSH after a broadcast TLBI",
        seen: "Arm manual, DSB",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                os.cpu(0).dsb("ishst");
                os.cpu(0).tlbi("vae1is", Os::<Arm64_4K>::operand(5));
                os.cpu(0).dsb(if mistaken { "nsh" } else { "ish" });
            });
        },
    },
    Case {
        mistake: "DSB ISHST after TLBI",
        seen: "Arm manual, DSB",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                os.cpu(0).dsb("ishst");
                os.cpu(0).tlbi("vae1is", Os::<Arm64_4K>::operand(5));
                os.cpu(0).dsb(if mistaken { "ishst" } else { "sy" });
            });
        },
    },
    Case {
        mistake: "another CPU executes the DSB",
        seen: "Linux, arm64 __switch_to",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                os.cpu(0).dsb("ishst");
                os.cpu(0).tlbi("vae1is", Os::<Arm64_4K>::operand(5));
                os.cpu(u32::from(mistaken)).dsb("ish");
            });
        },
    },
    Case {
        mistake: "TLBI operand shifted by a page of 16 KiB",
        seen: "zephyrproject-rtos/zephyr#115708",
        run: |mistaken| shifted::<Arm64_16K>(mistaken),
    },
    Case {
        mistake: "TLBI operand shifted by a page of 64 KiB",
        seen: "zephyrproject-rtos/zephyr#115708",
        run: |mistaken| shifted::<Arm64_64K>(mistaken),
    },
    Case {
        mistake: "TLBI operand not shifted",
        seen: "unikraft/unikraft#1149",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                let shift = if mistaken { 0 } else { 12 };
                os.tlbi("vaae1is", Os::<Arm64_4K>::addr(5).get() >> shift);
            });
        },
    },
    Case {
        mistake: "address bits in the operand's level hint",
        seen: "littlekernel/lk#386",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                // An address of the kernel's half, whose upper bits are set.
                let page = (Os::<Arm64_4K>::addr(5).get() | 0xffff << 48) >> 12;
                os.tlbi("vaae1is", if mistaken { page } else { page & ((1 << 44) - 1) });
            });
        },
    },
    Case {
        mistake: "no ASID in the operand",
        seen: "Arm manual, TLBI VAE1IS",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                let asid = if mistaken { 0 } else { u64::from(ASID.0) << 48 };
                os.tlbi("vae1is", asid | Os::<Arm64_4K>::addr(5).get() >> 12);
            });
        },
    },
    Case { mistake: "a range TLBI that ends early", seen: "Arm manual, TLBI RVAE1IS", run: ranges },
    Case {
        mistake: "a range TLBI of another granule",
        seen: "Arm manual, TLBI RVAE1IS",
        run: |mistaken| {
            unmap::<Arm64_16K>(|os| {
                let granule = if mistaken { 1 } else { 2 };
                let operand = u64::from(ASID.0) << 48 | granule << 46 | 4;
                os.tlbi("rvae1is", operand);
            });
        },
    },
    Case {
        mistake: "the invalidation comes before the entry is cleared",
        seen: "Arm manual, break-before-make",
        run: |mistaken| {
            let os = Os::<Arm64_4K>::with_broadcasts();
            os.map(5);
            if mistaken {
                os.flush(5);
            }
            os.set(PTE, 5, Pte::NONE);
            if !mistaken {
                os.flush(5);
            }
            os.free(Os::<Arm64_4K>::frame(5));
        },
    },
    Case {
        mistake: "TLBI and DSB are not repeated on a CPU with the erratum",
        seen: "CVE-2025-10263",
        run: repeated,
    },
    Case {
        mistake: "a page is replaced without an invalid moment",
        seen: "Arm manual, break-before-make; asterinas/asterinas#862",
        run: |mistaken| {
            let os = Os::<Arm64_4K>::with_broadcasts();
            os.map(5);
            if !mistaken {
                os.set(PTE, 5, Pte::NONE);
                os.flush(5);
            }
            os.set(PTE, 5, Os::<Arm64_4K>::leaf(6));
            os.flush(5);
        },
    },
    Case {
        mistake: "a block is split without an invalid moment",
        seen: "Arm manual, break-before-make",
        run: |mistaken| split(mistaken, true, |k| k),
    },
    Case {
        mistake: "a leaf is split into copies of itself",
        seen: "rcore-os/tgoskits#2065",
        run: |mistaken| split(false, true, if mistaken { |_| 0 } else { |k| k }),
    },
    Case {
        mistake: "a split drops the right to store",
        seen: "rcore-os/tgoskits#2067",
        run: |mistaken| split(false, !mistaken, |k| k),
    },
    Case {
        mistake: "the step to a table stays in walk caches (TLBI VALE1IS)",
        seen: "Arm manual, TLBI VALE1IS",
        run: |mistaken| {
            let os = Os::<Arm64_4K>::with_broadcasts();
            os.cpu(0).dsb("ishst");
            os.set(PMD, 0, Pte::NONE);
            os.tlbi(if mistaken { "vale1is" } else { "vae1is" }, Os::<Arm64_4K>::operand(0));
            os.free(PTE..PTE.add(1));
        },
    },
    Case {
        mistake: "a table is freed after its entry was cleared, without INVLPG",
        seen: "nanvix/nanvix#2244",
        run: |mistaken| {
            let os = Os::<X86_64>::with_interrupts();
            os.cpu(0);
            os.set(PMD, 0, Pte::NONE);
            if !mistaken {
                shoot_down(&os, 0);
            }
            os.free(PTE..PTE.add(1));
        },
    },
    Case {
        mistake: "another table comes in the place of one that walk caches lead to",
        seen: "nanvix/nanvix#2244",
        run: |mistaken| {
            let os = Os::<X86_64>::with_interrupts();
            os.cpu(0);
            os.set(PMD, 0, Pte::NONE);
            if !mistaken {
                shoot_down(&os, 0);
            }
            os.set(PMD, 0, X86_64::table(SPARE));
            os.cpu(0);
        },
    },
    Case {
        mistake: "a table is freed while an entry leads to it",
        seen: "Intel SDM 3A, recommended invalidation",
        run: |mistaken| {
            let os = Os::<X86_64>::with_interrupts();
            os.cpu(0);
            if !mistaken {
                os.set(PUD, 0, Pte::NONE);
                shoot_down(&os, 0);
            }
            os.free(PMD..PMD.add(1));
        },
    },
    Case {
        mistake: "no shootdown: INVLPG on this CPU alone",
        seen: "microsoft/litebox#671",
        run: |mistaken| {
            unmap_by_interrupts::<X86_64>(|os| {
                os.cpu(0).invlpg(ASID, Os::<X86_64>::addr(5));
                if !mistaken {
                    shoot_down(os, 5);
                }
            });
        },
    },
    Case {
        mistake: "frames are freed before the shootdown",
        seen: "microsoft/litebox#848",
        run: |mistaken| {
            unmap_by_interrupts::<X86_64>(|os| {
                if mistaken {
                    os.free(Os::<X86_64>::frame(5));
                }
                shoot_down(os, 5);
            });
        },
    },
    Case {
        mistake: "INVLPG while another PCID is current",
        seen: "Intel SDM 3A, INVLPG",
        run: |mistaken| {
            unmap_by_interrupts::<X86_64>(|os| {
                for cpu in 0..64 {
                    os.cpu(cpu)
                        .invlpg(if mistaken { Asid(8) } else { ASID }, Os::<X86_64>::addr(5));
                }
            });
        },
    },
    Case {
        mistake: "SFENCE.VMA on this hart alone",
        seen: "RISC-V privileged specification, SFENCE.VMA",
        run: |mistaken| {
            unmap_by_interrupts::<Riscv64>(|os| {
                for hart in 0..if mistaken { 1 } else { 64 } {
                    os.cpu(hart).sfence_vma(Some(Os::<Riscv64>::addr(5)), Some(ASID));
                }
            });
        },
    },
    Case {
        mistake: "SFENCE.VMA of an address, then the table is freed",
        seen: "RISC-V privileged specification, SFENCE.VMA",
        run: |mistaken| {
            let os = Os::<Riscv64>::with_interrupts();
            os.cpu(0);
            os.set(PMD, 0, Pte::NONE);
            for hart in 0..64 {
                let addr = mistaken.then_some(VirtAddr::new(0));
                os.cpu(hart).sfence_vma(addr, Some(ASID));
            }
            os.free(PTE..PTE.add(1));
        },
    },
    Case {
        mistake: "a contiguous block is invalidated by its first page",
        seen: "Arm manual, the Contiguous bit",
        run: |mistaken| {
            let os = Os::<Arm64_4K>::with_broadcasts();
            (0..16).for_each(|k| os.set(PTE, k, Arm64_4K::mkcont(Os::<Arm64_4K>::leaf(k))));
            os.cpu(0);
            (0..16).for_each(|k| os.set(PTE, k, Pte::NONE));
            (0..if mistaken { 1 } else { 16 }).for_each(|k| os.flush(k));
            (0..16).for_each(|k| os.free(Os::<Arm64_4K>::frame(k)));
        },
    },
    Case {
        mistake: "INVPCID of an address elsewhere, then a table is freed",
        seen: "Intel SDM 3A, operations that invalidate TLBs",
        run: |mistaken| {
            let os = Os::<X86_64>::with_interrupts();
            os.cpu(0);
            os.set(PMD, 0, Pte::NONE);
            for cpu in 0..64 {
                let addr = VirtAddr::new(if mistaken { 1 << 39 } else { 0 });
                os.cpu(cpu).invpcid(Invpcid::Address(ASID, addr));
            }
            os.free(PTE..PTE.add(1));
        },
    },
    Case {
        mistake: "a range TLBI with a hint of PMD leaves begins inside of one",
        seen: "Arm manual, TLBI RVAE1IS",
        run: |mistaken| {
            let os = Os::<Arm64_4K>::with_broadcasts();
            os.map_huge();
            os.cpu(0).dsb("ishst");
            os.set(PMD, 0, Pte::NONE);
            os.cpu(0).dsb("ishst");
            let first = if mistaken { 5 } else { 0 };
            os.cpu(0).tlbi("rvale1is", u64::from(ASID.0) << 48 | 1 << 46 | 2 << 37 | first);
            os.cpu(0).dsb("ish");
            os.free(Os::<Arm64_4K>::frame(0));
        },
    },
    Case {
        mistake: "a local flush by DSB NSH where there are two CPUs",
        seen: "Arm manual, DSB",
        run: |mistaken| {
            let cpus = if mistaken { 2 } else { 1 };
            let os = Os::<Arm64_4K>::boot(Tlbs::new(Caps { cpus, ..Caps::IDEAL }));
            unmap_on(&os, |os| {
                os.cpu(0).dsb("nshst");
                os.cpu(0).tlbi("vmalle1", 0);
                os.cpu(0).dsb("nsh");
            });
        },
    },
    Case {
        mistake: "the ASID that the address space had before is invalidated",
        seen: "Arm manual, ASIDs",
        run: |mistaken| {
            let os = Os::<Arm64_4K>::with_broadcasts();
            os.tlbs.run(Asid(8), ROOT);
            unmap_on(&os, |os| {
                let asid = if mistaken { ASID } else { Asid(8) };
                os.tlbi("aside1is", u64::from(asid.0) << 48);
            });
        },
    },
    Case {
        mistake: "the entry is written again while it is invalidated",
        seen: "Arm manual, break-before-make",
        run: |mistaken| {
            unmap::<Arm64_4K>(|os| {
                os.cpu(0).dsb("ishst");
                os.cpu(0).tlbi("vae1is", Os::<Arm64_4K>::operand(5));
                if mistaken {
                    // Another CPU's fault maps the page again.
                    os.set(PTE, 5, Os::<Arm64_4K>::leaf(5));
                    os.cpu(1).dsb("ishst");
                    os.set(PTE, 5, Pte::NONE);
                }
                os.cpu(0).dsb("ish");
            });
        },
    },
    Case {
        mistake: "two address spaces have one ASID",
        seen: "Arm manual, ASIDs",
        run: |mistaken| {
            let os = Os::<Arm64_4K>::with_broadcasts();
            os.tlbs.run(if mistaken { ASID } else { Asid(8) }, SPARE);
        },
    },
    Case {
        mistake: "an ASID is given again without an invalidation",
        seen: "Arm manual, ASIDs",
        run: |mistaken| {
            let os = Os::<Arm64_4K>::with_broadcasts();
            os.map(5);
            os.cpu(0);
            os.tlbs.end(ROOT);
            if !mistaken {
                os.tlbi("aside1is", u64::from(ASID.0) << 48);
            }
            os.tlbs.run(ASID, SPARE);
        },
    },
    Case {
        mistake: "the contiguous bit is set entry by entry",
        seen: "deepin-community/kernel#2001",
        run: contiguous,
    },
];

/// Takes a page out, flushes as told, and frees its frame.
fn unmap<F: Format>(flush: impl Fn(&Os<F>)) {
    unmap_on(&Os::<F>::with_broadcasts(), flush);
}

fn unmap_by_interrupts<F: Format>(flush: impl Fn(&Os<F>)) {
    unmap_on(&Os::<F>::with_interrupts(), flush);
}

fn unmap_on<F: Format>(os: &Os<F>, flush: impl Fn(&Os<F>)) {
    os.map(5);
    os.cpu(0);
    os.set(PTE, 5, Pte::NONE);
    flush(os);
    os.free(Os::<F>::frame(5));
}

/// Has each CPU invalidate page `k`.
fn shoot_down(os: &Os<X86_64>, k: usize) {
    for cpu in 0..64 {
        os.cpu(cpu).invlpg(ASID, Os::<X86_64>::addr(k));
    }
}

fn shifted<F: Format>(mistaken: bool) {
    unmap::<F>(|os| {
        let shift = if mistaken { F::PAGE_SHIFT } else { 12 };
        let operand = u64::from(ASID.0) << 48 | Os::<F>::addr(5).get() >> shift;
        os.tlbi("vae1is", operand);
    });
}

fn ranges(mistaken: bool) {
    let os = Os::<Arm64_4K>::with_broadcasts();
    (0..64).for_each(|k| os.map(k));
    (0..64).for_each(|k| os.set(PTE, k, Pte::NONE));
    // With SCALE 0 a range has 2 (NUM + 1) pages.
    let num = if mistaken { 30 } else { 31 };
    os.tlbi("rvale1is", u64::from(ASID.0) << 48 | 1 << 46 | num << 39);
    (0..64).for_each(|k| os.free(Os::<Arm64_4K>::frame(k)));
}

fn repeated(mistaken: bool) {
    let os = Os::<Arm64_4K>::boot(Tlbs::new(Caps::IDEAL).that_repeat());
    os.map(5);
    os.cpu(0);
    os.set(PTE, 5, Pte::NONE);
    os.flush(5);
    if !mistaken {
        os.cpu(0).tlbi("vale1is", 0);
        os.cpu(0).dsb("ish");
    }
    os.free(Os::<Arm64_4K>::frame(5));
}

/// Splits a leaf into a table, in place or not. Page `k` gets the frame that `frame` says.
fn split(in_place: bool, write: bool, frame: fn(usize) -> usize) {
    type F = Arm64_4K;
    let os = Os::<F>::with_broadcasts();
    os.map_huge();
    os.cpu(0).dsb("ishst");
    let range = VirtAddr::new(0)..Os::<F>::addr(F::PTES);
    os.watched().keeps::<512>(ROOT, range, || {
        let prot = if write { Prot::WRITE } else { Prot::READ };
        for k in 0..F::PTES {
            os.set(SPARE, k, F::leaf(Level::Pte, PAGES.add(frame(k) as u64), prot));
        }
        if !in_place {
            os.set(PMD, 0, Pte::NONE);
            os.flush(0);
        }
        os.set(PMD, 0, F::table(SPARE));
        os.cpu(0).dsb("ishst");
    });
}

fn contiguous(mistaken: bool) {
    type F = Arm64_4K;
    let os = Os::<F>::with_broadcasts();
    (0..16).for_each(|k| os.map(k));
    os.cpu(0);
    if !mistaken {
        (0..16).for_each(|k| os.set(PTE, k, Pte::NONE));
        (0..16).for_each(|k| os.flush(k));
    }
    (0..16).for_each(|k| os.set(PTE, k, F::mkcont(Os::<F>::leaf(k))));
    os.cpu(0).dsb("ishst");
}
