/*
 * Threads of one engine, each a CPU with a process of its own: together they use more memory than
 * there is, so each reclaims the pages of the others. Every page is found as it was stored last.
 * A load or a store is made under the lock of the last page table, as no CPU here keeps
 * translations.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pageout.h"

#define FIRST   0x100
#define FRAMES  192
#define SLOTS   1024
#define WORDS   512
#define THREADS 4
#define PAGES   96
#define START   ((uint64_t)0x40000000)

static _Atomic uint64_t arena[FRAMES][WORDS] __attribute__((aligned(4096)));
static uint64_t swap[SLOTS];
static atomic_flag locks[FRAMES], supply = ATOMIC_FLAG_INIT;
static uint64_t free_frames[FRAMES], nr_free;
static atomic_ullong swapped, slept;
static atomic_int ready;
static _Thread_local uint32_t own;
static struct pageout_engine *engine;
static uint64_t accesses;

static void stop(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static int32_t good(int32_t answer)
{
    if (answer < 0)
        stop(pageout_error_text(answer));
    return answer;
}

static void lock(atomic_flag *flag)
{
    while (atomic_flag_test_and_set_explicit(flag, memory_order_acquire))
        sched_yield();
}

static void unlock(atomic_flag *flag)
{
    atomic_flag_clear_explicit(flag, memory_order_release);
}

static uint64_t take(void *context, uint32_t order)
{
    (void)context;
    lock(&supply);
    uint64_t pfn = order == 0 && nr_free > 0 ? free_frames[--nr_free] : PAGEOUT_NO_FRAME;
    unlock(&supply);
    return pfn;
}

static void give(void *context, uint64_t pfn, uint32_t order)
{
    (void)context;
    (void)order;
    lock(&supply);
    free_frames[nr_free++] = pfn;
    unlock(&supply);
}

static void zero(void *context, uint64_t pfn, size_t nr)
{
    (void)context;
    for (size_t k = 0; k < nr * WORDS; k++)
        atomic_store_explicit(&arena[pfn - FIRST][k], 0, memory_order_relaxed);
}

static void copy(void *context, uint64_t from, uint64_t to, size_t nr)
{
    (void)context;
    (void)nr; /* single pages */
    for (size_t k = 0; k < WORDS; k++)
        arena[to - FIRST][k] = arena[from - FIRST][k];
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

static size_t free_pages(void *context)
{
    (void)context;
    lock(&supply);
    size_t nr = nr_free;
    unlock(&supply);
    return nr;
}

static uint32_t read_in(void *context, const struct pageout_io *io)
{
    (void)context;
    zero(context, io->pfn, 1);
    arena[io->pfn - FIRST][0] = swap[io->at];
    return PAGEOUT_TRANSFER_DONE;
}

static uint32_t write_out(void *context, const struct pageout_io *io)
{
    (void)context;
    swap[io->at] = arena[io->pfn - FIRST][0];
    atomic_fetch_add(&swapped, 1);
    /*
     * Reclaim holds the tree of cgroups: let the first thread come to sleep for it once. It may
     * wait for this very folio, so no longer than this.
     */
    for (int turn = 0; turn < 1000 && own != 0 && slept == 0; turn++)
        sched_yield();
    return PAGEOUT_TRANSFER_DONE;
}

static uint64_t *table(void *context, uint64_t pfn)
{
    (void)context;
    return pfn - FIRST < FRAMES ? (uint64_t *)arena[pfn - FIRST] : NULL;
}

static int32_t try_lock_table(void *context, uint64_t pfn)
{
    (void)context;
    return !atomic_flag_test_and_set_explicit(&locks[pfn - FIRST], memory_order_acquire);
}

static void unlock_table(void *context, uint64_t pfn)
{
    (void)context;
    unlock(&locks[pfn - FIRST]);
}

static void relax(void *context)
{
    (void)context;
    sched_yield();
}

static void lock_table(void *context, uint64_t pfn)
{
    (void)context;
    lock(&locks[pfn - FIRST]);
}

/* One wait queue for all words: whoever is woken looks at its own again. */
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;

static void sleep_until(void *context, const uint32_t *word, uint32_t seen)
{
    (void)context;
    atomic_fetch_add(&slept, 1);
    pthread_mutex_lock(&bed);
    while (__atomic_load_n(word, __ATOMIC_RELAXED) == seen)
        pthread_cond_wait(&woken, &bed);
    pthread_mutex_unlock(&bed);
}

static void wake(void *context, const uint32_t *word)
{
    (void)context, (void)word;
    pthread_mutex_lock(&bed);
    pthread_cond_broadcast(&woken);
    pthread_mutex_unlock(&bed);
}

static uint64_t now_ms(void *context)
{
    static atomic_ullong ms;
    (void)context;
    return atomic_fetch_add(&ms, 1);
}

static void range(void *context, uint32_t asid, uint64_t start, size_t nr, uint32_t level)
{
    (void)context, (void)asid, (void)start, (void)nr, (void)level;
}

static void of_asid(void *context, uint32_t asid)
{
    (void)context, (void)asid;
}

static void nothing(void *context)
{
    (void)context;
}

/* Loads or stores the first word of a page as a CPU of x86-64 does. Returns 0 for a fault. */
static int access_page(uint64_t root, uint64_t addr, int write, uint64_t *word)
{
    uint64_t pfn = root;
    for (unsigned shift = 39; shift > 12; shift -= 9) {
        uint64_t entry = arena[pfn - FIRST][addr >> shift & 511];
        if (!(entry & 1))
            return 0;
        pfn = (entry & 0xfffffffff000) >> 12;
    }
    lock(&locks[pfn - FIRST]);
    _Atomic uint64_t *entry = &arena[pfn - FIRST][addr >> 12 & 511];
    int found = (*entry & 1) && (!write || (*entry & 2));
    if (found) {
        *entry |= write ? 0x60 : 0x20; /* accessed, dirty */
        uint64_t page = (*entry & 0xfffffffff000) >> 12;
        if (write)
            arena[page - FIRST][0] = *word;
        *word = arena[page - FIRST][0];
    }
    unlock(&locks[pfn - FIRST]);
    return found;
}

static void touch(struct pageout_cpu *cpu, uint64_t mm, uint64_t root, uint64_t addr, int write,
                  uint64_t *word)
{
    for (int tries = 0; !access_page(root, addr, write, word); tries++) {
        struct pageout_fault fault;
        uint32_t access = write ? PAGEOUT_ACCESS_WRITE : PAGEOUT_ACCESS_READ;
        good(pageout_handle_fault(cpu, mm, addr, access, &fault));
        if (fault.outcome > PAGEOUT_OUTCOME_MAJOR) {
            /* Others have isolated all that is left, for a moment. */
            int full = fault.outcome == PAGEOUT_OUTCOME_NO_FRAME ||
                       fault.outcome == PAGEOUT_OUTCOME_NO_PAGE_TABLE ||
                       fault.outcome == PAGEOUT_OUTCOME_TABLE_FULL;
            if (!full || tries > 100000) {
                fprintf(stderr, "outcome %u: ", fault.outcome);
                stop("an access failed");
            }
            sched_yield();
        }
    }
}

static void *run(void *argument)
{
    uint32_t number = own = *(uint32_t *)argument;
    uint64_t mm, mapping, nr, root = take_table(NULL), stored[PAGES] = {0}, state = number + 1;
    struct pageout_cpu *cpu;
    void *bytes = malloc(pageout_cpu_size());
    if (bytes == NULL)
        stop("no memory");
    good(pageout_cpu_init(engine, bytes, pageout_cpu_size(), &cpu));
    good(pageout_add_mm(cpu, root, number + 1, &mm));
    good(pageout_add_mapping(cpu, PAGEOUT_KIND_ANON, &mapping));
    struct pageout_vma vma = {
        .mm = mm,
        .start = START,
        .end = START + (PAGES << 12),
        .mapping = mapping,
        .pgoff = START >> 12,
        .flags = PAGEOUT_VM_READ | PAGEOUT_VM_WRITE,
    };
    good(pageout_mmap(cpu, &vma));
    atomic_fetch_add(&ready, 1);
    while (ready < THREADS)
        sched_yield();
    for (uint64_t k = 0; k < accesses; k++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint64_t page = state % PAGES, word = state;
        int write = state >> 40 & 1;
        touch(cpu, mm, root, START + (page << 12), write, &word);
        if (write)
            stored[page] = word;
        else if (word != stored[page])
            stop("a page lost its content");
        if (k % 512 == 0)
            good(pageout_balance(cpu, 0));
        if (k % 1024 == 512)
            good(pageout_try_to_free_pages(cpu, &nr));
        if (number == 0 && k % 16 == 0) { /* waits for all that reclaim */
            uint32_t group;
            good(pageout_add_memcg(cpu, 0, &group));
            good(pageout_remove_memcg(cpu, group));
        }
        if (number == 0 && k % 2048 == 0)
            good(pageout_lru_gen_enable(cpu, k % 4096 == 0 ? 3 : 0));
    }
    good(pageout_exit_mm(cpu, mm));
    good(pageout_remove_mapping(cpu, mapping));
    give_table(NULL, root);
    good(pageout_cpu_end(cpu));
    free(bytes);
    return NULL;
}

int main(int argc, char **argv)
{
    struct pageout_setup setup = {
        .size = sizeof setup,
        .format = PAGEOUT_FORMAT_X86_64,
        .limits = {.frames = FRAMES,
                   .folios = FRAMES,
                   .vmas = 16,
                   .mms = THREADS,
                   .mappings = THREADS,
                   .memcgs = 1,
                   .shadows = FRAMES,
                   .slots = SLOTS,
                   .filters = 2},
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
        .read = read_in,
        .write = write_out,
        .table = table,
        .try_lock_table = try_lock_table,
        .unlock_table = unlock_table,
        .relax = relax,
        .now_ms = now_ms,
        .invalidate_range = range,
        .invalidate_address_space = of_asid,
        .invalidate_everything = nothing,
        .publish = nothing,
        .complete = nothing,
        .range_limit = 34,
        .hardware = PAGEOUT_HARDWARE_ACCESSED_FLAG | PAGEOUT_HARDWARE_DIRTY_BIT |
                    PAGEOUT_HARDWARE_INTERRUPTS,
        .cpus = THREADS,
        .lock_table = lock_table,
        .sleep = sleep_until,
        .wake = wake,
    };
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS];
    size_t size;
    if (argc != 2)
        return 2;
    accesses = strtoull(argv[1], NULL, 10);
    while (nr_free < FRAMES) {
        free_frames[nr_free] = FIRST + nr_free;
        nr_free++;
    }
    good(pageout_engine_size(&setup.limits, &size));
    uint8_t *bytes = malloc(size);
    if (bytes == NULL)
        return 1;
    good(pageout_engine_init(bytes, size, &setup, &world, &engine));
    for (uint32_t k = 0; k < THREADS; k++) {
        numbers[k] = k;
        if (pthread_create(&threads[k], NULL, run, &numbers[k]) != 0)
            stop("no thread");
    }
    for (uint32_t k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    good(pageout_engine_end(engine));
    if (nr_free != FRAMES)
        stop("frames are lost");
    printf("%llu pages were written to swap, and %llu times a thread slept\n",
           (unsigned long long)swapped, (unsigned long long)slept);
    return swapped > accesses / 20 && slept > 0 ? 0 : 3;
}
