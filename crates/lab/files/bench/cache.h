#ifndef CACHE_H
#define CACHE_H

#include <stddef.h>

/* A file of holes whose page cache holds clean, zero-filled folios of one order. */
struct cache {
	int fd;
	size_t offset; /* where in the file the part that is used begins */
	size_t size;
	unsigned int order;
};

/* Makes the file, nameless, so that it is gone with its last descriptor, and sets read-ahead. */
void cache_create(struct cache *cache, const char *dir, size_t size, unsigned int order);

/* Fills the page cache, charged to the caller's cgroup; no folio is left referenced. */
void cache_fill(const struct cache *cache);

/* Pages of files opened from now on, whether mapped or read, come alone and of order 0. */
void cache_stop_read_ahead(const struct cache *cache, const char *dir);

void cache_remove(const struct cache *cache);

size_t page_size(void);

#endif
