/* workload.toml
name = "written-pages"
about = "Pages of a file from the first store to the free page: reclaimed, written, reclaimed again."
whole = "reclaim"
cpus = 2
warm-up = true
field = [
    { name = "order", order = 8, default = 4 },
    { name = "lru", choices = ["classic", "mglru"], default = "classic" },
    { name = "size", size = ["2MiB", "128MiB"], default = "32MiB" },
]
metric = [
    { name = "reclaim", per = "4K page" },
    { name = "write-back", per = "4K page" },
    { name = "free", per = "4K page" },
    { name = "pgscan", unit = "pages" },
    { name = "pgsteal", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <fcntl.h>
#include <sys/mman.h>

static void sample(struct lab_file file, size_t size, unsigned int order)
{
	volatile char *at = lab_map_file(file, size, order);
	size_t pages = size / 4096;
	struct lab_scans before;
	char first = at[0] + 1;
	int failed;

	for (size_t page = 0; page < size; page += 4096)
		at[page]++;
	/* Reclaim finds them old. */
	failed = madvise((void *)at, size, MADV_COLD);
	lab_require(!failed, "the kernel has no MADV_COLD");
	lab_begin("reclaim");
	failed = madvise((void *)at, size, MADV_PAGEOUT);
	lab_end("reclaim", pages);
	lab_require(!failed, "the kernel has no MADV_PAGEOUT for files");
	lab_begin("write-back");
	failed = msync((void *)at, size, MS_SYNC);
	lab_end("write-back", pages);
	lab_require(!failed, "the file could not be written back");

	before = lab_scans();
	lab_begin("free");
	lab_reclaim(size / 2);
	lab_end("free", 0);
	lab_count_scans(before);
	lab_units("free", lab_scans().taken - before.taken);
	for (size_t page = 0; page < size; page += 4096)
		lab_check(at[page] == first, "a page has lost a store");

	/* The next sample reads the file from its beginning. */
	munmap((char *)at - file.offset, file.offset + size);
	failed = posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
	lab_require(!failed, "the file stays in the page cache");
}

void workload(void)
{
	size_t size = lab_size("size");
	unsigned int order = lab_number("order");
	struct lab_file file = lab_file(size, order);

	lab_lru(lab_text("lru"));
	lab_cgroup();
	lab_run_on_both();
	while (lab_sample())
		sample(file, size, order);
}
