#include "clock.h"

#include "entries.h"
#include "fail.h"
#include "record.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

uint64_t clock_now(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now))
		fail("cannot read", "clock");
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void clock_end_sample(const struct options *options)
{
	char answer[8];

	if (options->clock == CLOCK_REGIONS)
		fail_with("clock=regions: only a workload with a manifest has regions");
	if (options->clock == CLOCK_PLUGIN && !entries_command("sample", answer, sizeof(answer)))
		fail_with("clock=plugin needs the test kernel: no /proc/pageout_lab");
}

void clock_record(const struct options *options, const char *name, const char *each,
		  uint64_t duration, double units)
{
	bool counted = options->clock == CLOCK_INSTRUCTIONS;
	char unit[32];

	if (options->clock == CLOCK_PLUGIN || options->clock == CLOCK_REGIONS)
		return;
	snprintf(unit, sizeof(unit), "%s/%s", counted ? "instructions" : "ns", each);
	record_time(name, unit, counted ? "counted" : "measured", duration / units);
}
