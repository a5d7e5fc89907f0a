/* workload.toml
name = "access-patterns"
about = "A mapped file that is larger than its cgroup's limit, accessed in one of six patterns."
whole = "access"
warm-up = true
field = [
    { name = "pattern", choices = ["sequential-read", "random-read", "hot-read",
        "sequential-write", "random-write", "hot-write"], default = "sequential-read" },
    { name = "lru", choices = ["classic", "mglru"], default = "classic" },
    { name = "size", size = ["4MiB", "256MiB"], default = "32MiB" },
    { name = "limit", size = ["2MiB", "256MiB"], default = "16MiB" },
    { name = "hot", size = ["64KiB", "64MiB"], default = "512KiB" },
]
metric = [
    { name = "access", per = "4K page" },
    { name = "major faults", unit = "faults", better = "lower" },
    { name = "hot pages lost", unit = "pages", better = "lower" },
    { name = "pgscan", unit = "pages" },
    { name = "pgsteal", unit = "pages" },
    { name = "workingset_refault", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define WORDS (4096 / sizeof(uint64_t))

static volatile uint64_t *words; /* of the file: the first of a page is its number */
static uint64_t *stores;	 /* that the second of each page got */
static size_t pages, hot;
static bool is_write;

static void access_page(size_t page)
{
	volatile uint64_t *at = words + page * WORDS;

	if (is_write)
		at[1] = ++stores[page];
	if (at[0] != page)
		lab_check(false, "page %zu has other content", page);
}

static void access_in_order(size_t count)
{
	for (size_t page = 0; page < count; page++)
		access_page(page);
}

/* The same pages in each run: the seed is fixed, and goes on from sample to sample. */
static void access_at_random(size_t count)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	for (size_t i = 0; i < count; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		access_page((state >> 32) * pages >> 32);
	}
}

static uint64_t major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_majflt;
}

/* All hot pages, then as many anywhere. Returns the hot ones that had to be read again. */
static uint64_t access_hot(size_t count)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < count; i += 2 * hot) {
		uint64_t before = major_faults();

		access_in_order(hot);
		lost += major_faults() - before;
		access_at_random(hot);
	}
	return lost;
}

/* Every page twice, or as many accesses of another pattern. */
static void sample(const char *pattern)
{
	struct lab_scans before = lab_scans();
	uint64_t faults = major_faults(), lost = 0;

	lab_begin("access");
	if (!strncmp(pattern, "hot", 3)) {
		lost = access_hot(2 * pages);
	} else if (!strncmp(pattern, "random", 6)) {
		access_at_random(2 * pages);
	} else {
		access_in_order(pages);
		access_in_order(pages);
	}
	lab_end("access", 2 * pages);
	lab_count("major faults", major_faults() - faults);
	lab_count("hot pages lost", lost);
	lab_count_scans(before);
	lab_count("workingset_refault", lab_scans().refaulted - before.refaulted);
}

/* Folios of order 0, with data on the disk and nothing in memory. */
static void map_file(size_t size)
{
	struct lab_file file = lab_file(size, 0);
	uint64_t page[WORDS] = { 0 };

	for (; page[0] < pages; page[0]++)
		lab_require(pwrite(file.fd, page, 4096, file.offset + page[0] * 4096) == 4096,
			    "cannot write a file");
	lab_require(!fsync(file.fd) && !posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED),
		    "cannot write a file back");
	words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, file.offset);
	/* So that khugepaged makes no huge pages of it. */
	lab_require(words != MAP_FAILED && !madvise((void *)words, size, MADV_NOHUGEPAGE),
		    "cannot map a file");
}

void workload(void)
{
	size_t size = lab_size("size"), limit = lab_size("limit");
	const char *pattern = lab_text("pattern");

	pages = size / 4096;
	hot = lab_size("hot") / 4096;
	lab_require(limit < size, "a file of %zu bytes fits into the limit", size);
	lab_require(pages % hot == 0 && hot < pages, "the hot part is no part of the file");
	is_write = strstr(pattern, "write");
	stores = calloc(pages, sizeof(*stores));
	lab_require(stores, "no memory");
	lab_lru(lab_text("lru"));
	map_file(size);
	lab_cgroup();
	lab_limit(limit);
	while (lab_sample())
		sample(pattern);
	for (size_t page = 0; page < pages; page++)
		lab_check(words[page * WORDS + 1] == stores[page], "page %zu lost a store", page);
}
