#ifndef SLEEPER_H
#define SLEEPER_H

#include "cache.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A process of a cgroup that sleeps but for what it is told to do. Its own memory is locked and
 * was charged elsewhere, so that what the cgroup's generations count, and what walks of its page
 * tables see, are the mappings it was told to make.
 */
struct sleeper {
	pid_t pid;
	int orders, answers;
};

void sleeper_start(struct sleeper *sleeper, const char *cgroup);
void sleeper_stop(struct sleeper *sleeper);

/* Maps pages of the file from a page of it on, shared; without a file, anonymous memory. */
void sleeper_map(struct sleeper *sleeper, uint64_t address, size_t pages,
		 const struct cache *file, size_t first);

/* Reads or writes a byte of each page. */
void sleeper_touch(struct sleeper *sleeper, uint64_t address, size_t pages, bool is_write);

/* In a process of the cgroup that is gone afterwards: the whole file into the page cache... */
void sleeper_fill(const char *cgroup, const struct cache *file);

/* ...and pages of it by read(2), a page a call. */
void sleeper_read(const char *cgroup, const struct cache *file, size_t first, size_t pages);

#endif
