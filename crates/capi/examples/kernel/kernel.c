/*
 * A kernel in C that leaves its memory to the engine: one process, in a cgroup, uses several times
 * as much memory as its limit and as there is. It stores to pages, reads a file, forks, and finds
 * every word that it stored last. `cargo xtask test kernel` boots it under QEMU.
 */
#include "machine.h"
#include "memory.h"
#include "pageout.h"

#define PAGES      384 /* of anonymous memory */
#define FILE_PAGES 128
#define LIMIT      96 /* of the cgroup */
#define ROUNDS     6
#define ANON       ((uint64_t)0x10000000)
#define FILE_START ((uint64_t)0x7f0000000000)

/* The engine's bytes. */
static uint8_t engine_bytes[1 << 20] __attribute__((aligned(64)));
static uint8_t cpu_bytes[1 << 16] __attribute__((aligned(64)));

static struct pageout_cpu *cpu;
/* The process that runs: its address space, and what it stored last to each page. */
static uint64_t running;
static uint64_t stored[PAGES];
static uint64_t faults, major_faults;

/* Ends the machine if a call was refused. */
static int32_t good(int32_t answer)
{
    if (answer < 0)
        stop(pageout_error_text(answer));
    return answer;
}

/* An exception of an access to the process's memory, which is tried again after it. */
void kernel_fault(uint64_t syndrome, uint64_t addr)
{
    uint64_t class = syndrome >> 26, kind = syndrome >> 2 & 0xf;
    if (class != 0x25 || kind < 1 || kind > 3 || addr >> 48 != 0)
        stop("the kernel itself faulted");
    uint32_t access = syndrome >> 6 & 1 ? PAGEOUT_ACCESS_WRITE : PAGEOUT_ACCESS_READ;
    struct pageout_fault fault;
    good(pageout_handle_fault(cpu, running, addr, access, &fault));
    faults++;
    if (fault.outcome == PAGEOUT_OUTCOME_MAJOR)
        major_faults++;
    else if (fault.outcome != PAGEOUT_OUTCOME_MINOR)
        stop("the process's access failed");
}

_Noreturn void kernel_unexpected(uint64_t syndrome, uint64_t addr, uint64_t at)
{
    print_number("kernel: exception ", syndrome, "");
    print_number(", address ", addr, "");
    print_number(", at ", at, "\n");
    power_off(1);
}

/* A bug of the library ends here. */
void pageout_panic(const uint8_t *message, size_t len)
{
    char text[2] = "";
    print("pageout: ");
    for (size_t k = 0; k < len; k++) {
        text[0] = (char)message[k];
        print(text);
    }
    stop("");
}

static uint64_t draw(void)
{
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static uint64_t word_of(uint64_t page, uint64_t at, uint64_t version)
{
    return (page << 44 | version << 16 | at) * 0x9e3779b97f4a7c15;
}

static void store_page(uint64_t page, uint64_t version)
{
    for (uint64_t k = 0; k < PAGE_WORDS; k++)
        user_store(ANON + page * PAGE_SIZE + 8 * k, word_of(page, k, version));
}

static void check_page(uint64_t page, uint64_t version)
{
    for (uint64_t k = 0; k < PAGE_WORDS; k++) {
        uint64_t expected = version == 0 ? 0 : word_of(page, k, version);
        if (user_load(ANON + page * PAGE_SIZE + 8 * k) != expected)
            stop("a page lost its content");
    }
}

static void check_file_page(uint64_t page)
{
    for (uint64_t k = 0; k < PAGE_WORDS; k++) {
        if (user_load(FILE_START + page * PAGE_SIZE + 8 * k) != file_word(page, k))
            stop("the file has other content");
    }
}

static void switch_to(uint64_t mm, uint64_t root, uint32_t asid)
{
    good(pageout_lru_gen_use_mm(cpu, mm));
    running = mm;
    run_in(root, asid);
}

static void boot(uint64_t first)
{
    struct pageout_setup setup = {
        .size = sizeof setup,
        .format = PAGEOUT_FORMAT_ARM64_4K,
        .limits =
            {
                .frames = FRAMES,
                .folios = FRAMES,
                .vmas = 16,
                .mms = 2,
                .mappings = 4,
                .memcgs = 1,
                .shadows = FRAMES,
                .slots = SLOTS,
                .filters = 4,
            },
        .first_frame = first,
    };
    struct pageout_world world = memory_world();
    struct pageout_engine *engine;
    size_t size;
    good(pageout_engine_size(&setup.limits, &size));
    print_number("cpu: sets flags ", hardware(), "\n");
    print_number("engine: ", size, " bytes of tables, ");
    print_number("", pageout_cpu_size(), " bytes for the CPU\n");
    good(pageout_engine_init(engine_bytes, sizeof engine_bytes, &setup, &world, &engine));
    good(pageout_cpu_init(engine, cpu_bytes, sizeof cpu_bytes, &cpu));
    good(pageout_lru_gen_enable(cpu, PAGEOUT_LRU_GEN_CORE | PAGEOUT_LRU_GEN_MM_WALK));
    good(pageout_set_high_watermark(cpu, 0, 16));
}

static void map(uint64_t mm, uint32_t kind, uint64_t start, uint64_t pages, uint64_t *mapping)
{
    int is_file = kind == PAGEOUT_KIND_FILE;
    good(pageout_add_mapping(cpu, kind, mapping));
    struct pageout_vma vma = {
        .mm = mm,
        .start = start,
        .end = start + pages * PAGE_SIZE,
        .mapping = *mapping,
        .pgoff = is_file ? 0 : start >> PAGE_SHIFT,
        .flags = is_file ? PAGEOUT_VM_READ | PAGEOUT_VM_SHARED : PAGEOUT_VM_READ | PAGEOUT_VM_WRITE,
    };
    good(pageout_mmap(cpu, &vma));
}

/* Stores to pages and reads them, in no order; now and then the kernel ages and reclaims. */
static void run_process(uint32_t memcg)
{
    for (uint64_t version = 1; version <= ROUNDS; version++) {
        for (uint64_t k = 0; k < PAGES; k++) {
            uint64_t page = draw() % PAGES, other = draw() % PAGES;
            store_page(page, version);
            stored[page] = version;
            check_page(other, stored[other]);
            check_file_page(draw() % FILE_PAGES);
            uint64_t usage;
            good(pageout_usage(cpu, memcg, &usage));
            if (usage > LIMIT)
                stop("the cgroup is over its limit");
        }
        static const char age[] = "+ 1 0 0";
        good(pageout_lru_gen_write(cpu, age, sizeof age - 1));
        good(pageout_balance(cpu, 0));
    }
    for (uint64_t page = 0; page < PAGES; page++)
        check_page(page, stored[page]);
}

/* Both processes store to pages that they share, and see only their own stores. No limit holds, so
 * they use all frames, and faults reclaim. */
static void run_child(uint64_t parent, uint64_t root, uint32_t memcg)
{
    uint64_t child_root = memory_take_table(), child;
    if (child_root == PAGEOUT_NO_FRAME)
        stop("no frame for a root table");
    good(pageout_set_max(cpu, memcg, UINT64_MAX));
    good(pageout_fork(cpu, parent, child_root, 2, &child));
    switch_to(child, child_root, 2);
    for (uint64_t page = 0; page < PAGES; page += 3)
        store_page(page, ROUNDS + 1);
    for (uint64_t page = 0; page < PAGES; page++)
        check_page(page, page % 3 == 0 ? ROUNDS + 1 : stored[page]);
    switch_to(parent, root, 1);
    for (uint64_t page = 0; page < PAGES; page++)
        check_page(page, stored[page]);
    good(pageout_exit_mm(cpu, child));
    memory_give_table(child_root);
}

static void report(void)
{
    struct pageout_stat lines[64];
    int32_t nr = good(pageout_vmstat(cpu, lines, 64));
    for (int32_t k = 0; k < nr && k < 64; k++) {
        if (lines[k].value == 0)
            continue;
        for (size_t at = 0; at < lines[k].name_len; at++) {
            char text[2] = {lines[k].name[at], '\0'};
            print(text);
        }
        print_number(" ", lines[k].value, "\n");
    }
}

void kernel_main(void)
{
    uint64_t first = memory_init(), root, mm, anon, file, reclaimed;
    uint32_t memcg;
    uint64_t folio;
    stack_mark();
    boot(first);
    root = memory_take_table();
    good(pageout_add_mm(cpu, root, 1, &mm));
    good(pageout_add_memcg(cpu, 0, &memcg));
    good(pageout_set_max(cpu, memcg, LIMIT));
    good(pageout_set_memcg(cpu, mm, memcg));
    map(mm, PAGEOUT_KIND_ANON, ANON, PAGES, &anon);
    map(mm, PAGEOUT_KIND_FILE, FILE_START, FILE_PAGES, &file);
    switch_to(mm, root, 1);

    run_process(memcg);
    run_child(mm, root, memcg);
    static const char request[] = "64K";
    good(pageout_memory_reclaim(cpu, memcg, request, sizeof request - 1, &reclaimed));
    if (reclaimed < 16)
        stop("less was reclaimed than asked");
    report();

    good(pageout_exit_mm(cpu, mm));
    if (pageout_exit_mm(cpu, mm) != PAGEOUT_ERROR_ADDRESS_SPACE)
        stop("a process ended twice");
    good(pageout_truncate(cpu, file, 0, &folio));
    good(pageout_remove_mapping(cpu, file));
    good(pageout_remove_mapping(cpu, anon));
    memory_give_table(root);
    if (memory_free() != FRAMES)
        stop("frames are lost");

    struct counts counts = memory_counts();
    print_number("faults ", faults, "");
    print_number(", of which read ", major_faults, "\n");
    print_number("swapped out ", counts.swapped_out, "");
    print_number(", in ", counts.swapped_in, "");
    print_number("; file pages read ", counts.file_reads, "");
    print_number("; fewest free frames ", counts.fewest_free, "");
    print_number("; stack ", stack_used(), " bytes\n");
    if (counts.fewest_free != 0 || counts.swapped_out < PAGES || counts.swapped_in < PAGES || counts.file_reads < FILE_PAGES)
        stop("there was little reclaim");
    print("all is well\n");
    power_off(0);
}
