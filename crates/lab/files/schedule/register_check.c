/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random operations of mm on a few pages, each of which is a register: a load returns what was
 * stored last, through any mapping, from swap and from the disk too.
 *
 * One thread on each of three CPUs draws operations by the seed. A page has a lock, which loads,
 * stores, and what changes contents take; reclaim, compaction, write-back and fsync() go on beside
 * them. A thread that waits for a lock sleeps: to an emulator, a CPU that spins is dear.
 *
 * usage: register_check OPERATIONS [classic|mglru]
 */
#include "../reports/guest.h"

#include <sys/swap.h>
#include <sys/wait.h>

#include "pageout_schedule.h"

#define CPUS 3
#define PAGES 8 /* of each kind: few, so that threads meet */
#define SWAP_PAGES 1024
/* Addresses of mappings, each half in one page table and half in the next. */
#define PLACES 6
#define FIRST_PLACE (1UL << 40)
#define TABLE (1UL << 21)

enum kind { ANON, FILE_SHARED, KINDS };
static const char *const names[KINDS] = { "anonymous", "file" };

static volatile uint64_t *base[KINDS];
static volatile uint64_t *alias; /* of the file */
static int fd, reclaims, compacts;

/* The last store; `lazy`: MADV_FREE came after it, so that 0 is right too. */
static struct page {
	pthread_mutex_t locked;
	uint64_t value, lazy;
} pages[KINDS][PAGES];

struct thread {
	int cpu;
	uint64_t state, stored, operations;
};

static uint64_t waiting, ended;

static uint64_t draw(struct thread *t, uint64_t below)
{
	t->state ^= t->state << 13;
	t->state ^= t->state >> 7;
	t->state ^= t->state << 17;
	return (t->state * 0x2545f4914f6cdd1dULL >> 33) % below;
}

static void lock(struct page *page)
{
	must(!pthread_mutex_lock(&page->locked));
}

static void unlock(struct page *page)
{
	must(!pthread_mutex_unlock(&page->locked));
}

static void lock_all(enum kind kind, int first, int count)
{
	for (int i = first; i < first + count; i++)
		lock(&pages[kind][i]);
}

static void unlock_all(enum kind kind, int first, int count)
{
	for (int i = first; i < first + count; i++)
		unlock(&pages[kind][i]);
}

static volatile uint64_t *word(volatile uint64_t *of, int page)
{
	return of + page * PAGE / sizeof(*of);
}

/* The page is locked, or no other thread runs. */
static int is_right(enum kind kind, int number, uint64_t got)
{
	struct page *page = &pages[kind][number];

	if (got != page->value && page->lazy && !got)
		page->value = 0;
	return got == page->value;
}

static void load(enum kind kind, int number, const char *how, uint64_t got)
{
	if (!is_right(kind, number, got))
		schedule_check(0, "%s page %d %s: %#lx, last store %#lx", names[kind], number, how, got,
			       pages[kind][number].value);
}

/* Through a mapping, the other mapping of a file, or its descriptor. */
static void load_or_store(struct thread *t, enum kind kind, int number)
{
	static const char *const hows[] = { "mapped", "alias", "read" };
	struct page *page = &pages[kind][number];
	int how = kind == FILE_SHARED ? draw(t, 3) : 0, stores = draw(t, 2);
	volatile uint64_t *at;
	uint64_t value;

	lock(page);
	at = word(how ? alias : base[kind], number);
	if (how < 2)
		value = *at;
	else
		must(pread(fd, &value, sizeof(value), number * PAGE) == sizeof(value));
	load(kind, number, hows[how], value);
	if (stores) {
		value = (t->cpu + 1ULL) << 32 | ++t->stored;
		page->value = value;
		page->lazy = 0;
		if (how < 2)
			*at = value;
		else
			must(pwrite(fd, &value, sizeof(value), number * PAGE) == sizeof(value));
	}
	unlock(page);
}

/* All of a child's pages are what they were at the fork. */
static void fork_and_load(void)
{
	int status;
	pid_t child;

	for (int kind = 0; kind < KINDS; kind++)
		lock_all(kind, 0, PAGES);
	child = fork();
	if (!child) {
		for (int number = 0; number < PAGES; number++) {
			uint64_t got = *word(base[ANON], number);

			if (!is_right(ANON, number, got)) {
				schedule_check(0, "anonymous page %d of a child: %#lx, last store %#lx",
					       number, got, pages[ANON][number].value);
				_exit(1);
			}
		}
		_exit(0);
	}
	for (int kind = 0; kind < KINDS; kind++)
		unlock_all(kind, 0, PAGES);
	if (child > 0)
		must(waitpid(child, &status, 0) == child && !status);
}

/* Loads from the disk: nothing is left of the file in memory. */
static void drop_and_load(int first, int count)
{
	lock_all(FILE_SHARED, first, count);
	must(!fsync(fd));
	must(!madvise((void *)word(base[FILE_SHARED], first), count * PAGE, MADV_DONTNEED));
	must(!madvise((void *)word(alias, first), count * PAGE, MADV_DONTNEED));
	must(!posix_fadvise(fd, first * PAGE, count * PAGE, POSIX_FADV_DONTNEED));
	for (int i = first; i < first + count; i++) {
		uint64_t got;

		must(pread(fd, &got, sizeof(got), i * PAGE) == sizeof(got));
		load(FILE_SHARED, i, "of the disk", got);
	}
	unlock_all(FILE_SHARED, first, count);
}

/* Pages that are empty afterwards. */
static void empty(enum kind kind, int first, int count)
{
	lock_all(kind, first, count);
	if (kind == ANON)
		must(!madvise((void *)word(base[ANON], first), count * PAGE, MADV_DONTNEED));
	else /* as truncation does, on a part of the file */
		must(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first * PAGE,
				count * PAGE));
	for (int i = first; i < first + count; i++)
		pages[kind][i].value = pages[kind][i].lazy = 0;
	unlock_all(kind, first, count);
}

static void free_lazily(int first, int count)
{
	lock_all(ANON, first, count);
	must(!madvise((void *)word(base[ANON], first), count * PAGE, MADV_FREE));
	for (int i = first; i < first + count; i++)
		pages[ANON][i].lazy = 1;
	unlock_all(ANON, first, count);
}

static void sync_file(void)
{
	must(!fsync(fd));
}

static void protect(enum kind kind, int first, int count)
{
	void *at;

	lock_all(kind, first, count);
	at = (void *)word(base[kind], first);
	must(!mprotect(at, count * PAGE, PROT_READ));
	for (int i = first; i < first + count; i++)
		load(kind, i, "read-only", *word(base[kind], i));
	must(!mprotect(at, count * PAGE, PROT_READ | PROT_WRITE));
	unlock_all(kind, first, count);
}

/* Maps at a place that nothing has. */
static void *map_at_place(int protection, int flags, int of)
{
	static uint64_t next;
	void *at;

	do {
		uint64_t place = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % PLACES;

		at = (void *)(FIRST_PLACE + (2 * place + 1) * TABLE - PAGES / 2 * PAGE);
		at = mmap(at, PAGES * PAGE, protection, flags | MAP_FIXED_NOREPLACE, of, 0);
	} while (at == MAP_FAILED && errno == EEXIST);
	must(at != MAP_FAILED);
	return at;
}

/* Moves all pages of a kind, and the alias of the file is mapped anew. */
static void move(enum kind kind)
{
	void *old, *to;

	lock_all(kind, 0, PAGES);
	old = (void *)base[kind];
	to = map_at_place(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	must(mremap(old, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	base[kind] = to;
	if (kind == FILE_SHARED) {
		must(!munmap((void *)alias, PAGES * PAGE));
		alias = map_at_place(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	}
	unlock_all(kind, 0, PAGES);
}

/* Unmaps pages, and maps new ones in their place. */
static void map_again(enum kind kind, int first, int count)
{
	int flags = kind == ANON ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *at;

	lock_all(kind, first, count);
	at = (void *)word(base[kind], first);
	must(!munmap(at, count * PAGE));
	must(mmap(at, count * PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE,
		  kind == ANON ? -1 : fd, first * PAGE) == at);
	for (int i = first; i < first + count && kind == ANON; i++)
		pages[kind][i].value = pages[kind][i].lazy = 0;
	unlock_all(kind, first, count);
}

/* Has the LRUs scanned until a page is taken; they may have none. */
static void reclaim(void)
{
	must(pwrite(reclaims, "4096", 4, 0) == 4 || errno == EAGAIN);
}

static void advise(enum kind kind, int first, int count, int advice)
{
	/* Mappings may be moved meanwhile: then there is nothing to advise. */
	if (madvise((void *)word(base[kind], first), count * PAGE, advice))
		must(errno == ENOMEM || errno == EINVAL);
}

enum operation { ACCESS, PAGEOUT, COLD, EMPTY, FREE_OR_SYNC, PROTECT, MOVE, DROP, MAP, RECLAIM, FORK,
		 COMPACT, OPERATIONS };

/* Of 1000 draws. Those that take an emulator longest are rare. */
static const struct {
	const char *name;
	int draws;
} operations[OPERATIONS] = {
	[ACCESS] = { "load or store", 641 },
	[PAGEOUT] = { "MADV_PAGEOUT", 125 },
	[COLD] = { "MADV_COLD", 25 },
	[EMPTY] = { "empty", 50 },
	[FREE_OR_SYNC] = { "MADV_FREE or fsync", 50 },
	[PROTECT] = { "mprotect", 25 },
	[MOVE] = { "mremap", 20 },
	[DROP] = { "drop", 20 },
	[MAP] = { "munmap and mmap", 20 },
	[RECLAIM] = { "memory.reclaim", 15 },
	[FORK] = { "fork", 7 },
	[COMPACT] = { "compact", 2 },
};

static enum operation draw_operation(struct thread *t)
{
	int left = draw(t, 1000);
	enum operation operation = ACCESS;

	while (left >= operations[operation].draws)
		left -= operations[operation++].draws;
	return operation;
}

static void operate(struct thread *t)
{
	enum kind kind = draw(t, KINDS);
	int first = draw(t, PAGES), count = 1 + draw(t, PAGES - first);
	enum operation operation = draw_operation(t);

	if (operation != ACCESS)
		schedule_event("%s %d+%d: %s", names[kind], first, count,
			       operations[operation].name);
	switch (operation) {
	case ACCESS:
		return load_or_store(t, kind, first);
	case PAGEOUT:
		return advise(kind, first, count, MADV_PAGEOUT);
	case COLD:
		return advise(kind, first, count, MADV_COLD);
	case EMPTY:
		return empty(kind, first, count);
	case FREE_OR_SYNC:
		return kind == ANON ? free_lazily(first, count) : sync_file();
	case PROTECT:
		return protect(kind, first, count);
	case MOVE:
		return move(kind);
	case DROP:
		return drop_and_load(first, count);
	case MAP:
		return map_again(kind, first, count);
	case RECLAIM:
		return reclaim();
	case FORK:
		return fork_and_load();
	case COMPACT:
		must(pwrite(compacts, "1", 1, 0) == 1);
		return;
	case OPERATIONS:
		die("an operation", __LINE__);
	}
}

static void *work(void *of)
{
	struct thread *t = of;

	pin(t->cpu);
	__atomic_add_fetch(&waiting, 1, __ATOMIC_ACQ_REL);
	while (LOAD(waiting) <= CPUS)
		schedule_relax();
	t->state = (schedule_seed() * CPUS + t->cpu + 1) * 0x9e3779b97f4a7c15ULL;
	for (uint64_t i = 0; i < t->operations; i++)
		operate(t);
	__atomic_add_fetch(&ended, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

/* A swap area, as mkswap writes it, on the second RAM disk. */
static void swap_on(void)
{
	static uint32_t head[PAGE / sizeof(uint32_t)];
	int disk = open("/dev/ram1", O_RDWR);

	must(disk >= 0);
	head[1024 / 4] = 1; /* version */
	head[1024 / 4 + 1] = SWAP_PAGES - 1; /* the last page */
	memcpy((char *)head + PAGE - 10, "SWAPSPACE2", 10);
	must(write(disk, head, PAGE) == PAGE && !fsync(disk));
	close(disk);
	must(!swapon("/dev/ram1", 0));
}

static void write_to(const char *path, const char *text)
{
	int to = open(path, O_WRONLY);

	must(to >= 0 && write(to, text, strlen(text)) == (ssize_t)strlen(text));
	close(to);
}

/* Moves the program into a cgroup of its own, on one of the LRUs. */
static void use_lru(const char *lru)
{
	must(!mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL));
	write_to("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	must(!mkdir("/sys/fs/cgroup/r", 0755));
	write_to("/sys/fs/cgroup/r/cgroup.procs", "0");
	write_to("/sys/kernel/mm/lru_gen/enabled", strcmp(lru, "mglru") ? "n" : "y");
	reclaims = open("/sys/fs/cgroup/r/memory.reclaim", O_WRONLY);
	compacts = open("/proc/sys/vm/compact_memory", O_WRONLY);
	must(reclaims >= 0 && compacts >= 0);
}

/* Faults bring folios of 4 pages, and the first write to the file one of all. */
static void use_large_folios(void)
{
	static const char zeros[PAGES * PAGE];

	write_to("/sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled", "always");
	must(pwrite(fd, zeros, sizeof(zeros), 0) == sizeof(zeros));
}

/* A page that reads as zeros afterwards is wrong, unless it was emptied. */
static void store_to_all(void)
{
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < PAGES; i++)
			*word(base[kind], i) = pages[kind][i].value = i + 1;
}

int main(int argc, char **argv)
{
	static struct thread threads[CPUS];

	begin();
	if (argc < 2 || (argc > 2 && strcmp(argv[2], "classic") && strcmp(argv[2], "mglru")))
		die("usage: register_check OPERATIONS [classic|mglru]", __LINE__);
	swap_on();
	use_lru(argc > 2 ? argv[2] : "classic");
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < PAGES; i++)
			must(!pthread_mutex_init(&pages[kind][i].locked, NULL));
	fd = open("register.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && !ftruncate(fd, PAGES * PAGE));
	use_large_folios();
	base[ANON] = map_at_place(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	base[FILE_SHARED] = map_at_place(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	alias = map_at_place(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	store_to_all();
	for (int i = 0; i < CPUS; i++) {
		threads[i].cpu = i;
		threads[i].operations = strtoull(argv[1], NULL, 0);
		start(work, &threads[i]);
	}
	pin(0);
	while (LOAD(waiting) != CPUS)
		usleep(1000);
	schedule_begin();
	__atomic_add_fetch(&waiting, 1, __ATOMIC_ACQ_REL);
	while (LOAD(ended) != CPUS)
		usleep(1000);
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < PAGES; i++)
			load(kind, i, "at the end", *word(base[kind], i));
	drop_and_load(0, PAGES);
	schedule_check(1, "unused");
	schedule_end();
	finish(0);
}
