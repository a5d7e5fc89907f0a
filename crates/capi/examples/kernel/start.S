/* The start of the kernel, its MMU and its exception vectors. It begins at EL1 without an MMU. */

#define DESCRIPTOR_TABLE 3
#define BLOCK_DEVICE     0x405      /* accessed, attribute 1 */
#define BLOCK_NORMAL     0x701      /* accessed, inner shareable, attribute 0 */

    .section .text.start, "ax"
    .global start
start:
    msr     daifset, #0xf
    mov     x0, #3 << 20            /* CPACR_EL1: floating point is allowed */
    msr     cpacr_el1, x0

    /* One table maps the first 2 GiB, here and at the top of addresses. */
    adrp    x0, boot_root
    adrp    x1, boot_gigabytes
    orr     x2, x1, #DESCRIPTOR_TABLE
    str     x2, [x0]
    mov     x2, #BLOCK_DEVICE
    str     x2, [x1]
    mov     x2, #BLOCK_NORMAL
    movk    x2, #0x4000, lsl #16
    str     x2, [x1, #8]

    mov     x2, #0x00ff             /* MAIR_EL1: 0 is write-back memory, 1 a device */
    msr     mair_el1, x2
    msr     ttbr0_el1, x0
    msr     ttbr1_el1, x0
    ldr     x2, =0x12b5103510       /* TCR_EL1: 48 bits, 4 KiB, write-back, 16-bit ASIDs */
    mrs     x3, id_aa64mmfr1_el1
    and     x3, x3, #0xf            /* HAFDBS: 1 sets accessed flags, 2 dirty state too */
    cmp     x3, #1
    mov     x4, #1 << 39
    csel    x4, x4, xzr, hs
    orr     x2, x2, x4
    cmp     x3, #2
    mov     x4, #1 << 40
    csel    x4, x4, xzr, hs
    orr     x2, x2, x4
    msr     tcr_el1, x2
    tlbi    vmalle1
    dsb     nsh
    isb
    mrs     x2, sctlr_el1
    ldr     x3, =0x801005           /* SCTLR_EL1: MMU, caches; exceptions leave PAN alone */
    orr     x2, x2, x3
    bic     x2, x2, #1 << 19        /* writable pages may be executed */
    bic     x2, x2, #1 << 1         /* accesses need not be aligned */
    msr     sctlr_el1, x2
    isb
    ldr     x0, =high
    br      x0
high:
    ldr     x0, =vectors
    msr     vbar_el1, x0
    ldr     x0, =stack_top
    mov     sp, x0
    isb
    bl      kernel_main
1:  wfe
    b       1b

/* An exception of the kernel itself: its accesses to the process's addresses. */
    .text
synchronous:
    sub     sp, sp, #576
    stp     x0, x1, [sp, #0]
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x29, [sp, #144]
    mrs     x0, elr_el1
    mrs     x1, spsr_el1
    stp     x0, x1, [sp, #160]
    str     x30, [sp, #176]
    stp     q0, q1, [sp, #192]
    stp     q2, q3, [sp, #224]
    stp     q4, q5, [sp, #256]
    stp     q6, q7, [sp, #288]
    stp     q16, q17, [sp, #320]
    stp     q18, q19, [sp, #352]
    stp     q20, q21, [sp, #384]
    stp     q22, q23, [sp, #416]
    stp     q24, q25, [sp, #448]
    stp     q26, q27, [sp, #480]
    stp     q28, q29, [sp, #512]
    stp     q30, q31, [sp, #544]
    mrs     x0, esr_el1
    mrs     x1, far_el1
    bl      kernel_fault
    ldp     q0, q1, [sp, #192]
    ldp     q2, q3, [sp, #224]
    ldp     q4, q5, [sp, #256]
    ldp     q6, q7, [sp, #288]
    ldp     q16, q17, [sp, #320]
    ldp     q18, q19, [sp, #352]
    ldp     q20, q21, [sp, #384]
    ldp     q22, q23, [sp, #416]
    ldp     q24, q25, [sp, #448]
    ldp     q26, q27, [sp, #480]
    ldp     q28, q29, [sp, #512]
    ldp     q30, q31, [sp, #544]
    ldr     x30, [sp, #176]
    ldp     x0, x1, [sp, #160]
    msr     elr_el1, x0
    msr     spsr_el1, x1
    ldp     x18, x29, [sp, #144]
    ldp     x16, x17, [sp, #128]
    ldp     x14, x15, [sp, #112]
    ldp     x12, x13, [sp, #96]
    ldp     x10, x11, [sp, #80]
    ldp     x8, x9, [sp, #64]
    ldp     x6, x7, [sp, #48]
    ldp     x4, x5, [sp, #32]
    ldp     x2, x3, [sp, #16]
    ldp     x0, x1, [sp, #0]
    add     sp, sp, #576
    eret

unexpected:
    mrs     x0, esr_el1
    mrs     x1, far_el1
    mrs     x2, elr_el1
    b       kernel_unexpected

    .macro vector to
    .balign 128
    b       \to
    .endm

    .balign 2048
vectors:
    .rept 4
    vector unexpected
    .endr
    vector synchronous
    .rept 11
    vector unexpected
    .endr

    .bss
    .balign 4096
boot_root:
    .skip 4096
boot_gigabytes:
    .skip 4096
    .balign 16
    .global stack_bottom, stack_top
stack_bottom:
    .skip 0x40000
stack_top:
