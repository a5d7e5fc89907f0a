#ifndef CGROUP_H
#define CGROUP_H

#include <stddef.h>
#include <stdint.h>

/* Such as the one whose memory is reclaimed, new for each sample. */
void cgroup_create(const char *path);
void cgroup_remove(const char *path);
void cgroup_join(const char *path);

/* A counter of memory.stat, as the kernel last added it up. */
uint64_t cgroup_counter(const char *path, const char *counter);
/* A counter of /proc/vmstat, of all cgroups. */
uint64_t machine_counter(const char *counter);

/* Counters, and what was added between two readings, both just after all was added up. */
#define CGROUP_COUNTERS 7

struct cgroup_stat {
	uint64_t counter[CGROUP_COUNTERS];
};

void cgroup_stat(const char *path, struct cgroup_stat *stat);
void cgroup_record(const struct cgroup_stat *before, const struct cgroup_stat *after);
uint64_t cgroup_pages_stolen(const struct cgroup_stat *before, const struct cgroup_stat *after);

/* Asks for that many bytes. Less than asked is no error here: the counters tell. */
void cgroup_reclaim(const char *path, size_t bytes);

#endif
