/*
 * Randomised calls of the kernel's young helpers, each compared with a model inside the test
 * kernel, on the entries of one folio of a real mapping.
 */
#include "cache.h"
#include "entries.h"
#include "fail.h"
#include "folios.h"
#include "mapping.h"
#include "record.h"
#include "scenarios.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With more folios before and after it in the same table, the entries have neighbours to watch. */
#define FOLIOS 8
#define CHOSEN 3

/* What the kernel answers, in its order. */
static const char *const names[] = {
	"calls", "partial blocks", "first not contiguous", "contiguous inside", "several blocks",
	"wrong",
};

static void record_answer(char *answer)
{
	uint64_t counts[6];
	char *report = strchr(answer, '\n');

	if (!report || sscanf(answer, "calls %" SCNu64 " partial %" SCNu64 " first_plain %" SCNu64
			      " inside %" SCNu64 " several %" SCNu64 " wrong %" SCNu64, counts,
			      counts + 1, counts + 2, counts + 3, counts + 4, counts + 5) != 6)
		fail_with("cannot understand the kernel's answer, %s", answer);
	for (int i = 0; i < 6; i++)
		record_count(names[i], "calls", counts[i]);
	if (!counts[5])
		return;
	record_print();
	dprintf(STDERR_FILENO, "bench: wrong: %s\n", report + 1);
	_exit(1);
}

static void sample(const struct options *options, struct cache *cache, uint64_t calls,
		   uint64_t seed)
{
	size_t folio = page_size() << cache->order;
	char command[128], answer[512];
	struct mapping mapping;
	uint64_t address;

	cache_create(cache, options->dir, FOLIOS * folio, cache->order);
	cache_fill(cache);
	mapping_create(&mapping, cache, cache->offset, cache->size);
	mapping_touch(&mapping, 1);
	address = (uint64_t)mapping.at + CHOSEN * folio;
	folios_check(getpid(), (uint64_t)mapping.at, cache->size, cache->order);
	snprintf(command, sizeof(command), "helpers %d %" PRIu64 " %zu %" PRIu64 " %" PRIu64,
		 getpid(), address, folio, calls, seed);
	if (!entries_command(command, answer, sizeof(answer)))
		fail_with("helper-calls needs the test kernel: no /proc/pageout_lab");
	mapping_remove(&mapping);
	cache_remove(cache);
	record_answer(answer);
}

void helper_calls(const struct options *options)
{
	uint64_t calls = field_number("calls", "100000", 1ull << 40), seed = option_seed();
	struct cache cache = { .fd = -1 };

	cache.order = field_number("order", "7", 9);
	options_end();
	sample(options, &cache, calls, seed);
	record_print();
}
