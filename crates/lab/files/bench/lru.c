#include "lru.h"

#include "fail.h"
#include "files.h"
#include "guard.h"
#include "record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ENABLED "/sys/kernel/mm/lru_gen/enabled"
#define DEBUG "/sys/kernel/debug/lru_gen"
#define DEBUG_FULL "/sys/kernel/debug/lru_gen_full"

/* The switch's bits: the LRU itself, walks of page tables, of tables above them. */
void lru_select(const char *lru)
{
	if (!strcmp(lru, "classic") && access(ENABLED, F_OK))
		return; /* such a kernel has no other */
	guard_change(ENABLED, !strcmp(lru, "classic") ? "0" : !strcmp(lru, "mglru") ? "7" : "1");
}

/* debugfs names a cgroup by its path below the mount that it is seen through. */
static bool is_cgroup(const char *path, const char *shown)
{
	size_t length = strlen(path), end = strlen(shown);

	return end > 1 && end <= length && !strcmp(path + length - end, shown);
}

/* What reading the generations of a cgroup is for: called for each line that tells something. */
struct reader {
	void (*generation)(void *context, unsigned int cgroup, unsigned int node, uint64_t seq);
	void (*walk)(void *context, unsigned int node, uint64_t seq, const uint64_t *counts);
	void *context;
};

/* Four numbers, each with a letter of its own; a generation's numbers have none, a tier's more. */
static bool is_walk(const char *line, uint64_t *counts)
{
	char mark[LRU_WALK_COUNTS];

	return sscanf(line, "%" SCNu64 "%c%" SCNu64 "%c%" SCNu64 "%c%" SCNu64 "%c", counts, mark,
		      counts + 1, mark + 1, counts + 2, mark + 2, counts + 3, mark + 3) == 8 &&
	       !strncasecmp(mark, "tyfa", LRU_WALK_COUNTS);
}

static bool is_generation(const char *line, uint64_t *seq)
{
	unsigned int age;
	char mark;

	return sscanf(line, "%" SCNu64 " %u%c", seq, &age, &mark) == 3 && mark == ' ';
}

/* A walk's counts stand under the generation that it started from. */
static bool read_debug(const char *path, const char *cgroup, const struct reader *reader)
{
	uint64_t counts[LRU_WALK_COUNTS], seq = 0, next;
	unsigned int id = 0, node = 0;
	bool ours = false, found = false;
	char line[512], shown[256];
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "memcg %u %255s", &id, shown) == 2) {
			ours = is_cgroup(cgroup, shown);
			found |= ours;
		} else if (!ours || sscanf(line, " node %u", &node) == 1) {
			continue;
		} else if (is_generation(line, &next)) {
			seq = next;
			if (reader->generation)
				reader->generation(reader->context, id, node, seq);
		} else if (reader->walk && is_walk(line, counts)) {
			reader->walk(reader->context, node, seq, counts);
		}
	}
	fclose(file);
	return found;
}

static void note_generation(void *context, unsigned int cgroup, unsigned int node, uint64_t seq)
{
	struct lru_generations *generations = context;
	int last = generations->node_count - 1;

	generations->cgroup = cgroup;
	if (last < 0 || generations->nodes[last].node != node) {
		if (++last == LRU_MAX_NODES)
			fail_with("more than %d memory nodes", LRU_MAX_NODES);
		generations->node_count++;
		generations->nodes[last].node = node;
	}
	generations->nodes[last].max_seq = seq;
}

bool lru_generations(const char *cgroup, struct lru_generations *generations)
{
	struct reader reader = { .generation = note_generation, .context = generations };

	generations->node_count = 0;
	return read_debug(DEBUG, cgroup, &reader);
}

struct walks {
	const struct lru_generations *before;
	uint64_t counts[LRU_WALK_COUNTS];
};

static void add_walk(void *context, unsigned int node, uint64_t seq, const uint64_t *counts)
{
	struct walks *walks = context;

	for (int i = 0; i < walks->before->node_count; i++) {
		const struct lru_node *before = &walks->before->nodes[i];

		if (before->node != node || seq < before->max_seq)
			continue;
		for (int j = 0; j < LRU_WALK_COUNTS; j++)
			walks->counts[j] += counts[j];
	}
}

void lru_record_walks(const char *cgroup, const struct lru_generations *before)
{
	static const struct {
		const char *name, *unit;
	} metrics[LRU_WALK_COUNTS] = {
		{ "walk: entries", "entries" },
		{ "walk: young", "entries" },
		{ "walk: tables", "tables" },
		{ "walk: tables added", "tables" },
	};
	struct walks walks = { .before = before };
	struct reader reader = { .walk = add_walk, .context = &walks };
	struct lru_generations after;
	uint64_t made = 0;

	if (!lru_generations(cgroup, &after) || !read_debug(DEBUG_FULL, cgroup, &reader))
		return;
	for (int i = 0; i < before->node_count; i++)
		made += after.nodes[i].max_seq - before->nodes[i].max_seq;
	record_count("generations", "generations", made);
	for (int i = 0; i < LRU_WALK_COUNTS; i++)
		record_count(metrics[i].name, metrics[i].unit, walks.counts[i]);
}

void lru_age(const struct lru_generations *generations)
{
	for (int i = 0; i < generations->node_count; i++) {
		const struct lru_node *node = &generations->nodes[i];
		char command[96];

		/* Swappiness 0: only files; and forced, so that no filter leaves a table out. */
		snprintf(command, sizeof(command), "+ %u %u %" PRIu64 " 0 1", generations->cgroup,
			 node->node, node->max_seq);
		write_text(DEBUG, command);
	}
}
