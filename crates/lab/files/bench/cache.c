#define _GNU_SOURCE /* O_TMPFILE */
#include "cache.h"

#include "fail.h"
#include "files.h"
#include "guard.h"
#include "mapping.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Read-ahead begins with small folios and grows them by two orders a window. */
#define RAMP_WINDOWS 8

size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* A window of four pages is the least that gets a large folio; so one of two gives order 0. */
static size_t window_size(unsigned int order)
{
	return order ? page_size() << order : 2 * page_size();
}

/* A partition has no queue of its own, its disk has. A file system without one device has a bdi. */
static void set_read_ahead(int fd, const char *dir, size_t bytes)
{
	static const char *const places[] = {
		"/sys/class/bdi/%u:%u/read_ahead_kb",
		"/sys/dev/block/%u:%u/queue/read_ahead_kb",
		"/sys/dev/block/%u:%u/../queue/read_ahead_kb",
	};
	char path[80], now[32], kib[32];
	struct stat stat;

	if (fstat(fd, &stat))
		fail("cannot look at a file in", dir);
	snprintf(kib, sizeof(kib), "%zu", bytes >> 10);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), places[i], major(stat.st_dev), minor(stat.st_dev));
		if (!try_read_text(path, now, sizeof(now)))
			continue;
		if (strcmp(now, kib))
			guard_change(path, kib);
		return;
	}
	fail_with("no read_ahead_kb of the device under %s", dir);
}

void cache_create(struct cache *cache, const char *dir, size_t size, unsigned int order)
{
	size_t window = window_size(order), step = 2 << 20;

	if (order == 1)
		fail_usage("order=1: read-ahead does not make folios of order 1");
	cache->order = order;
	cache->size = size;
	cache->offset = (RAMP_WINDOWS * window + step - 1) / step * step;
	if (size % (page_size() << order))
		fail_usage("size: whole folios of order %u expected", order);
	cache->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (cache->fd < 0)
		fail("cannot make a file in", dir);
	set_read_ahead(cache->fd, dir, window);
	close(cache->fd);
	/* An open file keeps the read-ahead that was set when it was opened. */
	cache->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (cache->fd < 0 || ftruncate(cache->fd, cache->offset + size))
		fail("cannot make a file in", dir);
}

void cache_fill(const struct cache *cache)
{
	struct mapping mapping;

	mapping_create(&mapping, cache, 0, cache->offset + cache->size);
	mapping_touch(&mapping, 1);
	mapping_clear_young();
	mapping_remove(&mapping);
	posix_fadvise(cache->fd, 0, cache->offset, POSIX_FADV_DONTNEED);
}

void cache_stop_read_ahead(const struct cache *cache, const char *dir)
{
	set_read_ahead(cache->fd, dir, 0);
}

void cache_remove(const struct cache *cache)
{
	if (close(cache->fd))
		fail("cannot close", "the benchmark's file");
}
