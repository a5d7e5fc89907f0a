/* workload.toml
name = "huge-faults"
about = "First stores to huge pages where memory is nearly full and in pieces, as thpscale does."
whole = "fault"
memory = "2MiB"
warm-up = true
field = [
    { name = "order", order = 9, default = 0 },
    { name = "lru", choices = ["classic", "mglru"], default = "classic" },
    { name = "size", size = ["256MiB", "1GiB"], default = "256MiB" },
]
metric = [
    { name = "fault", per = "slot" },
    { name = "huge faults", unit = "slots" },
    { name = "compact_stall", unit = "stalls" },
    { name = "compact_success", unit = "stalls" },
    { name = "compact_migrate_scanned", unit = "pages" },
    { name = "compact_free_scanned", unit = "pages" },
    { name = "pgmigrate_success", unit = "pages" },
    { name = "pgscan", unit = "pages" },
    { name = "pgsteal", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOT ((size_t)2 << 20)
#define MOST ((size_t)8 << 30) /* of a machine's free memory: to lock more would take long */

static const char *const counters[] = {
	"compact_stall",	"compact_success",   "compact_migrate_scanned",
	"compact_free_scanned", "pgmigrate_success",
};
#define COUNTERS (sizeof(counters) / sizeof(*counters))

static void touch(volatile char *at, size_t size, bool is_store)
{
	for (size_t page = 0; page < size; page += 4096)
		if (is_store)
			at[page] = 1;
		else
			(void)at[page];
}

/* Leaves this much of memory free, as a machine would have that has no more. */
static void lock_all_but(size_t size)
{
	size_t there = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	size_t rest = (there - size) / SLOT * SLOT;
	char *at;

	lab_require(there > size && there < MOST, "the machine has %zu bytes of free memory",
		    there);
	at = lab_anon(rest, 9);
	touch(at, rest, true);
	lab_require(!mlock(at, rest), "cannot lock memory");
}

/* Anonymous memory without the first half of each slot, so that no slot of it is free. */
static char *map_pieces(size_t size, unsigned int order)
{
	char *at = lab_anon(size, order);

	touch(at, size, true);
	for (size_t slot = 0; slot < size; slot += SLOT)
		munmap(at + slot, SLOT / 2);
	return at;
}

static void fault_slots(char *at, size_t size)
{
	for (size_t slot = 0; slot < size; slot += SLOT) {
		lab_begin("fault");
		*(volatile char *)(at + slot) = 1;
		lab_end("fault", 1);
		touch(at + slot, SLOT, true);
	}
	lab_check(!lab_pages(at, size).absent, "pages that were stored to are not there");
}

/* Of the memory: 80% filled and half of it unmapped again, 20% file, 40% huge pages. */
static void sample(size_t size, unsigned int order, struct lab_file file)
{
	size_t filled = size * 8 / 10 / (4 * SLOT) * (4 * SLOT);
	size_t mapped = filled / 4, huge = filled / 2;
	char *pieces = map_pieces(filled, order), *at = lab_anon(huge, 9);
	char *whole = mmap(NULL, mapped, PROT_READ, MAP_SHARED, file.fd, file.offset);
	uint64_t before[COUNTERS], huge_faults;
	struct lab_scans scans;

	lab_require(whole != MAP_FAILED && !madvise(whole, mapped, MADV_NOHUGEPAGE) &&
		    !madvise(at, huge, MADV_HUGEPAGE), "cannot map memory");
	touch(whole, mapped, false);
	scans = lab_scans();
	for (size_t i = 0; i < COUNTERS; i++)
		before[i] = lab_vmstat(counters[i]);
	huge_faults = lab_vmstat("thp_fault_alloc");
	fault_slots(at, huge);
	lab_count("huge faults", lab_vmstat("thp_fault_alloc") - huge_faults);
	for (size_t i = 0; i < COUNTERS; i++)
		lab_count(counters[i], lab_vmstat(counters[i]) - before[i]);
	lab_count_scans(scans);
	munmap(whole, mapped);
	munmap(at, huge);
	munmap(pieces, filled);
	posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
}

void workload(void)
{
	size_t size = lab_size("size");
	unsigned int order = lab_number("order");
	struct lab_file file = lab_file(size / 4, order);

	lab_lru(lab_text("lru"));
	lock_all_but(size);
	while (lab_sample())
		sample(size, order, file);
}
