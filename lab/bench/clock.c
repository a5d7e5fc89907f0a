#include "clock.h"

#include "fail.h"
#include "record.h"

#include <stdio.h>
#include <time.h>

uint64_t clock_now(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now))
		fail("cannot read", "clock");
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void clock_record(const struct options *options, const char *name, const char *each,
		  uint64_t duration, double units)
{
	char unit[32];

	snprintf(unit, sizeof(unit), "%s/%s", options->instructions ? "instructions" : "ns", each);
	record_time(name, unit, options->instructions ? "counted" : "measured", duration / units);
}
