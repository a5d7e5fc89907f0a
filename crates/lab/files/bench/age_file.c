/*
 * Aging of a mapped file alone: one new generation made on command, by a walk of the page tables.
 */
#include "cache.h"
#include "cgroup.h"
#include "clock.h"
#include "entries.h"
#include "fail.h"
#include "folios.h"
#include "lru.h"
#include "mapper.h"
#include "mapping.h"
#include "record.h"
#include "scenarios.h"

#include <string.h>

struct plan {
	const struct options *options;
	uint64_t young_every; /* page in so many; 0: none */
	struct cache cache;
};

/* In the mapping process: every entry present, some of them young. */
static uint64_t map_file(void *argument)
{
	const struct plan *plan = argument;
	struct mapping mapping;

	cache_fill(&plan->cache);
	mapping_create(&mapping, &plan->cache, plan->cache.offset, plan->cache.size);
	mapping_touch(&mapping, 1);
	if (plan->young_every != 1)
		mapping_clear_young();
	if (plan->young_every > 1)
		mapping_touch(&mapping, plan->young_every);
	return (uint64_t)mapping.at;
}

static void sample(struct plan *plan)
{
	const char *cgroup = plan->options->cgroup;
	struct lru_generations generations;
	struct mapper mapper;
	uint64_t start, end;

	cgroup_create(cgroup);
	cache_create(&plan->cache, plan->options->dir, plan->cache.size, plan->cache.order);
	mapper_start(&mapper, cgroup, MAPPER_SLEEPS, -1, map_file, plan);
	folios_check(mapper.pid, mapper.address, plan->cache.size, plan->cache.order);
	entries_record("before", mapper.pid, mapper.address, plan->cache.size);
	if (!lru_generations(cgroup, &generations))
		fail_with("the kernel shows no generations: debugfs and CONFIG_LRU_GEN needed");
	start = clock_now();
	lru_age(&generations);
	end = clock_now();
	clock_record(plan->options, "age", "entry", end - start, plan->cache.size / page_size());
	lru_record_walks(cgroup, &generations);
	entries_record("after", mapper.pid, mapper.address, plan->cache.size);
	mapper_stop(&mapper);
	cache_remove(&plan->cache);
	cgroup_remove(cgroup);
}

/* "all", "none" or "1/N". */
static uint64_t young_field(void)
{
	const char *young = field_text("young", "all");
	uint64_t every;

	if (!strcmp(young, "all"))
		return 1;
	if (!strcmp(young, "none"))
		return 0;
	if (strncmp(young, "1/", 2) || !parse_number(young + 2, &every) || !every)
		fail_usage("young=%s: all, none or 1/N expected", young);
	return every;
}

void age_file(const struct options *options)
{
	struct plan plan = { .options = options };

	plan.cache.order = field_number("order", "4", 13);
	plan.young_every = young_field();
	plan.cache.size = field_size("size", "1GiB");
	options_end();
	lru_select("mglru");
	for (int run = 0; run < options->runs; run++)
		sample(&plan);
	record_print();
}
