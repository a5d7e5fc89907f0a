#ifndef PAGEOUT_LAB_H
#define PAGEOUT_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A workload of yours in the lab. Its fields and metrics are those of its manifest; a name that
 * the manifest does not have ends it with an error, as does a sample without a value of a metric.
 */

/* The workload: you write it, in place of main(). */
void workload(void);

/* The value of a field: given on the command line, or else the manifest's default. */
uint64_t lab_number(const char *field);
size_t lab_size(const char *field); /* in bytes */
const char *lab_text(const char *field);

/* Begins the next sample, and ends the one before it. False once all are taken. */
bool lab_sample(void);

/*
 * A region: what the machine executes between its begin and its end is counted. The metric is that
 * count divided by the units, such as pages, that the region got through. A region may begin
 * several times in a sample; counts and units add up.
 */
void lab_begin(const char *metric);
void lab_end(const char *metric, uint64_t units);

/* Adds units to those of a region that has ended, where they are known only then. */
void lab_units(const char *metric, uint64_t units);

/* Adds to a counter. */
void lab_count(const char *metric, uint64_t value);

/* Unless it holds, ends the workload: this kernel is wrong, and the text says how. */
void lab_check(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Unless it holds, ends the workload: it cannot be measured here, and the text says why. */
void lab_require(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Memory, for workloads that need it. Each of these ends the workload, as lab_require() does, where
 * the machine does not do what it is asked. Counts of pages are of 4K.
 */

/* Private anonymous memory. Stores to it bring folios of this order: 0, or 2 and more. */
void *lab_anon(size_t size, unsigned int order);

/* Stores to each page: "zero", "same" (a word over and over), "text" (compresses), "random". */
void lab_fill(void *at, size_t size, const char *content);
/* Reads each page; false unless it has what lab_fill() stored. */
bool lab_holds(const void *at, size_t size, const char *content);

/*
 * A nameless file of holes at /mnt. Reads and faults from its beginning on bring clean folios, from
 * the offset on of this order: 0, or 2 and more. The size is what comes after the offset.
 */
struct lab_file {
	int fd;
	size_t offset;
};
struct lab_file lab_file(size_t size, unsigned int order);

/* Maps such a file shared and writable, from its offset on, with each page present. */
void *lab_map_file(struct lab_file file, size_t size, unsigned int order);

/* The memory is wholly present, in folios of exactly this order. */
void lab_require_folios(const void *at, size_t size, unsigned int order);

/* 4K pages of this process's memory: mapped, swapped out, or neither. */
struct lab_pages {
	uint64_t present, swapped, absent;
};
struct lab_pages lab_pages(const void *at, size_t size);

/* The frame of a page that is mapped. */
uint64_t lab_frame(const void *at);

/* Starts processes, up to 16, that map all that this one does, and sleep; ends them. */
void lab_sharers(unsigned int more);
void lab_end_sharers(void);

/* Moves this thread to a CPU: below cpus of the manifest. */
void lab_run_on(unsigned int cpu);

/* To be called in loops that wait: the emulator goes on with the next CPU. */
void lab_give_up_turn(void);

/*
 * Moves this thread to CPU 0, and starts another one of its process on CPU 1, so that flushes have
 * to reach that too. It gives up each turn of its emulated CPU. Takes cpus = 2 in the manifest.
 */
void lab_run_on_both(void);

/* From now on the kernel swaps: to "zram" or to a "ram-disk". Takes swap = true in the manifest. */
void lab_swap(const char *to);

/*
 * A counter of /proc/vmstat; of anonymous folios of an order, such as "swpout"; of zram, such as
 * "same_pages" (its mm_stat). Folios of order 0 have no counters: always 0.
 */
uint64_t lab_vmstat(const char *counter);
uint64_t lab_folios(unsigned int order, const char *counter);
uint64_t lab_zram(const char *counter);

/*
 * 4K pages that reclaim has scanned and taken on this machine, and that came back soon after it took
 * them. lab_count_scans() adds those since then to the manifest's counters "pgscan" and "pgsteal".
 */
struct lab_scans {
	uint64_t scanned, taken, refaulted;
};
struct lab_scans lab_scans(void);
void lab_count_scans(struct lab_scans since);

/*
 * Moves this process into a cgroup of its own, asks that for bytes through memory.reclaim, and
 * limits it to bytes (memory.max).
 */
void lab_cgroup(void);
void lab_reclaim(size_t bytes);
void lab_limit(size_t bytes);

/*
 * In place of lab_cgroup(): the cgroup has so many others below it, numbered from 0, and processes
 * are in these alone. Moves this process into one; the 4K pages that are charged to one.
 */
void lab_cgroups(unsigned int count);
void lab_enter(unsigned int cgroup);
uint64_t lab_charged(unsigned int cgroup);

/* The LRU of the kernel: "classic", "mglru" or "mglru-no-walks". */
void lab_lru(const char *lru);

#endif
