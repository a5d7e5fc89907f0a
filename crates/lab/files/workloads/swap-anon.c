/* workload.toml
name = "swap-anon"
about = "Anonymous memory of one order, half of it swapped out and read in again."
whole = "swap-out"
swap = true
config = ["ZRAM=y"]
warm-up = true
field = [
    { name = "order", order = 9, default = 4 },
    { name = "to", choices = ["zram", "ram-disk"], default = "zram" },
    { name = "content", choices = ["zero", "same", "text", "random"], default = "same" },
    { name = "by", choices = ["memory.reclaim", "madvise"], default = "memory.reclaim" },
    { name = "lru", choices = ["classic", "mglru"], default = "classic" },
    { name = "size", size = ["2MiB", "256MiB"], default = "64MiB" },
    { name = "processes", number = [1, 8], default = 1 },
]
metric = [
    { name = "swap-out", per = "4K page" },
    { name = "swap-in", per = "4K page" },
    { name = "folios swapped whole", unit = "folios" },
    { name = "same-filled", unit = "pages" },
    { name = "incompressible", unit = "pages" },
    { name = "stored", unit = "bytes" },
    { name = "pgscan", unit = "pages" },
    { name = "pgsteal", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <string.h>
#include <sys/mman.h>

static const char *content;
static bool is_zram;

/* What zram made of pages that were swapped to it. */
struct zram {
	uint64_t same, incompressible, bytes;
};

static struct zram zram(void)
{
	if (!is_zram)
		return (struct zram){ 0 };
	return (struct zram){ lab_zram("same_pages"), lab_zram("huge_pages"),
			      lab_zram("compr_data_size") };
}

/* Ends the workload unless zram stored pages as asked. Some of the program's own come with them. */
static void require_pages(const char *kind, uint64_t found, uint64_t expected)
{
	lab_require(found >= expected && found <= expected + 16,
		    "zram took %ju pages for %s, not %ju", (uintmax_t)found, kind,
		    (uintmax_t)expected);
}

static void require_stored(uint64_t pages, const struct zram *of)
{
	bool is_zero = !strcmp(content, "zero"), is_same = !strcmp(content, "same");
	bool is_random = !strcmp(content, "random");

	/* Since 6.12 the kernel keeps zero pages from zram, to which they are same-filled. */
	if (!is_zero)
		require_pages("same-filled", of->same, is_same ? pages : 0);
	require_pages("incompressible", of->incompressible, is_random ? pages : 0);
	if (!strcmp(content, "text"))
		lab_require(of->bytes && of->bytes < pages * 2048, "zram stored %ju pages in %ju "
			    "bytes", (uintmax_t)pages, (uintmax_t)of->bytes);
}

static void swap_out(char *at, size_t bytes)
{
	if (!strcmp(lab_text("by"), "madvise"))
		lab_require(!madvise(at, bytes, MADV_PAGEOUT), "the kernel has no MADV_PAGEOUT");
	else
		lab_reclaim(bytes);
}

static void sample(size_t size, unsigned int order)
{
	struct zram before = zram(), after;
	struct lab_scans scans;
	uint64_t folios = lab_folios(order, "swpout"), swapped;
	volatile char *at = lab_anon(size, order);

	lab_fill((void *)at, size, content);
	lab_require_folios((void *)at, size, order);
	lab_sharers(lab_number("processes") - 1);
	scans = lab_scans();
	lab_begin("swap-out");
	swap_out((char *)at, size / 2);
	lab_end("swap-out", 0);
	lab_count_scans(scans);
	swapped = lab_pages((void *)at, size).swapped;
	lab_require(swapped >= size / 2 / 4096 * 9 / 10, "only %ju pages were swapped out",
		    (uintmax_t)swapped);
	lab_units("swap-out", swapped);
	after = zram();
	after = (struct zram){ after.same - before.same,
			       after.incompressible - before.incompressible,
			       after.bytes - before.bytes };
	if (is_zram)
		require_stored(swapped, &after);
	lab_count("folios swapped whole", lab_folios(order, "swpout") - folios);
	lab_count("same-filled", after.same);
	lab_count("incompressible", after.incompressible);
	lab_count("stored", after.bytes);
	lab_begin("swap-in");
	for (size_t page = 0; page < size; page += 4096)
		(void)at[page];
	lab_end("swap-in", swapped);
	lab_check(lab_holds((void *)at, size, content), "memory came back with other content");
	lab_end_sharers();
	munmap((void *)at, size);
}

void workload(void)
{
	unsigned int order = lab_number("order");

	content = lab_text("content");
	is_zram = !strcmp(lab_text("to"), "zram");
	lab_swap(lab_text("to"));
	lab_lru(lab_text("lru"));
	lab_cgroup();
	while (lab_sample())
		sample(lab_size("size"), order);
}
