/* workload.toml
name = "reclaim-dirty"
about = "Dirty pages of a mapped file are given to reclaim before they are written back."
whole = "reclaim"
cpus = 2
warm-up = true
field = [
    { name = "order", order = 8, default = 4 },
    { name = "threads", number = [1, 2], default = 2 },
    { name = "again", choices = ["no", "yes"], default = "yes" },
    { name = "size", size = ["2MiB", "128MiB"], default = "32MiB" },
]
metric = [
    { name = "reclaim", per = "4K page" },
    { name = "store again", per = "4K page" },
    { name = "write-back", per = "4K page" },
    { name = "left mapped", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <string.h>
#include <sys/mman.h>

static void store(volatile char *at, size_t size)
{
	for (size_t page = 0; page < size; page += 4096)
		at[page]++;
}

static void sample(volatile char *at, size_t size)
{
	size_t pages = size / 4096;
	int failed;

	store(at, size);
	lab_begin("reclaim");
	failed = madvise((void *)at, size, MADV_PAGEOUT);
	lab_end("reclaim", pages);
	lab_require(!failed, "the kernel has no MADV_PAGEOUT for files");
	lab_count("left mapped", lab_pages((void *)at, size).present);
	lab_begin("store again");
	if (!strcmp(lab_text("again"), "yes"))
		store(at, size);
	lab_end("store again", pages);
	lab_begin("write-back");
	failed = msync((void *)at, size, MS_SYNC);
	lab_end("write-back", pages);
	lab_require(!failed, "the file could not be written back");
	for (size_t page = 0; page < size; page += 4096)
		lab_check(at[page] == at[0], "a page has lost a store");
}

/* One file for all samples: to write a block of a RAM disk for the first time takes longer. */
void workload(void)
{
	size_t size = lab_size("size");
	unsigned int order = lab_number("order");
	struct lab_file file = lab_file(size, order);
	char *at = lab_map_file(file, size, order);

	if (lab_number("threads") == 2)
		lab_run_on_both();
	while (lab_sample())
		sample(at, size);
}
