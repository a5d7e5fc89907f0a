/* workload.toml
name = "pageout-shared"
about = "Shared anonymous memory is read in from zram and paged out, over and over."
whole = "pageout"
swap = true
config = ["ZRAM=y"]
warm-up = true
field = [
    { name = "size", size = ["64KiB", "64MiB"], default = "1MiB" },
    { name = "times", number = [1, 100000], default = 100 },
    { name = "out", choices = ["madvise", "memory.reclaim"], default = "madvise" },
    { name = "content", choices = ["same", "text", "random"], default = "same" },
]
metric = [{ name = "pageout", per = "4K page" }, { name = "swap-in", per = "4K page" }]
*/
#include "pageout_lab.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void page_out(char *at, size_t size)
{
	if (strcmp(lab_text("out"), "madvise"))
		lab_reclaim(size);
	else
		lab_require(!madvise(at, size, MADV_PAGEOUT), "the kernel has no MADV_PAGEOUT");
}

static void turn(volatile char *at, size_t size)
{
	uint64_t pages = size / 4096, swapped = lab_vmstat("pswpout");

	lab_begin("pageout");
	page_out((char *)at, size);
	lab_end("pageout", pages);
	swapped = (lab_vmstat("pswpout") - swapped) * (sysconf(_SC_PAGESIZE) / 4096);
	/* Of shared memory that is swapped out, a process has no trace. */
	lab_require(swapped >= pages && lab_pages((void *)at, size).absent == pages,
		    "of %ju pages only %ju were swapped out", (uintmax_t)pages,
		    (uintmax_t)swapped);
	lab_begin("swap-in");
	for (size_t page = 0; page < size; page += 4096)
		(void)at[page];
	lab_end("swap-in", pages);
}

void workload(void)
{
	size_t size = lab_size("size");
	uint64_t times = lab_number("times");
	volatile char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				 0);

	lab_require(at != MAP_FAILED, "cannot map shared memory");
	lab_swap("zram");
	lab_cgroup();
	lab_fill((void *)at, size, lab_text("content"));
	while (lab_sample())
		for (uint64_t time = 0; time < times; time++)
			turn(at, size);
	lab_check(lab_holds((void *)at, size, lab_text("content")),
		  "memory came back with other content");
}
