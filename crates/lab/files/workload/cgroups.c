/*
 * The cgroup of a workload, and those below it.
 */
#include "pageout_lab.h"

#include "fail.h"
#include "files.h"
#include "options.h"
#include "place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SMALL_PAGE 4096

/* Kept, so that no region has to put it together. */
static char reclaim[PATH_MAX];

static void path_of(char *path, const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", place_cgroup, name);
}

static void path_below(char *path, unsigned int cgroup, const char *name)
{
	snprintf(path, PATH_MAX, "%s/%u/%s", place_cgroup, cgroup, name);
}

/* Makes the cgroup, which has a controller of memory. */
static void make(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/cgroup.subtree_control",
		 (int)(strrchr(place_cgroup, '/') - place_cgroup), place_cgroup);
	write_text(path, "+memory");
	if (mkdir(place_cgroup, 0755))
		fail("cannot make the cgroup", place_cgroup);
	path_of(reclaim, "memory.reclaim");
}

void lab_cgroup(void)
{
	char path[PATH_MAX];

	make();
	path_of(path, "cgroup.procs");
	write_text(path, "0");
}

void lab_cgroups(unsigned int count)
{
	char path[PATH_MAX];

	make();
	path_of(path, "cgroup.subtree_control");
	write_text(path, "+memory");
	for (unsigned int i = 0; i < count; i++) {
		path_below(path, i, "");
		if (mkdir(path, 0755))
			fail("cannot make the cgroup", path);
	}
}

void lab_enter(unsigned int cgroup)
{
	char path[PATH_MAX];

	path_below(path, cgroup, "cgroup.procs");
	write_text(path, "0");
}

uint64_t lab_charged(unsigned int cgroup)
{
	char path[PATH_MAX], text[32];
	uint64_t bytes;

	path_below(path, cgroup, "memory.current");
	read_text(path, text, sizeof(text));
	if (!parse_number(text, &bytes))
		fail_with("%s has no number: %s", path, text);
	return bytes / SMALL_PAGE;
}

void lab_reclaim(size_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", bytes);
	/* What is left to reclaim may be less than asked for: the caller looks. */
	if (!try_write_text(reclaim, text) && errno != EAGAIN)
		fail("cannot reclaim", place_cgroup);
}

void lab_limit(size_t bytes)
{
	char path[PATH_MAX], text[32];

	path_of(path, "memory.max");
	snprintf(text, sizeof(text), "%zu", bytes);
	write_text(path, text);
}
