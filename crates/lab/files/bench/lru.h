#ifndef LRU_H
#define LRU_H

#include <stdbool.h>
#include <stdint.h>

/* Switches the kernel to "classic", "mglru" or "mglru-no-walks"; put back at the end. */
void lru_select(const char *lru);

#define LRU_MAX_NODES 64

/* The generations of a cgroup: of each memory node that has any. */
struct lru_generations {
	unsigned int cgroup;
	int node_count;
	struct lru_node {
		unsigned int node;
		uint64_t max_seq;
	} nodes[LRU_MAX_NODES];
};

/* What page-table walks count: entries, young ones, tables walked, tables added to the filter. */
#define LRU_WALK_COUNTS 4

/* False where the kernel does not tell (no debugfs, say). */
bool lru_generations(const char *cgroup, struct lru_generations *generations);

/* Records generations made and what walks saw since then, if the kernel tells. */
void lru_record_walks(const char *cgroup, const struct lru_generations *before);

/* Makes one new generation on each node, walking every process whether it ran or not. */
void lru_age(const struct lru_generations *generations);

#endif
