#ifndef CLOCK_H
#define CLOCK_H

#include "options.h"

#include <stdint.h>

/* Nanoseconds; instructions where the machine counts a nanosecond an instruction. */
uint64_t clock_now(void);

/* Tells the plugin, if it is what counts, that what it has counted belongs to one sample. */
void clock_end_sample(const struct options *options);

/* Records a duration shared out over so many units, named like "4K page"; not if a plugin counts. */
void clock_record(const struct options *options, const char *name, const char *each,
		  uint64_t duration, double units);

#endif
