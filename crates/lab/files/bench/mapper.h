#ifndef MAPPER_H
#define MAPPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What a process does when its work is done, touching nothing. One that wakes does so every
 * millisecond, and sleeps again: enough for the multi-generational LRU to take its page tables for
 * used since the last walk. One that spins sleeps until a sample begins, and does not leave its CPU
 * until that ends: flushes of its TLB have to interrupt it.
 */
enum mapper_life { MAPPER_SLEEPS, MAPPER_WAKES, MAPPER_SPINS };

/* The process of the cgroup, whose memory is aged and reclaimed from outside. */
struct mapper {
	pid_t pid;
	uint64_t address; /* what its work returned */
	enum mapper_life life;
	volatile bool *spins; /* shared with it: whether it does */
};

/*
 * Starts a process in the cgroup, on one CPU unless that is negative, lets it do its work and waits
 * until it has.
 */
void mapper_start(struct mapper *mapper, const char *cgroup, enum mapper_life life, int cpu,
		  uint64_t (*work)(void *), void *argument);
void mapper_stop(struct mapper *mapper);

/* Around what is measured, once. */
void mapper_begin(struct mapper *mapper);
void mapper_end(struct mapper *mapper);

/* Keeps the calling process on a CPU. */
void mapper_pin(int cpu);

#endif
