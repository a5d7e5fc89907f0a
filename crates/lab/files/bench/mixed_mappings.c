/*
 * Reclaim of a file that is mapped in every way that batching has to respect: it must take the
 * same pages before and after a change that only batches.
 */
#include "cache.h"
#include "cgroup.h"
#include "entries.h"
#include "fail.h"
#include "folios.h"
#include "lru.h"
#include "mapper.h"
#include "mapping.h"
#include "record.h"
#include "scenarios.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_FEATURE_WP_ASYNC /* Linux 6.7: the one kind that takes any file */
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

static void leave(const struct mapping *mapping, size_t folio);
static void unfold(const struct mapping *mapping, size_t folio);
static void make_holes(const struct mapping *mapping, size_t folio);
static void split(const struct mapping *mapping, size_t folio);
static void lock(const struct mapping *mapping, size_t folio);
static void protect(const struct mapping *mapping, size_t folio);

/* Each mapping shows a part of the file, one of them a page away from its alignment. */
static const struct kind {
	const char *name;
	int part, pages_off;
	void (*prepare)(const struct mapping *mapping, size_t folio);
} kinds[] = {
	{ "plain", 0, 0, leave },
	{ "unfolded", 1, 0, unfold },
	{ "holes", 2, 0, make_holes },
	{ "split", 3, 0, split },
	{ "locked", 4, 0, lock },
	{ "uffd-wp", 5, 0, protect },
	{ "twice", 6, 0, leave },
	{ "shifted", 6, 1, leave },
};

#define KINDS (int)(sizeof(kinds) / sizeof(*kinds))
#define PARTS 7

/* In memory that the mapping process shares. */
struct plan {
	const struct options *options;
	const char *lru;
	size_t size; /* of each part */
	size_t bytes;
	struct cache cache;
	struct mapping mappings[KINDS];
};

static void leave(const struct mapping *mapping, size_t folio)
{
	(void)mapping, (void)folio;
}

static void forget(const struct mapping *mapping, size_t at, size_t size)
{
	if (madvise(mapping->at + at, size, MADV_DONTNEED))
		fail("cannot drop entries", "mixed mappings");
}

/* An entry that comes back alone leaves its block unfolded, as folding waits for a block's last. */
static void unfold(const struct mapping *mapping, size_t folio)
{
	for (size_t at = 0; at < mapping->size; at += 2 * folio)
		forget(mapping, at + page_size(), page_size());
	mapping_touch(mapping, 1);
}

static void make_holes(const struct mapping *mapping, size_t folio)
{
	for (size_t at = 0; at < mapping->size; at += folio)
		forget(mapping, at + folio / 4, folio / 8);
}

/* The advice changes no entry: a VMA then ends in the middle of each folio, and of its block. */
static void split(const struct mapping *mapping, size_t folio)
{
	for (size_t at = 0; at < mapping->size; at += folio)
		if (madvise(mapping->at + at + folio / 2, folio / 2, MADV_DONTFORK))
			fail("cannot split", "mixed mappings");
}

/* Every fourth folio, the first half of it: it is unevictable, its other entries are not locked. */
static void lock(const struct mapping *mapping, size_t folio)
{
	for (size_t at = 0; at < mapping->size; at += 4 * folio)
		if (mlock(mapping->at + at, folio / 2))
			fail("cannot lock", "mixed mappings");
}

/* From the middle of each folio on, write-protected by userfaultfd; the kernel resolves faults. */
static void protect(const struct mapping *mapping, size_t folio)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC };
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)mapping->at, .len = mapping->size },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		fail("cannot write-protect a file's entries", "userfaultfd");
	for (size_t at = 0; at < mapping->size; at += folio) {
		struct uffdio_writeprotect half = {
			.range = { (uintptr_t)mapping->at + at + folio / 2, folio / 2 },
			.mode = UFFDIO_WRITEPROTECT_MODE_WP,
		};

		if (ioctl(fd, UFFDIO_WRITEPROTECT, &half))
			fail("cannot write-protect", "userfaultfd");
	}
}

/* In the mapping process, which keeps the descriptors open. */
static uint64_t map_all(void *argument)
{
	struct plan *plan = argument;
	size_t folio = page_size() << plan->cache.order;

	cache_fill(&plan->cache);
	for (int i = 0; i < KINDS; i++) {
		size_t off = kinds[i].pages_off * page_size();
		struct mapping *mapping = &plan->mappings[i];

		mapping_create(mapping, &plan->cache,
			       plan->cache.offset + kinds[i].part * plan->size + off,
			       plan->size - off);
		mapping_touch(mapping, 1);
		if (!off)
			folios_check(getpid(), (uintptr_t)mapping->at, mapping->size,
				     plan->cache.order);
		kinds[i].prepare(mapping, folio);
	}
	return 0;
}

static void count(const struct plan *plan, const struct mapper *mapper, const char *when)
{
	char prefix[32];

	for (int i = 0; i < KINDS; i++) {
		snprintf(prefix, sizeof(prefix), "%s %s", kinds[i].name, when);
		entries_record(prefix, mapper->pid, (uintptr_t)plan->mappings[i].at,
			       plan->mappings[i].size);
	}
}

static void sample(struct plan *plan)
{
	const char *cgroup = plan->options->cgroup;
	struct lru_generations generations;
	struct cgroup_stat before, after;
	struct mapper mapper;
	bool walks;

	cgroup_create(cgroup);
	cache_create(&plan->cache, plan->options->dir, plan->cache.size, plan->cache.order);
	mapper_start(&mapper, cgroup, MAPPER_SLEEPS, -1, map_all, plan);
	walks = strcmp(plan->lru, "classic") && lru_generations(cgroup, &generations);
	cgroup_stat(cgroup, &before);
	count(plan, &mapper, "before");
	cgroup_reclaim(cgroup, plan->bytes);
	cgroup_stat(cgroup, &after);
	cgroup_record(&before, &after);
	if (walks)
		lru_record_walks(cgroup, &generations);
	count(plan, &mapper, "after");
	mapper_stop(&mapper);
	cache_remove(&plan->cache);
	cgroup_remove(cgroup);
}

void mixed_mappings(const struct options *options)
{
	struct plan *plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (plan == MAP_FAILED)
		fail("cannot map memory", "mixed mappings");
	plan->options = options;
	plan->cache.order = field_number("order", "4", 13);
	plan->lru = field_choice("lru", "classic", "classic|mglru|mglru-no-walks");
	plan->size = field_size("size", "32MiB");
	plan->cache.size = PARTS * plan->size;
	plan->bytes = plan->cache.size / 100 * field_percent("reclaim", "50%");
	options_end();
	if (plan->cache.order < 3)
		fail_usage("order: 3 or more expected, as folios are cut in eight");
	if (plan->size % (4 * page_size() << plan->cache.order))
		fail_usage("size: a multiple of four folios expected");
	lru_select(plan->lru);
	for (int run = 0; run < options->runs; run++)
		sample(plan);
	record_print();
}
