#include "reclaim.h"

#include "cache.h"
#include "cgroup.h"
#include "clock.h"
#include "entries.h"
#include "lru.h"

#include <string.h>

void reclaim_record(const struct reclaim *reclaim)
{
	const char *cgroup = reclaim->options->cgroup;
	const struct mapper *first = reclaim->mappers;
	struct lru_generations generations;
	struct cgroup_stat before, after;
	uint64_t start, end;
	bool walks;

	walks = strcmp(reclaim->lru, "classic") && lru_generations(cgroup, &generations);
	cgroup_stat(cgroup, &before);
	entries_record("before", first->pid, first->address, reclaim->size);
	for (uint64_t i = 0; i < reclaim->mapper_count; i++)
		mapper_begin(&reclaim->mappers[i]);
	start = clock_now();
	cgroup_reclaim(cgroup, reclaim->bytes);
	end = clock_now();
	clock_end_sample(reclaim->options);
	for (uint64_t i = 0; i < reclaim->mapper_count; i++)
		mapper_end(&reclaim->mappers[i]);
	cgroup_stat(cgroup, &after);
	clock_record(reclaim->options, "reclaim", "4K page", end - start,
		     cgroup_pages_stolen(&before, &after) * (page_size() / 4096));
	cgroup_record(&before, &after);
	if (walks)
		lru_record_walks(cgroup, &generations);
	entries_record("after", first->pid, first->address, reclaim->size);
}
