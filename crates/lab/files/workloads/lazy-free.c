/* workload.toml
name = "lazy-free"
about = "Anonymous memory given up by MADV_FREE, then half of it reclaimed."
whole = "reclaim"
warm-up = true
field = [
    { name = "order", order = 9, default = 4 },
    { name = "lru", choices = ["classic", "mglru"], default = "classic" },
    { name = "size", size = ["2MiB", "1GiB"], default = "64MiB" },
]
metric = [
    { name = "advise", per = "4K page" },
    { name = "reclaim", per = "4K page" },
    { name = "pgscan", unit = "pages" },
    { name = "pgsteal", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <sys/mman.h>

static void sample(size_t size, unsigned int order)
{
	void *at = lab_anon(size, order);
	struct lab_scans scans;
	struct lab_pages pages;
	int failed;

	lab_fill(at, size, "same");
	lab_require_folios(at, size, order);
	lab_begin("advise");
	failed = madvise(at, size, MADV_FREE);
	lab_end("advise", size / 4096);
	lab_require(!failed, "the kernel has no MADV_FREE");
	scans = lab_scans();
	lab_begin("reclaim");
	lab_reclaim(size / 2);
	lab_end("reclaim", 0);
	lab_count_scans(scans);
	pages = lab_pages(at, size);
	lab_require(pages.absent >= size / 2 / 4096 * 9 / 10 && !pages.swapped,
		    "%ju pages were freed and %ju swapped out", (uintmax_t)pages.absent,
		    (uintmax_t)pages.swapped);
	lab_units("reclaim", pages.absent);
	/* What was stored, or nothing: each page by itself. */
	for (size_t page = 0; page < size; page += 4096)
		lab_check(lab_holds((char *)at + page, 4096, "same") ||
			  lab_holds((char *)at + page, 4096, "zero"), "a page has other content");
	munmap(at, size);
}

void workload(void)
{
	lab_lru(lab_text("lru"));
	lab_cgroup();
	while (lab_sample())
		sample(lab_size("size"), lab_number("order"));
}
