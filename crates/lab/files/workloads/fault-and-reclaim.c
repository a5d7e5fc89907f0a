/* workload.toml
name = "fault-and-reclaim"
about = "A process takes anonymous faults between batches of its own pages that are reclaimed."
whole = "fault"
cpus = 2
warm-up = true
field = [
    { name = "faults", number = [1, 4096], default = 8 },
    { name = "content", choices = ["file", "lazyfree"], default = "file" },
    { name = "threads", number = [1, 2], default = 2 },
]
metric = [{ name = "fault", per = "4K page" }, { name = "reclaim", per = "4K page" }]
*/
#include "pageout_lab.h"
#include <string.h>
#include <sys/mman.h>

#define BATCHES 64
#define BATCH	(32 * 4096) /* bytes that are reclaimed at once */

static void touch(volatile char *at, size_t size)
{
	for (size_t page = 0; page < size; page += 4096)
		at[page] = 1;
}

/* Clean memory that reclaim can free without I/O. */
static void prepare(char *at, bool is_file)
{
	size_t size = BATCHES * BATCH;

	if (is_file) {
		for (size_t page = 0; page < size; page += 4096)
			(void)*(volatile char *)(at + page);
		return;
	}
	touch(at, size);
	lab_require(!madvise(at, size, MADV_FREE), "the kernel has no MADV_FREE");
}

static void sample(char *reclaimed, size_t faults, bool is_file)
{
	size_t size = BATCHES * faults * 4096;
	char *faulted = lab_anon(size, 0);
	struct lab_pages pages;

	prepare(reclaimed, is_file);
	for (size_t batch = 0; batch < BATCHES; batch++) {
		lab_begin("reclaim");
		madvise(reclaimed + batch * BATCH, BATCH, MADV_PAGEOUT);
		lab_end("reclaim", BATCH / 4096);
		lab_begin("fault");
		touch(faulted + batch * faults * 4096, faults * 4096);
		lab_end("fault", faults);
	}
	pages = lab_pages(reclaimed, BATCHES * BATCH);
	lab_require(!pages.present, "%ju pages were not reclaimed", (uintmax_t)pages.present);
	munmap(faulted, size);
}

void workload(void)
{
	bool is_file = !strcmp(lab_text("content"), "file");
	struct lab_file file = lab_file(BATCHES * BATCH, 0);
	size_t all = file.offset + BATCHES * BATCH;
	char *at = is_file ? mmap(NULL, all, PROT_READ, MAP_SHARED, file.fd, 0) : lab_anon(all, 0);

	/* Or khugepaged would make huge pages of the file's folios. */
	lab_require(at != MAP_FAILED && (!is_file || !madvise(at, all, MADV_NOHUGEPAGE)),
		    "cannot map a file");
	if (lab_number("threads") == 2)
		lab_run_on_both();
	while (lab_sample())
		sample(at + (is_file ? file.offset : 0), lab_number("faults"), is_file);
}
