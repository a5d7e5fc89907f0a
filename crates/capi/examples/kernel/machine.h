/* The machine under the kernel: QEMU's `virt` board with one arm64 CPU. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE  ((uint64_t)1 << PAGE_SHIFT)
#define PAGE_WORDS (PAGE_SIZE / sizeof(uint64_t))

/* All of memory is mapped from this address on. */
#define OFFSET 0xffff000000000000

/* The words of a frame, in the map of all memory. */
static inline uint64_t *words(uint64_t pfn)
{
    return (uint64_t *)((pfn << PAGE_SHIFT) + OFFSET);
}

void print(const char *text);
void print_number(const char *before, uint64_t number, const char *after);

/* Ends the machine; the emulator ends with the status. */
_Noreturn void power_off(int status);

/* Says why, and ends the machine with status 1. */
_Noreturn void stop(const char *why);

/* The abilities of this CPU, as pageout.h names them. */
uint32_t hardware(void);

/* Marks the part of the stack below its caller, and returns how many bytes were used since. */
void stack_mark(void);
uint64_t stack_used(void);

/* Milliseconds since the machine was switched on. */
uint64_t milliseconds(void);

/* Lets the CPU translate by a root table, whose translations have a tag. */
void run_in(uint64_t root, uint32_t asid);

/* A load and a store as a process makes them: with its permissions. */
uint64_t user_load(uint64_t addr);
void user_store(uint64_t addr, uint64_t value);

/* TLB maintenance, as pageout.h asks for it. */
void tlb_range(void *context, uint32_t asid, uint64_t start, size_t nr, uint32_t level);
void tlb_address_space(void *context, uint32_t asid);
void tlb_everything(void *context);
void tlb_publish(void *context);
void tlb_complete(void *context);

#endif
