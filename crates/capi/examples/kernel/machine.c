/* The machine: its console, its clock, its MMU. */
#include "machine.h"

#include "pageout.h"

#define CONSOLE ((volatile uint32_t *)(OFFSET + 0x09000000))

void print(const char *text)
{
    for (; *text != '\0'; text++)
        *CONSOLE = (uint32_t)(unsigned char)*text;
}

void print_number(const char *before, uint64_t number, const char *after)
{
    char digits[21];
    size_t k = sizeof digits - 1;
    digits[k] = '\0';
    do {
        digits[--k] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    print(before);
    print(&digits[k]);
    print(after);
}

_Noreturn void power_off(int status)
{
    /* Semihosting: SYS_EXIT, because the application exits. */
    volatile uint64_t block[2] = {0x20026, (uint64_t)status};
    register uint64_t operation __asm__("x0") = 0x18;
    register volatile uint64_t *argument __asm__("x1") = block;
    __asm__ volatile("hlt #0xf000" : : "r"(operation), "r"(argument) : "memory");
    for (;;)
        __asm__ volatile("wfe");
}

_Noreturn void stop(const char *why)
{
    print("kernel: ");
    print(why);
    print("\n");
    power_off(1);
}

#define UNUSED_WORD 0x5aa55aa55aa55aa5

extern uint64_t stack_bottom[], stack_top[];

void stack_mark(void)
{
    volatile uint64_t *here = (volatile uint64_t *)__builtin_frame_address(0);
    /* The frame of this function itself is left alone. */
    for (volatile uint64_t *word = stack_bottom; word < here - 64; word++)
        *word = UNUSED_WORD;
}

uint64_t stack_used(void)
{
    volatile uint64_t *word = stack_bottom;
    while (*word == UNUSED_WORD)
        word++;
    return (uint64_t)((uintptr_t)stack_top - (uintptr_t)word);
}

uint32_t hardware(void)
{
    uint64_t features;
    __asm__("mrs %0, id_aa64mmfr1_el1" : "=r"(features));
    uint64_t flags = features & 0xf;
    return (flags >= 1 ? PAGEOUT_HARDWARE_ACCESSED_FLAG : 0) |
           (flags >= 2 ? PAGEOUT_HARDWARE_DIRTY_BIT : 0);
}

uint64_t milliseconds(void)
{
    uint64_t ticks, hz;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    return ticks / (hz / 1000);
}

void run_in(uint64_t root, uint32_t asid)
{
    uint64_t ttbr = (uint64_t)asid << 48 | root << PAGE_SHIFT;
    __asm__ volatile("msr ttbr0_el1, %0\n\tisb" : : "r"(ttbr) : "memory");
}

uint64_t user_load(uint64_t addr)
{
    uint64_t value;
    __asm__ volatile("ldtr %0, [%1]" : "=r"(value) : "r"(addr) : "memory");
    return value;
}

void user_store(uint64_t addr, uint64_t value)
{
    __asm__ volatile("sttr %0, [%1]" : : "r"(value), "r"(addr) : "memory");
}

void tlb_range(void *context, uint32_t asid, uint64_t start, size_t nr, uint32_t level)
{
    (void)context;
    uint64_t step = level == PAGEOUT_LEVEL_PTE ? 1 : PAGE_WORDS;
    uint64_t page = start >> PAGE_SHIFT;
    for (size_t k = 0; k < nr; k++, page += step) {
        uint64_t what = (uint64_t)asid << 48 | (page & 0xfffffffffff);
        __asm__ volatile("tlbi vale1is, %0" : : "r"(what) : "memory");
    }
}

void tlb_address_space(void *context, uint32_t asid)
{
    (void)context;
    __asm__ volatile("tlbi aside1is, %0" : : "r"((uint64_t)asid << 48) : "memory");
}

void tlb_everything(void *context)
{
    (void)context;
    __asm__ volatile("tlbi vmalle1is" : : : "memory");
}

void tlb_publish(void *context)
{
    (void)context;
    __asm__ volatile("dsb ishst" : : : "memory");
}

void tlb_complete(void *context)
{
    (void)context;
    /* The kernel goes on at the process's addresses, without an exception return. */
    __asm__ volatile("dsb ish\n\tisb" : : : "memory");
}
