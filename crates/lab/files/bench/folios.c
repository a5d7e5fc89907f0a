#include "folios.h"

#include "cache.h"
#include "fail.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_FRAME ((1ull << 55) - 1)
#define COMPOUND_HEAD (1ull << 15)
#define COMPOUND_TAIL (1ull << 16)

/* One 64-bit word a page: pagemap by virtual page, kpageflags by frame. */
static bool read_words(int fd, uint64_t first, uint64_t *words, size_t count)
{
	ssize_t size = count * sizeof(*words);

	return pread(fd, words, size, first * sizeof(*words)) == size;
}

static int open_words(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail("cannot open", path);
	return fd;
}

/* A folio's frames follow each other; its first is a head and the others are tails. */
static bool is_folio(const uint64_t *pages, int flags_fd, uint64_t *flags, size_t count)
{
	uint64_t first = pages[0] & PAGEMAP_FRAME;

	if (!read_words(flags_fd, first, flags, count))
		fail("cannot read", "/proc/kpageflags");
	for (size_t i = 0; i < count; i++) {
		uint64_t kind = flags[i] & (COMPOUND_HEAD | COMPOUND_TAIL);

		if (!(pages[i] & PAGEMAP_PRESENT) || (pages[i] & PAGEMAP_FRAME) != first + i)
			return false;
		if (kind != (count == 1 ? 0 : i ? COMPOUND_TAIL : COMPOUND_HEAD))
			return false;
	}
	/* Tails going on would make it a larger folio, heads of others do not. */
	return !read_words(flags_fd, first + count, flags, 1) || !(flags[0] & COMPOUND_TAIL);
}

void folios_check(pid_t pid, uint64_t address, size_t size, unsigned int order)
{
	size_t count = (size_t)1 << order, folios = size / (page_size() << order), wrong = 0;
	uint64_t *pages = malloc(count * sizeof(*pages)), *flags = malloc(count * sizeof(*flags));
	uint64_t page = address / page_size();
	char path[64];
	int pages_fd, flags_fd;

	if (!pages || !flags)
		fail("no memory", "checking folios");
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	pages_fd = open_words(path);
	flags_fd = open_words("/proc/kpageflags");
	for (size_t i = 0; i < folios; i++, page += count) {
		if (!read_words(pages_fd, page, pages, count))
			fail("cannot read", path);
		if (!(pages[0] & PAGEMAP_FRAME))
			fail_with("page %zu of the mapping is not there", i * count);
		wrong += !is_folio(pages, flags_fd, flags, count);
	}
	if (wrong)
		fail_with("%zu of %zu folios are not of order %u: the file system makes no such "
			  "folios, or memory is too fragmented", wrong, folios, order);
	close(pages_fd);
	close(flags_fd);
	free(pages);
	free(flags);
}
