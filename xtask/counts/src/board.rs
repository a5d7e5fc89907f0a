//! The board, QEMU's `virt`: its start, serial line, clock, TLB and end.
#![allow(unsafe_code)]

use core::arch::{asm, global_asm};
use core::fmt::{self, Write};
use core::panic::PanicInfo;

// It begins at EL1 without an MMU. One table maps the first gigabyte, of devices, and the second,
// memory, to themselves; the stack begins at the end of memory.
global_asm!(
    r#"
    .section .text.start, "ax"
    .global start
start:
    mov     x0, #3 << 20            // CPACR_EL1: floating point is allowed
    msr     cpacr_el1, x0
    adrp    x0, root_table
    mov     x1, #0x401              // a block, accessed, attribute 0
    str     x1, [x0]
    mov     x1, #0x705              // a block, accessed, inner shareable, attribute 1
    movk    x1, #0x4000, lsl #16
    str     x1, [x0, #8]
    mov     x1, #0xff00             // MAIR_EL1: 0 is a device, 1 write-back memory
    msr     mair_el1, x1
    msr     ttbr0_el1, x0
    ldr     x1, =0x200803519        // TCR_EL1: 39 bits, 4 KiB, write-back, no second table
    msr     tcr_el1, x1
    tlbi    vmalle1
    dsb     nsh
    isb
    mrs     x1, sctlr_el1
    mov     x2, #0x1005             // SCTLR_EL1: MMU, caches
    orr     x1, x1, x2
    msr     sctlr_el1, x1
    isb
    mov     x0, #0x50000000
    mov     sp, x0
    bl      {main}
    .section .bss
    .balign 4096
root_table:
    .space 4096
"#,
    main = sym main
);

extern "C" fn main() -> ! {
    crate::measure::all(&mut Serial).expect("the serial line takes all");
    off()
}

/// The serial line.
struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // SAFETY: the data register of the board's PL011 is there, and takes bytes at any time.
            unsafe { (0x0900_0000 as *mut u32).write_volatile(byte.into()) };
        }
        Ok(())
    }
}

/// Returns the number of instructions since the start, to the next tick of the clock.
pub(crate) fn instructions() -> u64 {
    let (ticks, hertz): (u64, u64);
    // SAFETY: it reads two registers.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) ticks, out(reg) hertz);
    };
    ticks * (1_000_000_000 / hertz)
}

/// The stack below a call that is watched, in words: more than any call takes.
const WATCHED: usize = 1 << 14;
/// The content of stack that is not used.
const UNUSED: u64 = 0x5ca1_ab1e_0dd5_7ac4;

/// Returns the result of a call, and the bytes of stack that it took.
#[inline(never)]
pub(crate) fn stack_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let top: *mut u64;
    // SAFETY: it reads the stack pointer.
    unsafe { asm!("mov {}, sp", out(reg) top) };
    for k in 1..=WATCHED {
        // SAFETY: below the stack pointer is memory of the stack that nobody uses: there are no
        // interrupts, and the stack has far more room.
        unsafe { top.sub(k).write_volatile(UNUSED) };
    }
    let result = work();
    // SAFETY: as above; calls have written to it or not.
    let is_unused = |k: &usize| unsafe { top.sub(*k).read_volatile() } == UNUSED;
    let unused = (1..=WATCHED).rev().take_while(is_unused).count();
    assert!(unused > 0, "the watched stack is more than a call takes");
    (result, (WATCHED - unused) * size_of::<u64>())
}

unsafe extern "C" {
    /// The first byte of the code, which is placed first, and from the linker the first after it.
    static start: u8;
    static etext: u8;
}

/// Returns the size of the program's code in bytes.
pub(crate) fn code() -> usize {
    (&raw const etext).addr() - (&raw const start).addr()
}

/// Invalidates a translation in the TLBs of all CPUs.
pub(crate) fn invalidate(operand: u64) {
    // SAFETY: an invalidation changes no translation that the program relies on.
    unsafe { asm!("tlbi vae1is, {}", in(reg) operand) };
}

/// Waits for memory and invalidations.
pub(crate) fn barrier() {
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish") };
}

/// Ends the emulator.
fn off() -> ! {
    // SAFETY: the board has PSCI, whose SYSTEM_OFF does not return.
    unsafe { asm!("hvc #0", in("x0") 0x8400_0008_u64, options(noreturn)) }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = writeln!(Serial, "{info}");
    off()
}
