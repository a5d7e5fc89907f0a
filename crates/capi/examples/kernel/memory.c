/* Frames from a stack of free ones, page tables with a lock each, swap in memory, and a file whose
 * content follows from the place. */
#include "memory.h"

#include "machine.h"

static struct {
    uint64_t words[FRAMES][PAGE_WORDS];
} pool __attribute__((aligned(4096)));

static uint64_t swap[SLOTS][PAGE_WORDS];

static uint32_t free_frames[FRAMES];
static uint64_t nr_free;
static uint8_t locked[FRAMES];
static struct counts counts;

static uint64_t first_frame(void)
{
    return ((uint64_t)&pool - OFFSET) >> PAGE_SHIFT;
}

uint64_t memory_init(void)
{
    for (nr_free = 0; nr_free < FRAMES; nr_free++)
        free_frames[nr_free] = FRAMES - 1 - (uint32_t)nr_free;
    counts.fewest_free = FRAMES;
    return first_frame();
}

uint64_t memory_free(void)
{
    return nr_free;
}

struct counts memory_counts(void)
{
    return counts;
}

uint64_t file_word(uint64_t page, uint64_t at)
{
    return (page << 32 | at) * 0x9e3779b97f4a7c15;
}

static uint64_t take(void *context, uint32_t order)
{
    (void)context;
    if (order != 0 || nr_free == 0)
        return PAGEOUT_NO_FRAME;
    nr_free--;
    if (nr_free < counts.fewest_free)
        counts.fewest_free = nr_free;
    return first_frame() + free_frames[nr_free];
}

static void give(void *context, uint64_t pfn, uint32_t order)
{
    (void)context;
    if (order != 0 || pfn - first_frame() >= FRAMES || nr_free == FRAMES)
        stop("a frame is freed that was not given");
    free_frames[nr_free++] = (uint32_t)(pfn - first_frame());
}

static void zero(void *context, uint64_t pfn, size_t nr)
{
    (void)context;
    for (uint64_t *word = words(pfn); word < words(pfn + nr); word++)
        *word = 0;
}

static void copy(void *context, uint64_t from, uint64_t to, size_t nr)
{
    (void)context;
    for (size_t k = 0; k < nr * PAGE_WORDS; k++)
        words(to)[k] = words(from)[k];
}

static uint64_t take_table(void *context)
{
    uint64_t pfn = take(context, 0);
    if (pfn != PAGEOUT_NO_FRAME)
        zero(context, pfn, 1);
    return pfn;
}

static void give_table(void *context, uint64_t pfn)
{
    give(context, pfn, 0);
}

uint64_t memory_take_table(void)
{
    return take_table(NULL);
}

void memory_give_table(uint64_t pfn)
{
    give_table(NULL, pfn);
}

static size_t free_pages(void *context)
{
    (void)context;
    return nr_free;
}

static uint32_t read(void *context, const struct pageout_io *io)
{
    (void)context;
    uint64_t *to = words(io->pfn);
    for (uint64_t page = io->at; page < io->at + io->nr; page++, to += PAGE_WORDS) {
        if (io->place == PAGEOUT_PLACE_FILE) {
            for (uint64_t k = 0; k < PAGE_WORDS; k++)
                to[k] = file_word(page, k);
            counts.file_reads++;
        } else {
            for (uint64_t k = 0; k < PAGE_WORDS; k++)
                to[k] = swap[page][k];
            counts.swapped_in++;
        }
    }
    return PAGEOUT_TRANSFER_DONE;
}

static uint32_t write(void *context, const struct pageout_io *io)
{
    (void)context;
    if (io->place != PAGEOUT_PLACE_SWAP)
        return PAGEOUT_TRANSFER_DEVICE; /* the file is only read */
    const uint64_t *from = words(io->pfn);
    for (uint64_t slot = io->at; slot < io->at + io->nr; slot++, from += PAGE_WORDS) {
        for (uint64_t k = 0; k < PAGE_WORDS; k++)
            swap[slot][k] = from[k];
        counts.swapped_out++;
    }
    return PAGEOUT_TRANSFER_DONE;
}

static uint64_t *table(void *context, uint64_t pfn)
{
    (void)context;
    return pfn - first_frame() < FRAMES ? words(pfn) : NULL;
}

/* With one CPU no lock is ever found taken. */
static int32_t try_lock_table(void *context, uint64_t pfn)
{
    (void)context;
    return !__atomic_test_and_set(&locked[pfn - first_frame()], __ATOMIC_ACQUIRE);
}

static void unlock_table(void *context, uint64_t pfn)
{
    (void)context;
    __atomic_clear(&locked[pfn - first_frame()], __ATOMIC_RELEASE);
}

static void relax(void *context)
{
    (void)context;
    __asm__ volatile("yield");
}

static uint64_t now_ms(void *context)
{
    (void)context;
    return milliseconds();
}

struct pageout_world memory_world(void)
{
    return (struct pageout_world){
        .size = sizeof(struct pageout_world),
        .version = PAGEOUT_WORLD_VERSION,
        .alloc = take,
        .free = give,
        .alloc_table = take_table,
        .free_table = give_table,
        .zero = zero,
        .copy = copy,
        .free_pages = free_pages,
        .read = read,
        .write = write,
        .table = table,
        .try_lock_table = try_lock_table,
        .unlock_table = unlock_table,
        .relax = relax,
        .now_ms = now_ms,
        .invalidate_range = tlb_range,
        .invalidate_address_space = tlb_address_space,
        .invalidate_everything = tlb_everything,
        .publish = tlb_publish,
        .complete = tlb_complete,
        .range_limit = 512,
        .hardware = hardware(),
        .cpus = 1,
    };
}
