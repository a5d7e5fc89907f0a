#include "swap.h"

#include "cache.h"
#include "fail.h"
#include "files.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/swap.h>
#include <unistd.h>

/* Where a swap area's header has what the kernel asks of it (include/linux/swap.h), version 1. */
#define VERSION_AT 1024
#define LAST_PAGE_AT 1028
static const char magic[] = "SWAPSPACE2"; /* at the end of the first page */

void swap_start(const char *device)
{
	static char page[65536];
	uint32_t version = 1, last_page;
	size_t size = page_size();
	int fd = open(device, O_RDWR | O_CLOEXEC);
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (end < 0)
		fail("cannot open", device);
	last_page = end / size - 1;
	memcpy(page + VERSION_AT, &version, sizeof(version));
	memcpy(page + LAST_PAGE_AT, &last_page, sizeof(last_page));
	memcpy(page + size - strlen(magic), magic, strlen(magic));
	if (pwrite(fd, page, size, 0) != (ssize_t)size || fsync(fd))
		fail("cannot write", device);
	close(fd);
	if (swapon(device, 0))
		fail("cannot swap to", device);
}

static void set_order(unsigned int order, const char *file, const char *how)
{
	char path[112];

	snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/%s",
		 (page_size() << order) >> 10, file);
	write_text(path, how);
}

void anon_order(unsigned int order)
{
	static unsigned int now = 9; /* as the kernel starts: a page table's whole reach */

	if (order == now)
		return;
	if (now)
		set_order(now, "enabled", "never");
	if (order)
		set_order(order, "enabled", "always");
	now = order;
}

void shmem_order(unsigned int order)
{
	if (order) /* the kernel starts with single pages */
		set_order(order, "shmem_enabled", "always");
}
