/* workload.toml
name = "cold-anon"
about = "Half of some anonymous memory is marked by MADV_COLD, then a quarter of all reclaimed."
whole = "reclaim"
swap = true
config = ["ZRAM=y"]
warm-up = true
field = [
    { name = "order", order = 9, default = 4 },
    { name = "lru", choices = ["classic", "mglru"], default = "classic" },
    { name = "size", size = ["8MiB", "256MiB"], default = "64MiB" },
]
metric = [
    { name = "advise", per = "4K page" },
    { name = "reclaim", per = "4K page" },
    { name = "others reclaimed", unit = "pages", better = "lower" },
    { name = "pgscan", unit = "pages" },
    { name = "pgsteal", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <sys/mman.h>

static void sample(size_t size, unsigned int order)
{
	char *at = lab_anon(size, order), *cold = at + size / 2;
	struct lab_scans scans;
	uint64_t swapped, others;
	int failed;

	lab_fill(at, size, "same");
	lab_require_folios(at, size, order);
	lab_begin("advise");
	failed = madvise(cold, size / 2, MADV_COLD);
	lab_end("advise", size / 2 / 4096);
	lab_require(!failed, "the kernel has no MADV_COLD");
	scans = lab_scans();
	lab_begin("reclaim");
	lab_reclaim(size / 4);
	lab_end("reclaim", 0);
	lab_count_scans(scans);
	swapped = lab_pages(at, size).swapped;
	others = lab_pages(at, size / 2).swapped;
	lab_require(swapped >= size / 4 / 4096 * 9 / 10, "only %ju pages were swapped out",
		    (uintmax_t)swapped);
	lab_units("reclaim", swapped);
	lab_count("others reclaimed", others);
	lab_check(lab_holds(at, size, "same"), "memory came back with other content");
	munmap(at, size);
}

void workload(void)
{
	lab_swap("zram");
	lab_lru(lab_text("lru"));
	lab_cgroup();
	while (lab_sample())
		sample(lab_size("size"), lab_number("order"));
}
