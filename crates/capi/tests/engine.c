/*
 * Random calls of the whole engine in C, each with its answer and a hash of its results and of all
 * callbacks as one record on standard output. `engine.rs` draws the same calls, makes them in Rust
 * and compares. The machine that loads and stores by page tables is written down here a second
 * time, with the bits of entries as hardware has them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pageout.h"

#define BIT(n) ((uint64_t)1 << (n))
#define FIRST  0x100
#define FRAMES 256
#define SLOTS  192
#define WORDS  512
#define MMS    4
#define MAPS   8
#define MEMCGS 4
#define QUEUE  64
#define FRAME_MASK (BIT(48) - BIT(12))

static uint64_t arena[FRAMES][WORDS] __attribute__((aligned(4096)));
static uint64_t swap[SLOTS], files[MAPS][256];
static uint8_t taken[FRAMES], locked[FRAMES];
static uint64_t state, trace, clock_ms;
static uint32_t format;

/* Transfers in progress: folios, and if each is a read. */
static struct {
    uint64_t folio;
    int is_read;
} queue[QUEUE];
static uint64_t queued;

static struct pageout_cpu *cpu;
static uint64_t mms[MMS], roots[MMS], maps[MAPS];
static uint32_t kinds[MAPS], memcgs[MEMCGS];
static int alive[MMS];

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

static void note(uint64_t word)
{
    trace = (trace ^ word) * 0x100000001b3;
}

static void note3(uint64_t what, uint64_t a, uint64_t b)
{
    note(what);
    note(a);
    note(b);
}

/* Frames: the first free run that is aligned. */
static uint64_t take(void *context, uint32_t order)
{
    (void)context;
    size_t nr = (size_t)1 << order;
    for (size_t at = 0; at + nr <= FRAMES; at += nr) {
        size_t k = 0;
        while (k < nr && !taken[at + k])
            k++;
        if (k < nr)
            continue;
        memset(&taken[at], 1, nr);
        note3(1, FIRST + at, order);
        return FIRST + at;
    }
    note3(1, PAGEOUT_NO_FRAME, order);
    return PAGEOUT_NO_FRAME;
}

static void give(void *context, uint64_t pfn, uint32_t order)
{
    (void)context;
    note3(2, pfn, order);
    memset(&taken[pfn - FIRST], 0, (size_t)1 << order);
}

static void zero(void *context, uint64_t pfn, size_t nr)
{
    (void)context;
    note3(3, pfn, nr);
    memset(arena[pfn - FIRST], 0, nr * sizeof arena[0]);
}

static void copy(void *context, uint64_t from, uint64_t to, size_t nr)
{
    (void)context;
    note3(4, from, to);
    memcpy(arena[to - FIRST], arena[from - FIRST], nr * sizeof arena[0]);
}

static uint64_t take_table(void *context)
{
    uint64_t pfn = take(context, 0);
    if (pfn != PAGEOUT_NO_FRAME)
        memset(arena[pfn - FIRST], 0, sizeof arena[0]);
    return pfn;
}

static void give_table(void *context, uint64_t pfn)
{
    give(context, pfn, 0);
}

static size_t free_pages(void *context)
{
    (void)context;
    size_t nr = 0;
    for (size_t k = 0; k < FRAMES; k++)
        nr += !taken[k];
    return nr;
}

/* Every other 32 frames lie on node 1. */
static size_t free_pages_on(void *context, uint32_t node)
{
    (void)context;
    size_t nr = 0;
    for (size_t k = 0; k < FRAMES; k++)
        nr += !taken[k] && k / 32 % 2 == node;
    return nr;
}

static uint64_t *stored_at(const struct pageout_io *io, uint64_t k)
{
    if (io->place == PAGEOUT_PLACE_SWAP)
        return &swap[io->at + k];
    return &files[(uint32_t)io->mapping % MAPS][(io->at + k) % 256];
}

static uint32_t submit(const struct pageout_io *io, int is_read)
{
    note3(is_read ? 5 : 6, io->folio, io->place);
    note3(io->mapping, io->at, io->nr);
    uint64_t how = below(8);
    if (how == 0 && below(4) == 0)
        return PAGEOUT_TRANSFER_NO_SPACE + below(4);
    for (uint64_t k = 0; k < io->nr; k++) {
        uint64_t *page = arena[io->pfn - FIRST + k];
        if (is_read) {
            memset(page, 0, sizeof arena[0]);
            page[0] = *stored_at(io, k);
        } else {
            *stored_at(io, k) = page[0];
        }
    }
    if (how != 1 || queued == QUEUE)
        return PAGEOUT_TRANSFER_DONE;
    queue[queued].folio = io->folio;
    queue[queued++].is_read = is_read;
    return PAGEOUT_TRANSFER_PENDING;
}

static uint32_t read_in(void *context, const struct pageout_io *io)
{
    (void)context;
    return submit(io, 1);
}

static uint32_t write_out(void *context, const struct pageout_io *io)
{
    (void)context;
    return submit(io, 0);
}

static uint64_t *table(void *context, uint64_t pfn)
{
    (void)context;
    return pfn - FIRST < FRAMES ? arena[pfn - FIRST] : NULL;
}

static int32_t try_lock_table(void *context, uint64_t pfn)
{
    (void)context;
    if (locked[pfn - FIRST])
        return 0;
    locked[pfn - FIRST] = 1;
    return 1;
}

static void unlock_table(void *context, uint64_t pfn)
{
    (void)context;
    locked[pfn - FIRST] = 0;
}

static void relax(void *context)
{
    (void)context;
}

static uint64_t now_ms(void *context)
{
    (void)context;
    return clock_ms;
}

static void invalidate_range(void *context, uint32_t asid, uint64_t start, size_t nr,
                             uint32_t level)
{
    (void)context;
    note3(7, asid, start);
    note3(8, nr, level);
}

static void invalidate_address_space(void *context, uint32_t asid)
{
    (void)context;
    note3(9, asid, 0);
}

static void invalidate_everything(void *context)
{
    (void)context;
    note(10);
}

static void publish(void *context)
{
    (void)context;
    note(11);
}

static void complete(void *context)
{
    (void)context;
    note(12);
}

/* Loads or stores the first word of a page as a CPU does. Returns 0 for a fault. */
static int access_page(uint64_t root, uint64_t addr, int write, uint64_t *word)
{
    int arm = format == PAGEOUT_FORMAT_ARM64_4K;
    uint64_t pfn = root, *entry = NULL;
    for (unsigned shift = 39; shift >= 12; shift -= 9) {
        entry = &arena[pfn - FIRST][addr >> shift & 511];
        if (!(*entry & 1))
            return 0;
        pfn = (*entry & FRAME_MASK) >> 12;
    }
    if (arm) {
        if (write && !(*entry & BIT(51)))
            return 0;
        *entry = (*entry | BIT(10)) & (write ? ~BIT(7) : ~(uint64_t)0);
    } else {
        if (write && !(*entry & BIT(1)))
            return 0;
        *entry |= BIT(5) | (write ? BIT(6) : 0);
    }
    if (write)
        arena[pfn - FIRST][0] = *word;
    *word = arena[pfn - FIRST][0];
    return 1;
}

static uint64_t address(uint64_t page)
{
    return (page < 128 ? (uint64_t)0x40000000 : (uint64_t)0x7f0000000000) + (page << 12);
}

/* An access of a process: it is tried again after each fault that was resolved. */
static int64_t touch(void)
{
    uint64_t i = below(MMS), addr = address(below(192)), word = draw();
    int write = below(2) == 0;
    for (int tries = 0; tries < 4; tries++) {
        if (alive[i] && access_page(roots[i], addr, write, &word)) {
            note(word);
            return 100;
        }
        struct pageout_fault fault;
        uint32_t access = write ? PAGEOUT_ACCESS_WRITE : PAGEOUT_ACCESS_READ;
        int32_t answer = pageout_handle_fault(cpu, mms[i], addr, access, &fault);
        if (answer != 0)
            return answer;
        note3(fault.outcome, fault.folio, fault.memcg);
        note(fault.failure);
        if (fault.outcome > PAGEOUT_OUTCOME_MAJOR)
            return fault.outcome;
    }
    return 200;
}

static int64_t change_space(uint64_t what)
{
    uint64_t mm = mms[below(MMS)], at = address(below(192)), end = at + (below(what == 1 ? 4 : 64) << 12);
    uint64_t to = address(below(192)), flags = below(8), more = below(40);
    if (below(64) == 0)
        at += below(4096);
    switch (what) {
    case 0: {
        uint64_t i = below(MAPS);
        int shared = kinds[i] != PAGEOUT_KIND_ANON && below(2) == 0;
        uint64_t pgoff = below(64);
        flags |= below(4) != 0 ? PAGEOUT_VM_READ | PAGEOUT_VM_WRITE : 0;
        struct pageout_vma vma = {
            .mm = mm,
            .start = at,
            .end = end,
            .mapping = maps[i],
            .pgoff = kinds[i] == PAGEOUT_KIND_ANON ? at >> 12 : pgoff,
            .flags = flags | (shared ? PAGEOUT_VM_SHARED : 0),
        };
        return pageout_mmap(cpu, &vma);
    }
    case 1: return pageout_munmap(cpu, mm, at, end);
    case 2: return pageout_mprotect(cpu, mm, at, end, flags);
    case 3: return pageout_mremap(cpu, mm, at, end, to, to + (more << 12));
    case 4: return pageout_madvise(cpu, mm, at, end, flags % 7);
    case 5: return pageout_mlock(cpu, mm, at, end);
    default: return pageout_munlock(cpu, mm, at, end);
    }
}

/* Makes, copies or ends an address space. */
static int64_t change_process(uint64_t what)
{
    uint64_t i = below(MMS), from = below(MMS), old = mms[i];
    int64_t answer;
    if (what == 0 && below(64) == 0) {
        answer = pageout_exit_mm(cpu, old);
        if (answer == 0) {
            give_table(NULL, roots[i]);
            alive[i] = 0;
        }
        return answer;
    }
    if (alive[i])
        return pageout_lru_gen_use_mm(cpu, old);
    uint64_t root = take_table(NULL);
    if (root == PAGEOUT_NO_FRAME)
        return 300;
    answer = what == 1 ? pageout_add_mm(cpu, root, i + 1, &mms[i])
                       : pageout_fork(cpu, mms[from], root, i + 1, &mms[i]);
    if (answer != 0) {
        give_table(NULL, root);
        return answer;
    }
    roots[i] = root;
    alive[i] = 1;
    note(mms[i]);
    return 0;
}

static int64_t change_memcg(uint64_t what)
{
    uint64_t i = below(MEMCGS), of = memcgs[below(MEMCGS)], amount = below(160);
    uint64_t usage;
    int32_t answer;
    switch (what) {
    case 0:
        answer = pageout_add_memcg(cpu, of, &memcgs[i]);
        note(memcgs[i]);
        return answer;
    case 1: return pageout_remove_memcg(cpu, of);
    case 2: return pageout_set_max(cpu, of, amount < 30 ? UINT64_MAX : amount);
    case 3: return pageout_set_min(cpu, of, amount / 8);
    case 4: return pageout_set_low(cpu, of, amount / 4);
    case 5: return pageout_set_swappiness(cpu, of, 2 * amount);
    case 6: return pageout_set_memcg(cpu, mms[below(MMS)], of);
    default:
        answer = pageout_usage(cpu, of, &usage);
        if (answer == 0)
            note(usage);
        return answer;
    }
}

static int64_t reclaim(uint64_t what)
{
    uint64_t nr, youngest, oldest[2], memcg = memcgs[below(MEMCGS)], amount = below(64);
    char text[64];
    int32_t answer;
    switch (what) {
    case 0:
        answer = pageout_try_to_free_pages(cpu, &nr);
        note(nr);
        return answer;
    case 1:
        pageout_set_high_watermark(cpu, amount % 3, amount);
        return pageout_balance(cpu, amount % 3);
    case 2:
        snprintf(text, sizeof text, "%uK swappiness=%u", (unsigned)amount, (unsigned)amount * 4);
        answer = pageout_memory_reclaim(cpu, memcg, text, strlen(text), &nr);
        if (answer == 0)
            note(nr);
        return answer;
    case 3:
        return pageout_lru_gen_enable(cpu, amount < 48 ? 3 : amount % 10);
    default:
        answer = pageout_lru_gen_seqs(cpu, memcg, amount / 4 % 2, &youngest, &oldest);
        if (answer != 0)
            return answer;
        note3(youngest, oldest[0], oldest[1]);
        snprintf(text, sizeof text, "%c %u %u %llu %u %u", amount % 2 ? '+' : '-', (unsigned)memcg & 0xffff,
                 (unsigned)amount / 4 % 2,
                 (unsigned long long)(amount % 2 ? youngest : oldest[0] + amount % 3),
                 (unsigned)(amount % 5) * 50, (unsigned)amount);
        return pageout_lru_gen_write(cpu, text, strlen(text));
    }
}

/* Ends one transfer. */
static int64_t end_transfer(void)
{
    if (queued == 0)
        return 400;
    uint64_t i = below(queued), how = below(16);
    uint32_t result = how < 12 ? PAGEOUT_TRANSFER_DONE : PAGEOUT_TRANSFER_NO_SPACE + how % 4;
    uint64_t folio = queue[i].folio;
    int is_read = queue[i].is_read;
    queue[i] = queue[--queued];
    note(pageout_transfer_is_pending(cpu, folio));
    return is_read ? pageout_read_done(cpu, folio, result)
                   : pageout_write_done(cpu, folio, result);
}

static int64_t change_mapping(uint64_t what)
{
    uint64_t i = below(MAPS), page = below(96), memcg = memcgs[below(MEMCGS)], nr, pfn;
    uint64_t folio = PAGEOUT_NO_FOLIO;
    uint32_t order;
    int32_t answer;
    switch (what) {
    case 0:
        if (below(8) != 0)
            return 450;
        answer = pageout_remove_mapping(cpu, maps[i]);
        if (answer == 0) {
            kinds[i] = page % 3;
            note(pageout_add_mapping(cpu, kinds[i], &maps[i]));
            note(maps[i]);
        }
        return answer;
    case 1:
        answer = pageout_take_write_error(cpu, maps[i], &order);
        if (answer != 0)
            return answer;
        note(order);
        return pageout_set_size(cpu, maps[i], page < 10 ? page + 40 : BIT(40));
    case 2: return pageout_set_order(cpu, maps[i], page % 4);
    case 3:
        answer = pageout_truncate(cpu, maps[i], page, &folio);
        note(folio);
        return answer;
    case 4:
        answer = pageout_write_back(cpu, maps[i], page % 8, &nr);
        if (answer == 0)
            note(nr);
        return answer;
    case 5: {
        order = page % 3;
        pfn = take(NULL, order);
        if (pfn == PAGEOUT_NO_FRAME)
            return 500;
        struct pageout_folio new = {
            .mapping = maps[i],
            .index = page >> order << order,
            .pfn = pfn,
            .order = order,
            .memcg = memcg,
        };
        answer = pageout_add_folio(cpu, &new, &folio);
        if (answer != 0) {
            give(NULL, pfn, order);
            return answer;
        }
        note(folio);
        return pageout_release(cpu, folio, 1);
    }
    default:
        answer = pageout_get_folio(cpu, maps[i], page, &folio);
        if (answer != 0 || folio == PAGEOUT_NO_FOLIO)
            return answer;
        note(pageout_folio_frames(cpu, folio, &pfn, &order));
        note3(folio, pfn, order);
        note(page % 2 ? pageout_mark_accessed(cpu, folio) : pageout_note_dirty(cpu, folio));
        return pageout_release(cpu, folio, 1);
    }
}

static void note_stats(void)
{
    struct pageout_stat lines[80];
    int32_t nr = pageout_vmstat(cpu, lines, 80);
    for (int32_t k = 0; k < nr && k < 80; k++)
        note(lines[k].value);
    nr = pageout_memory_stat(cpu, 0, lines, 80);
    for (int32_t k = 0; k < nr && k < 80; k++)
        note(lines[k].value);
    nr = pageout_memory_events(cpu, 0, lines, 80);
    for (int32_t k = 0; k < nr && k < 80; k++)
        note(lines[k].value);
    uint64_t slots;
    struct pageout_events events;
    note(pageout_free_slots(cpu, &slots));
    note(slots);
    note(pageout_events(cpu, &events));
}

static int64_t one_case(void)
{
    uint64_t pick = below(64);
    clock_ms += below(20);
    if (pick < 36)
        return touch();
    if (pick < 46)
        return change_space(pick < 41 ? 0 : below(7));
    if (pick < 49)
        return change_process(pick % 3);
    if (pick < 52)
        return change_memcg(below(8));
    if (pick < 55)
        return reclaim(below(6));
    if (pick < 59)
        return end_transfer();
    if (pick < 63)
        return change_mapping(below(8));
    note_stats();
    return 600;
}

static int start(uint32_t of)
{
    struct pageout_setup setup = {
        .size = sizeof setup,
        .format = of,
        .limits =
            {
                .frames = FRAMES,
                .folios = FRAMES,
                .vmas = 96,
                .mms = MMS,
                .mappings = MAPS + MMS,
                .memcgs = MEMCGS,
                .nodes = 2,
                .shadows = 128,
                .slots = SLOTS,
                .filters = 4,
            },
        .first_frame = FIRST,
    };
    struct pageout_world world = {
        .size = sizeof world,
        .version = PAGEOUT_WORLD_VERSION,
        .alloc = take,
        .free = give,
        .alloc_table = take_table,
        .free_table = give_table,
        .zero = zero,
        .copy = copy,
        .free_pages = free_pages,
        .free_pages_on = free_pages_on,
        .read = read_in,
        .write = write_out,
        .table = table,
        .try_lock_table = try_lock_table,
        .unlock_table = unlock_table,
        .relax = relax,
        .now_ms = now_ms,
        .invalidate_range = invalidate_range,
        .invalidate_address_space = invalidate_address_space,
        .invalidate_everything = invalidate_everything,
        .publish = publish,
        .complete = complete,
        .range_limit = 64,
        .hardware = PAGEOUT_HARDWARE_ACCESSED_FLAG | PAGEOUT_HARDWARE_DIRTY_BIT,
        .cpus = 4,
    };
    struct pageout_engine *engine;
    size_t size;
    if (pageout_engine_size(&setup.limits, &size) != 0)
        return 0;
    uint8_t *bytes = malloc(size), *context = malloc(pageout_cpu_size());
    if (bytes == NULL || context == NULL)
        return 0;
    if (pageout_engine_init(bytes, size, &setup, &world, &engine) != 0 ||
        pageout_cpu_init(engine, context, pageout_cpu_size(), &cpu) != 0)
        return 0;
    format = of;
    memset(taken, 0, sizeof taken);
    memset(arena, 0, sizeof arena);
    memset(swap, 0, sizeof swap);
    memset(files, 0, sizeof files);
    memset(mms, 0, sizeof mms);
    memset(memcgs, 0, sizeof memcgs);
    memset(alive, 0, sizeof alive);
    queued = clock_ms = trace = 0;
    for (uint32_t k = 1; k < FRAMES / 32; k++)
        if (pageout_set_node_start(cpu, FIRST + 32 * k, k % 2) != 0)
            return 0;
    for (uint32_t i = 0; i < MAPS; i++) {
        kinds[i] = i % 3;
        if (pageout_add_mapping(cpu, kinds[i], &maps[i]) != 0)
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    uint64_t cases = strtoull(argv[2], NULL, 10);
    const uint32_t formats[] = {PAGEOUT_FORMAT_ARM64_4K, PAGEOUT_FORMAT_X86_64};
    for (int k = 0; k < 2; k++) {
        state = strtoull(argv[1], NULL, 10);
        if (!start(formats[k]))
            return 3;
        for (uint64_t left = cases; left > 0; left--) {
            int64_t answer = one_case();
            if (left == 1)
                for (size_t i = 0; i < FRAMES * WORDS; i++)
                    note(arena[i / WORDS][i % WORDS]);
            uint64_t record[2] = {(uint64_t)answer, trace};
            if (fwrite(record, sizeof record, 1, stdout) != 1)
                return 1;
        }
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
