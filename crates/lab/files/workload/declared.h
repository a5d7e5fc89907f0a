#ifndef DECLARED_H
#define DECLARED_H

#include <stdbool.h>

/* The manifest, as the lab wrote it down in C. The last of each has no name. */
extern const bool declared_warm_up; /* a sample before the first is not counted */

/* The architecture in the names of files. */
#if defined(__aarch64__)
#define DECLARED_ARCH "arm64"
#elif defined(__x86_64__)
#define DECLARED_ARCH "x86-64"
#elif defined(__riscv) && __riscv_xlen == 64
#define DECLARED_ARCH "riscv64"
#else
#define DECLARED_ARCH "other"
#endif

/* Of a workload that is not in C: its program, and the region that a whole run is, or NULL. */
extern const char *const declared_program, *const declared_run;

extern const struct declared_field {
	const char *name, *otherwise;
	bool is_size;
} declared_fields[];

extern const struct declared_metric {
	const char *name;
	bool is_region;
	const char *unit;   /* of a region, that of what it got through */
	const char *better; /* "lower", "higher" or "neither" */
} declared_metrics[];

#endif
