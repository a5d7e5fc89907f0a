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

#define WRONG 5

/* What the kernel answers, in its order: what the calls met, and how often it called each helper. */
static const struct count {
	const char *key, *name;
} counts[] = {
	{ "calls", "calls" },
	{ "partial", "partial blocks" },
	{ "first_plain", "first not contiguous" },
	{ "inside", "contiguous inside" },
	{ "several", "several blocks" },
	[WRONG] = { "wrong", "wrong" },
	{ "clear_flush_young_ptes", "clear_flush_young_ptes" },
	{ "test_and_clear_young_ptes", "test_and_clear_young_ptes" },
	{ "ptep_clear_flush_young", "ptep_clear_flush_young" },
	{ "ptep_test_and_clear_young", "ptep_test_and_clear_young" },
};

#define COUNTS (int)(sizeof(counts) / sizeof(*counts))

static uint64_t number_after(const char **answer, const char *key)
{
	char name[32];
	uint64_t number;
	int length;

	if (sscanf(*answer, " %31s %" SCNu64 "%n", name, &number, &length) != 2 ||
	    strcmp(name, key))
		fail_with("the kernel's answer lacks %s: %s", key, *answer);
	*answer += length;
	return number;
}

static void record_answer(const char *answer)
{
	uint64_t wrong = 0;

	for (int i = 0; i < COUNTS; i++) {
		uint64_t number = number_after(&answer, counts[i].key);

		record_count(counts[i].name, "calls", number);
		wrong += i == WRONG ? number : 0;
	}
	if (*answer != '\n')
		fail_with("the kernel's answer goes on: %s", answer);
	if (!wrong)
		return;
	record_print();
	dprintf(STDERR_FILENO, "bench: wrong: %s\n", answer + 1);
	_exit(1);
}

static void sample(const struct options *options, struct cache *cache, uint64_t calls,
		   uint64_t seed)
{
	size_t folio = page_size() << cache->order;
	char command[128], answer[768];
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
