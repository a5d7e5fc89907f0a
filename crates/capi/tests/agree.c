/*
 * Random calls of the C interface, each with its outcome as one record on standard output.
 * `agree.rs` draws the same calls, makes them in Rust and compares. The bits of entries are written
 * down here a second time, as a C kernel has them in headers of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pageout.h"

#define BIT(n) ((uint64_t)1 << (n))
#define MAX_PTES 8192

struct layout {
    uint32_t format;
    unsigned page_shift, table_shift, block, pfn_shift;
    uint64_t writable, read_only, prot_none, valid, young, contiguous;
    /* A dirty entry: bits to set and to clear where it is writable, to set where it is not. */
    uint64_t dirty, not_clean, saved_dirty;
    /* Frame bits that a contiguous entry does not hold, and what it holds there. */
    uint64_t size_bits, size;
    /* Frame bits that a PROT_NONE entry holds inverted. */
    uint64_t inverted;
};

#define ARM_NONE (BIT(7) | 3 * BIT(8) | BIT(11) | BIT(53) | BIT(54))
#define ARM_READ (ARM_NONE | 3 | BIT(6))
#define ARM(format, shift, table, block) \
    { \
        format, shift, table, block, shift, ARM_READ | BIT(51), ARM_READ, ARM_NONE, BIT(0), \
            BIT(10), BIT(52), 0, BIT(7), BIT(55), 0, 0, 0 \
    }

static const struct layout layouts[] = {
    ARM(PAGEOUT_FORMAT_ARM64_4K, 12, 9, 16),
    ARM(PAGEOUT_FORMAT_ARM64_16K, 14, 11, 128),
    ARM(PAGEOUT_FORMAT_ARM64_64K, 16, 13, 32),
    {PAGEOUT_FORMAT_X86_64, 12, 9, 1, 12, BIT(63) | 7, BIT(63) | 5, BIT(63) | BIT(8), BIT(0),
     BIT(5), 0, BIT(6), 0, BIT(11) | BIT(58), 0, 0, BIT(52) - BIT(12)},
    {PAGEOUT_FORMAT_RISCV64, 12, 9, 16, 10, 0x17, 0x13, BIT(5) | 2, BIT(0), BIT(6), BIT(63),
     BIT(7), 0, BIT(7) | BIT(59), 0xf * BIT(10), 8 * BIT(10), 0},
};

static uint64_t state;

static uint64_t draw(void) /* splitmix64 */
{
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t n)
{
    return draw() % n;
}

static uint64_t fold(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001b3;
}

/* What the library asks of the MMU, in order, as a hash. */
static uint64_t asked;

static void invalidate_range(void *context, uint32_t asid, uint64_t start, size_t nr,
                             uint32_t level)
{
    uint64_t *hash = context;
    *hash = fold(fold(fold(fold(fold(*hash, 1), asid), start), nr), level);
}

static void invalidate_address_space(void *context, uint32_t asid)
{
    uint64_t *hash = context;
    *hash = fold(fold(*hash, 2), asid);
}

static void publish(void *context)
{
    uint64_t *hash = context;
    *hash = fold(*hash, 3);
}

static void complete(void *context)
{
    uint64_t *hash = context;
    *hash = fold(*hash, 4);
}

static uint64_t entry(const struct layout *l, unsigned prot, uint64_t pfn, int young, int dirty)
{
    uint64_t pte = pfn << l->pfn_shift;
    if (prot < 4) {
        pte |= l->writable;
        if (dirty)
            pte = (pte | l->dirty) & ~l->not_clean;
    } else if (prot < 7) {
        pte |= l->read_only | (dirty ? l->saved_dirty : 0);
    } else {
        pte = l->prot_none | (pte ^ l->inverted);
    }
    return young ? pte | l->young : pte;
}

struct outcome {
    int64_t answer;
    uint64_t pte, asked, table;
};

/* A run of entries, some of them odd, some blocks of them contiguous: the first and the number. */
static void fill(const struct layout *l, uint64_t *table, size_t *first, size_t *len)
{
    size_t ptes = (size_t)1 << l->table_shift;
    size_t n = 1 + below(ptes < 320 ? ptes : 320);
    size_t start = below(ptes - n + 1);
    uint64_t pfn = below(BIT(16)) << l->table_shift;
    unsigned prot = below(8), young = below(4), dirty = below(3);
    size_t one = start + below(n);

    memset(table, 0, ptes * sizeof *table);
    for (size_t i = start; i < start + n; i++) {
        int y = young == 0 ? 0 : young == 1 ? 1 : young == 2 ? (int)below(2) : i == one;
        int d = dirty == 0 ? 0 : dirty == 1 ? 1 : (int)below(2);
        table[i] = entry(l, prot, pfn + i, y, d);
    }
    for (uint64_t odd = below(4); odd > 0; odd--) {
        size_t i = start + below(n);
        switch (below(4)) {
        case 0: table[i] = 0; break;
        case 1: table[i] = draw(); break;
        case 2: table[i] = entry(l, prot, pfn + i + 1, 0, 0); break;
        default: table[i] = entry(l, (prot + 4) % 8, pfn + i, 1, 0);
        }
    }
    for (size_t b = 0; l->block > 1 && b < ptes; b += l->block) {
        if (b < start || b + l->block > start + n || below(2) == 0)
            continue;
        for (size_t i = b; i < b + l->block; i++) {
            table[i] |= l->contiguous;
            if (table[i] & l->valid)
                table[i] = (table[i] & ~l->size_bits) | l->size;
        }
    }
    *first = start;
    *len = n;
}

static struct outcome one_case(uint64_t *table)
{
    uint64_t pick = below(64);
    size_t usual = pick % 3 == 0 ? 0 : 2 + pick % 3;
    const struct layout *l = &layouts[pick < 1 ? 2 : pick < 5 ? 1 : usual];
    size_t ptes = (size_t)1 << l->table_shift, first, len;
    fill(l, table, &first, &len);

    size_t i = first + below(len), room = ptes - i;
    size_t nr = 1 + below(below(8) == 0 || room < 40 ? room : 40);
    if (below(64) == 0)
        nr = below(2) == 0 ? 0 : room + 1 + below(5);
    unsigned op = below(8), upper = op == 7 ? l->table_shift : 0;
    uint64_t addr = below(BIT(16)) << (l->page_shift + l->table_shift + upper);
    addr |= (uint64_t)i << (l->page_shift + upper);
    addr |= below(BIT(l->page_shift + upper));
    uint32_t family = below(3), flush = below(3), asid = below(BIT(16)), flags = below(32);
    size_t limit = below(2) == 0 ? SIZE_MAX : 1 + below(64);
    int flushes = op >= 2 && below(2) == 0;

    struct outcome out = {0, 0, 0, 0};
    asked = 0;
    struct pageout_locked_table pt = {.entries = table, .format = l->format};
    struct pageout_mmu mmu = {
        .context = &asked,
        .invalidate_range = invalidate_range,
        .invalidate_address_space = invalidate_address_space,
        .publish = publish,
        .complete = complete,
        .range_limit = limit,
    };
    struct pageout_young_check check = {
        .mmu = flush == PAGEOUT_FLUSH_NONE ? NULL : &mmu,
        .family = family,
        .flush = flush,
        .asid = asid,
    };
    if (op < 5)
        out.answer = flushes ? pageout_clear_flush_young_ptes(&pt, &check, addr, nr)
                             : pageout_test_and_clear_young_ptes(&pt, family, addr, nr);
    else if (op == 5)
        out.answer = pageout_folio_pte_batch(&pt, addr, nr, flags, &out.pte);
    else if (op == 6)
        out.answer = pageout_ptep_get(&pt, addr, &out.pte);
    else
        out.answer = flushes ? pageout_pmdp_clear_flush_young(&pt, &check, addr)
                             : pageout_pmdp_test_and_clear_young(&pt, addr);
    out.asked = asked;
    for (size_t k = 0; k < ptes; k++)
        out.table = fold(out.table, table[k]);
    return out;
}

int main(int argc, char **argv)
{
    /* A table as hardware has it: one page, aligned to a page, and pages are of 64 KiB at most. */
    static uint64_t memory[2 * MAX_PTES];
    uint64_t *table = memory;
    while ((uintptr_t)table % 0x10000 != 0)
        table++;
    if (argc != 3)
        return 2;
    state = strtoull(argv[1], NULL, 10);
    for (uint64_t left = strtoull(argv[2], NULL, 10); left > 0; left--) {
        struct outcome out = one_case(table);
        if (fwrite(&out, sizeof out, 1, stdout) != 1)
            return 1;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
