#include "flush.h"

#include "cgroup.h"
#include "fail.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_US 10000
#define POLLS 500 /* more than twice the time between two flushes */
#define TRIES 3

/* A fault counts in a cgroup of its own: too little for the kernel to add it up before its time. */
static void fault_in(const char *cgroup)
{
	volatile char *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
	pid_t child = fork();

	if (page == MAP_FAILED || child < 0)
		fail("cannot map memory or fork", "to await a flush");
	if (!child) {
		cgroup_join(cgroup);
		*page = 1;
		_exit(0);
	}
	munmap((void *)page, 1);
	if (waitpid(child, NULL, 0) < 0)
		fail("cannot wait", "to await a flush");
}

static bool sees_flush(const char *cgroup)
{
	uint64_t before;

	fault_in(cgroup);
	before = cgroup_counter(cgroup, "pgfault");
	for (int i = 0; i < POLLS; i++) {
		if (cgroup_counter(cgroup, "pgfault") != before)
			return true;
		usleep(POLL_US);
	}
	return false;
}

void flush_wait(const char *cgroup)
{
	static char own[300];

	if (!*own) {
		if (snprintf(own, sizeof(own), "%s-flush", cgroup) >= (int)sizeof(own))
			fail_with("path too long, %s", cgroup);
		cgroup_create(own);
	}
	for (int i = 0; i < TRIES; i++)
		if (sees_flush(own))
			return;
	fail_with("the kernel does not add up memory.stat by itself");
}
