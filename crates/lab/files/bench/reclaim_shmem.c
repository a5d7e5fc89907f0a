/*
 * Reclaim of shared memory that a process maps and stored to: each folio is unmapped, and written
 * to swap.
 */
#define _GNU_SOURCE /* memfd_create */
#include "cache.h"
#include "cgroup.h"
#include "fail.h"
#include "folios.h"
#include "lru.h"
#include "mapper.h"
#include "mapping.h"
#include "reclaim.h"
#include "record.h"
#include "scenarios.h"
#include "swap.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SWAP "/dev/ram1"

struct plan {
	const struct options *options;
	const char *lru;
	bool young;
	size_t bytes; /* to reclaim */
	struct cache memory;
};

/* In the mapping process: every page is stored to. */
static uint64_t map_memory(void *argument)
{
	const struct plan *plan = argument;
	struct mapping mapping;

	mapping_create(&mapping, &plan->memory, 0, plan->memory.size);
	for (size_t at = 0; at < mapping.size; at += page_size())
		*(volatile char *)(mapping.at + at) = 1;
	if (!plan->young)
		mapping_clear_young();
	return (uint64_t)mapping.at;
}

static void sample(struct plan *plan)
{
	struct mapper mapper;
	uint64_t swapped;
	const char *cgroup = plan->options->cgroup;
	const struct reclaim reclaim = {
		.options = plan->options,
		.lru = plan->lru,
		.mappers = &mapper,
		.mapper_count = 1,
		.size = plan->memory.size,
		.bytes = plan->bytes,
	};

	swapped = machine_counter("pswpout");
	cgroup_create(cgroup);
	plan->memory.fd = memfd_create("pageout-bench", MFD_CLOEXEC);
	if (plan->memory.fd < 0 || ftruncate(plan->memory.fd, plan->memory.size))
		fail("cannot make", "shared memory");
	mapper_start(&mapper, cgroup, MAPPER_SLEEPS, -1, map_memory, plan);
	folios_check(mapper.pid, mapper.address, plan->memory.size, plan->memory.order);
	reclaim_record(&reclaim);
	/* Nothing else is swapped out; a cgroup of 6.12 does not count it. */
	record_count("pswpout", "pages", machine_counter("pswpout") - swapped);
	mapper_stop(&mapper);
	cache_remove(&plan->memory);
	cgroup_remove(cgroup);
}

void reclaim_shmem(const struct options *options)
{
	struct plan plan = { .options = options };

	plan.memory.order = field_number("order", "4", 9);
	plan.lru = field_choice("lru", "classic", "classic|mglru|mglru-no-walks");
	plan.young = !strcmp(field_choice("young", "all", "all|none"), "all");
	plan.memory.size = field_size("size", "256MiB");
	plan.bytes = plan.memory.size / 100 * field_percent("reclaim", "80%");
	options_end();
	lru_select(plan.lru);
	shmem_order(plan.memory.order);
	swap_start(SWAP);
	for (int run = 0; run < options->runs; run++)
		sample(&plan);
	record_print();
}
