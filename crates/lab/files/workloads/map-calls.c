/* workload.toml
name = "map-calls"
about = "Anonymous memory is stored to, protected, allowed again, moved and unmapped."
warm-up = true
field = [
    { name = "order", order = 9, default = 4 },
    { name = "size", size = ["2MiB", "1GiB"], default = "64MiB" },
]
metric = [
    { name = "fault", per = "4K page" },
    { name = "protect", per = "4K page" },
    { name = "allow", per = "4K page" },
    { name = "move", per = "4K page" },
    { name = "unmap", per = "4K page" },
]
*/
#define _GNU_SOURCE /* mremap */
#include "pageout_lab.h"
#include <sys/mman.h>

static void counted(const char *region, size_t pages, int failed)
{
	lab_end(region, pages);
	lab_require(!failed, "the call of %s failed", region);
}

static void sample(size_t size, unsigned int order)
{
	size_t pages = size / 4096;
	volatile char *at = lab_anon(size, order);
	/* Off a page table's reach, so that entries are moved and not whole tables. */
	size_t off = order == 9 ? 0 : 1 << 20;
	char *reserved = lab_anon(off + size, order), *to = reserved + off;

	lab_begin("fault");
	for (size_t page = 0; page < size; page += 4096)
		at[page] = 1;
	lab_end("fault", pages);
	lab_require_folios((void *)at, size, order);
	lab_begin("protect");
	counted("protect", pages, mprotect((void *)at, size, PROT_READ));
	lab_begin("allow");
	counted("allow", pages, mprotect((void *)at, size, PROT_READ | PROT_WRITE));
	lab_begin("move");
	counted("move", pages, mremap((void *)at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
				       MAP_FAILED);
	lab_require_folios(to, size, order);
	lab_check(lab_pages((void *)at, size).absent == pages, "pages stayed where they were");
	for (size_t page = 0; page < size; page += 4096)
		lab_check(to[page] == 1, "a page that was moved has other content");
	lab_begin("unmap");
	counted("unmap", pages, munmap(to, size));
	lab_check(lab_pages(to, size).absent == pages, "pages stayed mapped");
	munmap(reserved, off + size);
}

void workload(void)
{
	while (lab_sample())
		sample(lab_size("size"), lab_number("order"));
}
