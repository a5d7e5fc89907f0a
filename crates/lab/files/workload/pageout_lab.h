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

/* Adds to a counter. */
void lab_count(const char *metric, uint64_t value);

/* Unless it holds, ends the workload: this kernel is wrong, and the text says how. */
void lab_check(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
