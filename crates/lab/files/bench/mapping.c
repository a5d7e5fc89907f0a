#include "mapping.h"

#include "fail.h"
#include "files.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

size_t pmd_size(void)
{
	return page_size() * (page_size() / sizeof(uint64_t));
}

/* So many bytes off PMD alignment. */
static void create_off(struct mapping *mapping, const struct cache *cache, size_t offset,
		       size_t size, size_t off)
{
	size_t pmd = pmd_size();
	uintptr_t start;

	mapping->size = size;
	mapping->reserved_size = size + 3 * pmd;
	mapping->reserved = mmap(NULL, mapping->reserved_size, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapping->reserved == MAP_FAILED)
		fail("cannot reserve address space", "mapping");
	start = ((uintptr_t)mapping->reserved + pmd - 1) / pmd * pmd + off;
	mapping->at = mmap((void *)start, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			   cache->fd, offset);
	if (mapping->at == MAP_FAILED)
		fail("cannot map", "the benchmark's file");
}

void mapping_create(struct mapping *mapping, const struct cache *cache, size_t offset, size_t size)
{
	create_off(mapping, cache, offset, size, pmd_size() / 2);
}

void mapping_create_aligned(struct mapping *mapping, const struct cache *cache, size_t offset,
			    size_t size)
{
	create_off(mapping, cache, offset, size, 0);
}

void mapping_remove(struct mapping *mapping)
{
	munmap(mapping->reserved, mapping->reserved_size);
}

void mapping_touch(const struct mapping *mapping, size_t every)
{
	for (size_t at = 0; at < mapping->size; at += every * page_size())
		(void)*(volatile char *)(mapping->at + at);
}

/* Clearing through proc flushes nothing, but fork flushes its parent on every architecture. */
void mapping_clear_young(void)
{
	pid_t child;

	write_text("/proc/self/clear_refs", "1");
	child = fork();
	if (child < 0)
		fail("cannot fork", "to flush translations");
	if (!child)
		_exit(0);
	if (waitpid(child, NULL, 0) < 0)
		fail("cannot wait", "to flush translations");
}
