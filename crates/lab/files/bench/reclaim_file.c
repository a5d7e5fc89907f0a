/*
 * Reclaim of a mapped file: how much work a reclaimed page is.
 */
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

#include <string.h>

#define MAX_PROCESSES 8

struct plan {
	const struct options *options;
	const char *lru;
	uint64_t processes; /* that map the file, all of it */
	enum mapper_life life;
	int mapper_cpu; /* negative: any */
	bool young;
	bool leaves; /* mapped by PMD leaves */
	size_t bytes; /* to reclaim */
	struct cache cache;
};

/* In each mapping process. */
static uint64_t map_file(void *argument)
{
	const struct plan *plan = argument;
	struct mapping mapping;

	(plan->leaves ? mapping_create_aligned : mapping_create)(
		&mapping, &plan->cache, plan->cache.offset, plan->cache.size);
	mapping_touch(&mapping, 1);
	if (!plan->young)
		mapping_clear_young();
	return (uint64_t)mapping.at;
}

/* In the first of them. */
static uint64_t fill_and_map_file(void *argument)
{
	const struct plan *plan = argument;

	cache_fill(&plan->cache);
	return map_file(argument);
}

static void sample(struct plan *plan)
{
	struct mapper mappers[MAX_PROCESSES];
	const char *cgroup = plan->options->cgroup;
	const struct reclaim reclaim = {
		.options = plan->options,
		.lru = plan->lru,
		.mappers = mappers,
		.mapper_count = plan->processes,
		.size = plan->cache.size,
		.bytes = plan->bytes,
	};

	cgroup_create(cgroup);
	cache_create(&plan->cache, plan->options->dir, plan->cache.size, plan->cache.order);
	for (uint64_t i = 0; i < plan->processes; i++)
		mapper_start(&mappers[i], cgroup, plan->life, plan->mapper_cpu,
			     i ? map_file : fill_and_map_file, plan);
	folios_check(mappers->pid, mappers->address, plan->cache.size, plan->cache.order);
	reclaim_record(&reclaim);
	for (uint64_t i = 0; i < plan->processes; i++)
		mapper_stop(&mappers[i]);
	cache_remove(&plan->cache);
	cgroup_remove(cgroup);
}

/* On two CPUs the mapping process has the second to itself, and reclaim stays on the first. */
static void process_fields(struct plan *plan)
{
	bool two = !strcmp(field_choice("cpus", "1", "1|2"), "2");
	bool running = !strcmp(field_choice("process", "asleep", "asleep|running"), "running");

	plan->life = !running ? MAPPER_SLEEPS : two ? MAPPER_SPINS : MAPPER_WAKES;
	plan->mapper_cpu = two ? 1 : -1;
	if (two)
		mapper_pin(0);
}

void reclaim_file(const struct options *options)
{
	struct plan plan = { .options = options };

	plan.cache.order = field_number("order", "4", 13);
	plan.lru = field_choice("lru", "classic", "classic|mglru|mglru-no-walks");
	process_fields(&plan);
	plan.processes = field_number("processes", "1", MAX_PROCESSES);
	plan.leaves = !strcmp(field_if_given("map", "ptes", "ptes|pmd-leaf"), "pmd-leaf");
	plan.young = !strcmp(field_choice("young", "all", "all|none"), "all");
	plan.cache.size = field_size("size", "1GiB");
	plan.bytes = plan.cache.size / 100 * field_percent("reclaim", "80%");
	options_end();
	if (plan.leaves && page_size() << plan.cache.order != pmd_size())
		fail_usage("map=pmd-leaf: folios as large as a PMD maps expected, not of order %u",
			   plan.cache.order);
	if (!plan.processes)
		fail_usage("processes=0: at least one expected");
	lru_select(plan.lru);
	for (int run = 0; run < options->runs; run++)
		sample(&plan);
	record_print();
}
