#ifndef MAPPER_H
#define MAPPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The process of the cgroup, whose memory is aged and reclaimed from outside. */
struct mapper {
	pid_t pid;
	uint64_t address; /* what its work returned */
	int to_child;
};

/*
 * Starts a process in the cgroup, lets it do its work and waits until it has. Then it sleeps
 * until it is stopped; or, running, wakes every millisecond and sleeps again, touching nothing:
 * enough for the multi-generational LRU to take its page tables for used since the last walk.
 */
void mapper_start(struct mapper *mapper, const char *cgroup, bool running,
		  uint64_t (*work)(void *), void *argument);
void mapper_stop(struct mapper *mapper);

#endif
