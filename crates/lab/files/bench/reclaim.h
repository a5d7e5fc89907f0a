#ifndef RECLAIM_H
#define RECLAIM_H

#include "mapper.h"
#include "options.h"

#include <stddef.h>
#include <stdint.h>

/* What is reclaimed, of the cgroup that the options name. */
struct reclaim {
	const struct options *options;
	const char *lru;
	struct mapper *mappers; /* that map it, all of it; entries are those of the first */
	uint64_t mapper_count;
	size_t size; /* of what they map */
	size_t bytes; /* asked for */
};

/* Asks memory.reclaim once, and records what it took and what the kernel counted meanwhile. */
void reclaim_record(const struct reclaim *reclaim);

#endif
