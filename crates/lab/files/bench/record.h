#ifndef RECORD_H
#define RECORD_H

#include <stdint.h>

/* The one record of this run: what it was, and what came out. */
void record_scenario(const char *scenario);
void record_seed(uint64_t seed);
void record_kernel(const char *kernel);
void record_field(const char *name, const char *value);

/* One more sample of a metric. Better is "lower", "higher" or "neither". */
void record_time(const char *name, const char *unit, const char *basis, double value);
void record_count(const char *name, const char *unit, uint64_t value); /* better "neither" */
void record_count_as(const char *name, const char *unit, const char *better, uint64_t value);

/* One line on stdout: "record " and a JSON object as docs/records.md has it. */
void record_print(void);

#endif
