#include "cgroup.h"

#include "fail.h"
#include "files.h"
#include "flush.h"
#include "guard.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 300

static const char *const names[CGROUP_COUNTERS] = {
	"pgscan", "pgsteal", "pgactivate", "pgdeactivate", "pgrefill",
	"workingset_refault_file", "workingset_activate_file",
};

static const char *file_of(const char *cgroup, const char *file)
{
	static char path[PATH_SIZE];

	if (snprintf(path, sizeof(path), "%s/%s", cgroup, file) >= (int)sizeof(path))
		fail_with("path too long, %s", cgroup);
	return path;
}

/* The parent must hand the memory controller down. */
static void enable_memory(const char *path)
{
	char parent[PATH_SIZE], control[PATH_SIZE + 32], enabled[256];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		fail_usage("cgroup=%s: a path below a cgroup2 mount expected", path);
	*slash = 0;
	snprintf(control, sizeof(control), "%s/cgroup.subtree_control", parent);
	read_text(control, enabled, sizeof(enabled));
	if (strstr(enabled, "memory"))
		return;
	guard_write_at_end(control, "-memory");
	write_text(control, "+memory");
}

void cgroup_create(const char *path)
{
	enable_memory(path);
	if (mkdir(path, 0755))
		fail("cannot make the cgroup", path);
	guard_cgroup(path);
	if (access(file_of(path, "memory.reclaim"), W_OK))
		fail("the kernel has no memory.reclaim", path);
}

void cgroup_remove(const char *path)
{
	for (int tries = 0; rmdir(path); tries++) {
		if (errno != EBUSY || tries == 200)
			fail("cannot remove the cgroup", path);
		usleep(10000);
	}
}

static uint64_t counter_in(const char *file, const char *counter)
{
	char text[8192], name[64];
	unsigned long long value;
	int length;

	read_text(file, text, sizeof(text));
	for (char *line = text; sscanf(line, " %63s %llu%n", name, &value, &length) == 2;
	     line += length)
		if (!strcmp(name, counter))
			return value;
	fail_with("%s lacks %s", file, counter);
}

uint64_t cgroup_counter(const char *path, const char *counter)
{
	return counter_in(file_of(path, "memory.stat"), counter);
}

uint64_t machine_counter(const char *counter)
{
	return counter_in("/proc/vmstat", counter);
}

void cgroup_join(const char *path)
{
	write_text(file_of(path, "cgroup.procs"), "0");
}

void cgroup_stat(const char *path, struct cgroup_stat *stat)
{
	flush_wait(path);
	for (int i = 0; i < CGROUP_COUNTERS; i++)
		stat->counter[i] = cgroup_counter(path, names[i]);
}

void cgroup_record(const struct cgroup_stat *before, const struct cgroup_stat *after)
{
	for (int i = 0; i < CGROUP_COUNTERS; i++)
		record_count(names[i], "pages", after->counter[i] - before->counter[i]);
}

uint64_t cgroup_pages_stolen(const struct cgroup_stat *before, const struct cgroup_stat *after)
{
	return after->counter[1] - before->counter[1];
}

void cgroup_reclaim(const char *path, size_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", bytes);
	if (!try_write_text(file_of(path, "memory.reclaim"), text) && errno != EAGAIN)
		fail("cannot reclaim", path);
}
