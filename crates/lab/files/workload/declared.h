#ifndef DECLARED_H
#define DECLARED_H

#include <stdbool.h>

/* The manifest, as the lab wrote it down in C. The last of each has no name. */
extern const bool declared_warm_up; /* a sample before the first is not counted */

extern const struct declared_field {
	const char *name, *otherwise;
} declared_fields[];

extern const struct declared_metric {
	const char *name;
	bool is_region;
	const char *unit;   /* of a region, that of what it got through */
	const char *better; /* "lower", "higher" or "neither" */
} declared_metrics[];

#endif
