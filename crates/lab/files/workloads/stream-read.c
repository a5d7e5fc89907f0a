/* workload.toml
name = "stream-read"
about = "A file that is mapped nowhere and larger than its cgroup's limit, read from end to end."
whole = "read"
warm-up = true
field = [
    { name = "order", order = 9, default = 4 },
    { name = "lru", choices = ["classic", "mglru"], default = "classic" },
    { name = "size", size = ["8MiB", "1GiB"], default = "64MiB" },
    { name = "limit", size = ["8MiB", "1GiB"], default = "32MiB" },
]
metric = [
    { name = "read", per = "4K page" },
    { name = "pgscan", unit = "pages" },
    { name = "pgsteal", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LAST (2 << 20)

/* Reads on, and drops what it reads. */
static void stream(int fd, size_t size)
{
	static char buffer[65536];
	ssize_t got = 1;

	for (size_t left = size; left && got > 0; left -= got)
		got = read(fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer));
	lab_require(got > 0, "cannot read a file");
}

/*
 * What was read last is still there, in folios of this order. Of a mapping khugepaged would make
 * huge pages at once.
 */
static void require_folios(struct lab_file file, size_t size, unsigned int order)
{
	bool is_alone = !prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	char *last = mmap(NULL, LAST, PROT_READ, MAP_SHARED, file.fd, file.offset + size - LAST);

	lab_require(is_alone && last != MAP_FAILED, "cannot map a file");
	for (size_t page = 0; page < LAST; page += 4096)
		(void)*(volatile char *)(last + page);
	lab_require_folios(last, LAST, order);
}

static void sample(struct lab_file file, size_t size)
{
	struct lab_scans before;

	lab_require(!lseek(file.fd, 0, SEEK_SET), "cannot seek in a file");
	stream(file.fd, file.offset);
	before = lab_scans();
	lab_begin("read");
	stream(file.fd, size);
	lab_end("read", size / 4096);
	lab_count_scans(before);
}

void workload(void)
{
	size_t size = lab_size("size"), limit = lab_size("limit");
	unsigned int order = lab_number("order");
	struct lab_file file = lab_file(size, order);

	lab_require(limit < size, "a file of %zu bytes fits into the limit", size);
	/* Read-ahead would make folios of order 1 and more. */
	lab_require(order || !posix_fadvise(file.fd, 0, 0, POSIX_FADV_RANDOM),
		    "cannot turn read-ahead off");
	lab_lru(lab_text("lru"));
	lab_cgroup();
	lab_limit(limit);
	while (lab_sample())
		sample(file, size);
	require_folios(file, size, order);
}
