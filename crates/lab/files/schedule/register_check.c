/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random operations of mm on a few pages, each of which is a register: a load returns what was
 * stored last, through any mapping, from swap and from the disk too.
 *
 * One thread on each of three CPUs draws operations by the seed, the last one only loads and stores.
 * A page has a lock, which loads, stores, and what changes contents take; reclaim, compaction,
 * write-back and fsync() go on beside them. A thread that waits for a lock sleeps: to an emulator, a
 * CPU that spins is dear.
 *
 * usage: register_check OPERATIONS [classic|mglru]
 */
#include "../reports/guest.h"

#include <linux/mempolicy.h>
#include <sys/swap.h>
#include <sys/wait.h>

#include "pageout_schedule.h"

#define CPUS 3
#define PAGES 8 /* of each kind: few, so that threads meet */
#define SWAP_PAGES 1024
#define END_OF_MEMORY (40UL << 20)
#define MOST_ACCESSES 64 /* of one operation, by a mapping */
#define WRITE_BACK \
	(SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)
/* Addresses of a kind's mappings, each partly in one page table and partly in the next. */
#define PLACES 4
#define FIRST_PLACE (1UL << 40)
#define TABLE (1UL << 21)

enum kind { ANON, FILE_SHARED, KINDS };
static const char *const names[KINDS] = { "anonymous", "file" };
/* Pages in the first page table: folios of a file reach into the second. */
static const int before[KINDS] = { 4, 3 };

static volatile uint64_t *base[KINDS];
static volatile uint64_t *alias; /* of the file */
static int fd, direct, references, reclaims, compacts;

/* The last store; `lazy`: MADV_FREE came after it, so that 0 is right too. */
static struct page {
	pthread_mutex_t locked;
	uint64_t value, lazy;
} pages[KINDS][PAGES];

struct thread {
	int cpu;
	uint64_t state, stored, operations;
	char buffer[PAGE] __attribute__((aligned(PAGE))); /* for what is read from the disk */
};

static uint64_t waiting, ended;
static const char zeros[PAGES * PAGE];

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

/* Ways to a page: a mapping, and for a file the other mapping, its descriptor and the disk. */
enum way { MAPPED, ALIAS, READ, DISK, WAYS };
static const char *const ways[WAYS] = { "mapped", "alias", "read", "of the disk" };

static enum way draw_way(struct thread *t, enum kind kind)
{
	return kind == FILE_SHARED ? draw(t, WAYS) : MAPPED;
}

static uint64_t load_by(struct thread *t, enum kind kind, int number, enum way way)
{
	uint64_t value;

	switch (way) {
	case MAPPED:
		return *word(base[kind], number);
	case ALIAS:
		return *word(alias, number);
	case READ:
		must(pread(fd, &value, sizeof(value), number * PAGE) == sizeof(value));
		return value;
	default: /* The kernel writes a page that it knows to be dirty before. */
		/* A store to another page of the folio gives this one a block: iomap_dio_iter(). */
		while (pread(direct, t->buffer, PAGE, number * PAGE) != PAGE)
			must(errno == EIO);
		return *(uint64_t *)t->buffer;
	}
}

static void store_by(struct thread *t, enum kind kind, int number, enum way way)
{
	uint64_t value = (t->cpu + 1ULL) << 32 | ++t->stored;

	pages[kind][number].value = value;
	pages[kind][number].lazy = 0;
	if (way == MAPPED || way == ALIAS)
		*word(way == MAPPED ? base[kind] : alias, number) = value;
	else
		must(pwrite(fd, &value, sizeof(value), number * PAGE) == sizeof(value));
}

/*
 * Goes on loading from a page, and storing to it, while other CPUs reclaim it, write it back or
 * migrate it: this CPU's TLB keeps what it is not asked to flush. The last load goes another way.
 */
static void load_and_store(struct thread *t, enum kind kind, int number)
{
	enum way way = draw_way(t, kind);
	int stores = draw(t, 2), left = 1 + draw(t, way == MAPPED || way == ALIAS ? MOST_ACCESSES : 2);

	lock(&pages[kind][number]);
	for (; left; left--) {
		load(kind, number, ways[way], load_by(t, kind, number, way));
		if (stores)
			store_by(t, kind, number, way);
		schedule_relax();
	}
	way = draw_way(t, kind);
	load(kind, number, ways[way], load_by(t, kind, number, way));
	unlock(&pages[kind][number]);
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

/* Pages that are empty afterwards. Those of a file may be written at once, as one folio or few. */
static void empty(struct thread *t, enum kind kind, int first, int count)
{
	lock_all(kind, first, count);
	if (kind == ANON)
		must(!madvise((void *)word(base[ANON], first), count * PAGE, MADV_DONTNEED));
	else /* as truncation does, on a part of the file */
		must(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first * PAGE,
				count * PAGE));
	if (kind == FILE_SHARED && draw(t, 2))
		must(pwrite(fd, zeros, count * PAGE, first * PAGE) == (ssize_t)(count * PAGE));
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
static void *map_at_place(enum kind kind, int protection, int flags, int of)
{
	static uint64_t next;
	void *at;

	do {
		uint64_t place = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % PLACES;

		place += kind * PLACES;
		at = (void *)(FIRST_PLACE + (2 * place + 1) * TABLE - before[kind] * PAGE);
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
	to = map_at_place(kind, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	must(mremap(old, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	base[kind] = to;
	if (kind == FILE_SHARED) {
		must(!munmap((void *)alias, PAGES * PAGE));
		alias = map_at_place(FILE_SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
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

/* Has the LRUs scanned, as if no page was used lately, until some are taken; they may have none. */
static void reclaim(struct thread *t)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%lu", (1 + draw(t, PAGES)) * PAGE);

	must(pwrite(references, "1", 1, 0) == 1);
	must(pwrite(reclaims, text, length, 0) == length || errno == EAGAIN);
}

static void advise(volatile uint64_t *of, int first, int count, int advice)
{
	/* Mappings may be moved meanwhile: then there is nothing to advise. */
	if (madvise((void *)word(of, first), count * PAGE, advice))
		must(errno == ENOMEM || errno == EINVAL);
}

/*
 * MADV_PAGEOUT leaves what is mapped twice, dirty pages of a file, and what another CPU has yet to
 * put into an LRU. So the other mapping is zapped, the pages are written, and advice to drop them has
 * all CPUs put theirs there. If the mapping is moved meanwhile, the other one may be where it was, never one
 * of another kind.
 */
static void page_out(struct thread *t, enum kind kind, int first, int count)
{
	int by_alias = kind == FILE_SHARED && draw(t, 2);

	if (kind == FILE_SHARED) {
		advise(by_alias ? base[kind] : alias, first, count, MADV_DONTNEED);
		if (draw(t, 2)) {
			must(!sync_file_range(fd, first * PAGE, count * PAGE, WRITE_BACK));
			must(!posix_fadvise(fd, first * PAGE, count * PAGE, POSIX_FADV_DONTNEED));
		}
	}
	advise(by_alias ? alias : base[kind], first, count, MADV_PAGEOUT);
}

/*
 * To another node, where the machine has several; some may not be there, or be in use. A page of the
 * file is mapped twice: such pages are migrated only if all are asked for.
 */
static void migrate(struct thread *t, enum kind kind, int first, int count)
{
	void *each[PAGES];
	int nodes[PAGES], results[PAGES], node = draw(t, 2);

	for (int i = 0; i < count; i++) {
		each[i] = (void *)word(base[kind], first + i);
		nodes[i] = node;
	}
	if (syscall(SYS_move_pages, 0, (long)count, each, nodes, results, MPOL_MF_MOVE_ALL) < 0)
		must(errno == ENOSYS || errno == ENODEV || errno == ENOENT);
}

enum operation { ACCESS, PAGEOUT, COLD, EMPTY, FREE_OR_SYNC, PROTECT, MOVE, DROP, MAP, RECLAIM, FORK,
		 MIGRATE, COMPACT, OPERATIONS };

/* Of 1000 draws. Those that take an emulator longest are rare. */
static const struct {
	const char *name;
	int draws;
} operations[OPERATIONS] = {
	[ACCESS] = { "load and store", 500 },
	[PAGEOUT] = { "MADV_PAGEOUT", 196 },
	[COLD] = { "MADV_COLD", 20 },
	[EMPTY] = { "empty", 50 },
	[FREE_OR_SYNC] = { "MADV_FREE or fsync", 60 },
	[PROTECT] = { "mprotect", 25 },
	[MOVE] = { "mremap", 25 },
	[DROP] = { "drop", 30 },
	[MAP] = { "munmap and mmap", 30 },
	[RECLAIM] = { "memory.reclaim", 24 },
	[FORK] = { "fork", 8 },
	[MIGRATE] = { "move_pages", 30 },
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

static void operate(struct thread *t, enum operation operation)
{
	enum kind kind = draw(t, KINDS);
	int is_all = !draw(t, 4), first = is_all ? 0 : draw(t, PAGES);
	int count = is_all ? PAGES : 1 + draw(t, PAGES - first);

	if (operation != ACCESS)
		schedule_event("%s %d+%d: %s", names[kind], first, count,
			       operations[operation].name);
	switch (operation) {
	case ACCESS:
		return load_and_store(t, kind, first + draw(t, count));
	case PAGEOUT:
		return page_out(t, kind, first, count);
	case COLD:
		return advise(base[kind], first, count, MADV_COLD);
	case EMPTY:
		return empty(t, kind, first, count);
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
		return reclaim(t);
	case FORK:
		return fork_and_load();
	case MIGRATE:
		return migrate(t, kind, first, count);
	case COMPACT:
		must(pwrite(compacts, "1", 1, 0) == 1);
		return;
	case OPERATIONS:
		die("an operation", __LINE__);
	}
}

static void begin_work(struct thread *t)
{
	pin(t->cpu);
	__atomic_add_fetch(&waiting, 1, __ATOMIC_ACQ_REL);
	while (LOAD(waiting) <= CPUS)
		schedule_relax();
	t->state = (schedule_seed() * CPUS + t->cpu + 1) * 0x9e3779b97f4a7c15ULL;
}

static void *work(void *of)
{
	struct thread *t = of;

	begin_work(t);
	for (uint64_t i = 0; i < t->operations; i++)
		operate(t, draw_operation(t));
	__atomic_add_fetch(&ended, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

/* Only loads and stores, as long as the others work. */
static void *access_only(void *of)
{
	struct thread *t = of;

	begin_work(t);
	while (LOAD(ended) != CPUS - 1)
		operate(t, ACCESS);
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
	references = open("/proc/self/clear_refs", O_WRONLY);
	must(reclaims >= 0 && compacts >= 0 && references >= 0);
}

/* Faults bring folios of 4 pages, and the first write to the file one of all. */
static void use_large_folios(void)
{
	write_to("/sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled", "always");
	must(pwrite(fd, zeros, sizeof(zeros), 0) == sizeof(zeros));
}

/*
 * Takes what the initial RAM disk left at the end of memory. Pages would come from there, and stay:
 * compaction moves pages up. Nothing maps it, since fork() and clear_refs would go through it.
 */
static void take_end_of_memory(void)
{
	int end = memfd_create("end of memory", 0);

	must(end >= 0 && !fallocate(end, 0, 0, END_OF_MEMORY));
}

/* A page that reads as zeros afterwards is wrong, unless it was emptied. Faults map the file in the search. */
static void store_to_all(void)
{
	for (uint64_t i = 0; i < PAGES; i++) {
		uint64_t value = pages[ANON][i].value = pages[FILE_SHARED][i].value = i + 1;

		*word(base[ANON], i) = value;
		must(pwrite(fd, &value, sizeof(value), i * PAGE) == sizeof(value));
	}
}

int main(int argc, char **argv)
{
	static struct thread threads[CPUS];

	begin();
	if (argc < 2 || (argc > 2 && strcmp(argv[2], "classic") && strcmp(argv[2], "mglru")))
		die("usage: register_check OPERATIONS [classic|mglru]", __LINE__);
	take_end_of_memory();
	swap_on();
	use_lru(argc > 2 ? argv[2] : "classic");
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < PAGES; i++)
			must(!pthread_mutex_init(&pages[kind][i].locked, NULL));
	fd = open("register.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	direct = open("register.data", O_RDONLY | O_DIRECT);
	must(fd >= 0 && direct >= 0 && !ftruncate(fd, PAGES * PAGE));
	use_large_folios();
	base[ANON] = map_at_place(ANON, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	base[FILE_SHARED] = map_at_place(FILE_SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	alias = map_at_place(FILE_SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	store_to_all();
	for (int i = 0; i < CPUS; i++) {
		threads[i].cpu = i;
		threads[i].operations = strtoull(argv[1], NULL, 0);
		start(i < CPUS - 1 ? work : access_only, &threads[i]);
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
