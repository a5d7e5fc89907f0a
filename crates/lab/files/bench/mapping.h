#ifndef MAPPING_H
#define MAPPING_H

#include "cache.h"

/* A shared mapping of a part of the cache. */
struct mapping {
	char *at;
	size_t size;
	char *reserved; /* address space around it */
	size_t reserved_size;
};

/* Bytes that a PMD maps. */
size_t pmd_size(void);

/* From that offset of the file, half a PMD off PMD alignment: by PTEs whatever the folios' order. */
void mapping_create(struct mapping *mapping, const struct cache *cache, size_t offset,
		    size_t size);
/* On PMD alignment: faults map folios of that size by a PMD leaf each. */
void mapping_create_aligned(struct mapping *mapping, const struct cache *cache, size_t offset,
			    size_t size);
void mapping_remove(struct mapping *mapping);

/* Reads the first of every so many pages. */
void mapping_touch(const struct mapping *mapping, size_t every);

/*
 * Makes every entry of this process old and every folio it maps unreferenced, and leaves no
 * translation cached: the next access marks its entry young.
 */
void mapping_clear_young(void);

#endif
