#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every scenario takes and no record tells as a field. */
struct options {
	const char *dir;    /* where the file is made: a file system with large folios */
	const char *cgroup; /* made and removed; NULL if none is named */
	int runs;
	/*
	 * What tells durations: time; the same where it counts instructions, a nanosecond each; or
	 * the emulator's plugins, which are not asked but told: that of one function of the kernel,
	 * or that of a workload's regions.
	 */
	enum { CLOCK_TIME, CLOCK_INSTRUCTIONS, CLOCK_PLUGIN, CLOCK_REGIONS } clock;
};

/* The arguments after the scenario, FIELD=VALUE each. */
void options_parse(char **arguments, struct options *options);

/*
 * Scenario fields: the argument's value or else the default, which also goes into the record.
 * Choices are separated by '|'. Sizes are like "1GiB", shares like "80%".
 */
const char *field_choice(const char *name, const char *otherwise, const char *choices);
/* The same, but records have it only where it was given. */
const char *field_if_given(const char *name, const char *otherwise, const char *choices);
const char *field_text(const char *name, const char *otherwise);
uint64_t field_number(const char *name, const char *otherwise, uint64_t most);
size_t field_size(const char *name, const char *otherwise);
unsigned int field_percent(const char *name, const char *otherwise);

/* A decimal number and nothing else. */
bool parse_number(const char *text, uint64_t *number);

/* The seed, which a record has outside its fields. */
uint64_t option_seed(void);

/* After the last field: an argument nobody asked for is an error. */
void options_end(void);

#endif
