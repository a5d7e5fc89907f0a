/* workload.toml
name = "write-back"
about = "A mapped file is stored to page by page, and written back to a RAM disk."
whole = "write-back"
warm-up = true
field = [
    { name = "order", order = 8, default = 4 },
    { name = "by", choices = ["msync", "flusher"], default = "msync" },
    { name = "size", size = ["2MiB", "128MiB"], default = "64MiB" },
]
metric = [{ name = "dirty", per = "4K page" }, { name = "write-back", per = "4K page" }]
*/
#define _GNU_SOURCE /* syncfs */
#include "pageout_lab.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void sample(int fd, volatile char *at, size_t size)
{
	size_t pages = size / 4096;
	uint64_t written;
	int failed;

	lab_begin("dirty");
	for (size_t page = 0; page < size; page += 4096)
		at[page]++;
	lab_end("dirty", pages);
	written = lab_vmstat("nr_written");
	lab_begin("write-back");
	/* syncfs() waits for the kernel's flusher, which is another thread. */
	failed = strcmp(lab_text("by"), "msync") ? syncfs(fd) : msync((void *)at, size, MS_SYNC);
	lab_end("write-back", pages);
	written = (lab_vmstat("nr_written") - written) * (sysconf(_SC_PAGESIZE) / 4096);
	lab_require(!failed && written >= pages, "of %zu pages %ju were written back", pages,
		    (uintmax_t)written);
	for (size_t page = 0; page < size; page += 4096)
		lab_check(at[page] == at[0], "a page that was written back has other content");
}

/* One file for all samples: to write a block of a RAM disk for the first time takes longer. */
void workload(void)
{
	size_t size = lab_size("size");
	unsigned int order = lab_number("order");
	struct lab_file file = lab_file(size, order);
	char *at = lab_map_file(file, size, order);

	while (lab_sample())
		sample(file.fd, at, size);
}
