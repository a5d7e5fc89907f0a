/*
 * workload NAME FIELD=VALUE...: runs a workload of the user's, and prints one record.
 */
#define _GNU_SOURCE /* MAP_FIXED_NOREPLACE */
#include "pageout_lab.h"

#include "clock.h"
#include "declared.h"
#include "fail.h"
#include "marks.h"
#include "options.h"
#include "place.h"
#include "record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_FIELDS 16
#define MAX_METRICS MARK_REGIONS

const char *place_dir, *place_cgroup = "/sys/fs/cgroup/workload";

static struct options options;
static const char *values[MAX_FIELDS]; /* of the declared fields */
static int begun, ended;	       /* samples */
static bool warms_up;		       /* the sample under way is not counted */
static volatile uint64_t *marks;       /* of the plugin that counts regions, if there is one */

/* Of the declared metrics, in the sample under way. */
static struct found {
	bool is_there, is_open;
	uint64_t start;		/* of an open region */
	uint64_t sum, units;	/* nanoseconds or what was counted; what a region got through */
} found[MAX_METRICS];

static const char *value(const char *field)
{
	for (int i = 0; declared_fields[i].name; i++)
		if (!strcmp(declared_fields[i].name, field))
			return values[i];
	fail_with("the manifest has no field %s", field);
}

uint64_t lab_number(const char *field)
{
	uint64_t number;

	if (!parse_number(value(field), &number))
		fail_with("field %s is no number: %s", field, value(field));
	return number;
}

size_t lab_size(const char *field)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	const char *text = value(field);
	char unit[4];
	unsigned long long size;

	if (sscanf(text, "%llu%3s", &size, unit) == 2)
		for (int i = 0; i < 5; i++)
			if (!strcmp(unit, units[i]))
				return size << (10 * i);
	fail_with("field %s is no size: %s", field, text);
}

const char *lab_text(const char *field)
{
	return value(field);
}

static int metric(const char *name, bool is_region)
{
	if (!begun && !warms_up)
		fail_with("%s before the first sample: call lab_sample()", name);
	for (int i = 0; declared_metrics[i].name; i++)
		if (!strcmp(declared_metrics[i].name, name) &&
		    declared_metrics[i].is_region == is_region)
			return i;
	fail_with("the manifest has no %s %s", is_region ? "region" : "counter", name);
}

void lab_begin(const char *name)
{
	struct found *of = &found[metric(name, true)];

	if (of->is_open)
		fail_with("region %s begins twice", name);
	of->is_open = true;
	if (marks)
		marks[of - found] = 1;
	else
		of->start = clock_now();
}

void lab_end(const char *name, uint64_t units)
{
	uint64_t end = marks ? 0 : clock_now();
	struct found *of = &found[metric(name, true)];

	if (!of->is_open)
		fail_with("region %s ends before it begins", name);
	if (marks)
		marks[of - found] = 1;
	of->is_open = false;
	of->is_there = true;
	of->sum += end - of->start;
	of->units += units;
}

void lab_units(const char *name, uint64_t units)
{
	struct found *of = &found[metric(name, true)];

	if (of->is_open || !of->is_there)
		fail_with("region %s gets units before it ends", name);
	of->units += units;
}

void lab_count(const char *name, uint64_t value)
{
	struct found *of = &found[metric(name, false)];

	of->is_there = true;
	of->sum += value;
}

/* The benchmark's messages are told apart by their beginnings. */
static _Noreturn void end_with(const char *beginning, const char *format, va_list list)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, list);
	fflush(NULL);
	dprintf(STDERR_FILENO, "bench: %s: %s\n", beginning, text);
	_exit(1);
}

void lab_check(bool holds, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (!holds)
		end_with("wrong", format, list);
	va_end(list);
}

void lab_require(bool holds, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (!holds)
		end_with("error", format, list);
	va_end(list);
}

static void record_found(const struct declared_metric *of, const struct found *found)
{
	char units[64];

	if (found->is_open)
		fail_with("region %s does not end in sample %d", of->name, begun);
	if (!found->is_there)
		fail_with("metric %s has no value in sample %d", of->name, begun);
	if (!of->is_region) {
		record_count_as(of->name, of->unit, of->better, found->sum);
		return;
	}
	if (!found->units)
		fail_with("region %s got through nothing in sample %d", of->name, begun);
	clock_record(&options, of->name, of->unit, found->sum, found->units);
	snprintf(units, sizeof(units), "%s: units", of->name);
	record_count(units, of->unit, found->units);
}

static void end_sample(void)
{
	if (marks)
		marks[MARK_SAMPLE] = 1;
	else
		clock_end_sample(&options);
	for (int i = 0; declared_metrics[i].name; i++)
		record_found(&declared_metrics[i], &found[i]);
	memset(found, 0, sizeof(found));
	ended++;
}

/*
 * Drops what the sample that warms up gave; the lab drops what the plugin of regions counted in it.
 * The other plugin counts from the beginning on, so there is none for it.
 */
static bool begins_warm_up(void)
{
	if (warms_up) {
		warms_up = false;
		memset(found, 0, sizeof(found));
		if (marks)
			marks[MARK_SAMPLE] = 1;
		return false;
	}
	warms_up = declared_warm_up && !begun && options.clock != CLOCK_PLUGIN;
	return warms_up;
}

bool lab_sample(void)
{
	if (begins_warm_up())
		return true;
	if (begun > ended)
		end_sample();
	if (begun == options.runs)
		return false;
	begun++;
	return true;
}

/* Maps the page of marks: shared, so that a child's copy of it is no work of a region. */
static void map_marks(void)
{
	size_t size = sysconf(_SC_PAGESIZE);
	void *at = mmap((void *)MARKS, size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0);

	if (at != (void *)MARKS || mlock(at, size))
		fail("cannot map", "the page of marks");
	marks = at;
}

int main(int count, char **arguments)
{
	if (count < 2)
		fail_usage("usage: workload NAME FIELD=VALUE...");
	record_scenario(arguments[1]);
	options_parse(arguments + 2, &options);
	place_dir = options.dir;
	if (options.cgroup)
		place_cgroup = options.cgroup;
	for (int i = 0; declared_fields[i].name; i++)
		values[i] = field_text(declared_fields[i].name, declared_fields[i].otherwise);
	options_end();
	if (options.clock == CLOCK_REGIONS)
		map_marks();
	workload();
	if (!begun)
		fail_with("it took no sample: workload() did not call lab_sample()");
	if (ended < options.runs)
		fail_with("it ended %d of %d samples: call lab_sample() until it is false", ended,
			  options.runs);
	fflush(NULL);
	putchar('\n');
	record_print();
	return 0;
}
