#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "options.h"

/* Each reads its fields, runs its samples and fills the record. */
void reclaim_file(const struct options *options);
void reclaim_shmem(const struct options *options); /* in the lab's machine alone: it swaps */
void age_file(const struct options *options);
void mixed_mappings(const struct options *options);
void helper_calls(const struct options *options);
void hot_pages(const struct options *options);

/* A kernel selftest and its results, in the lab's machine alone. */
void selftest(const struct options *options);

/* No record: a session of lru_gen and what it answers, in the lab's machine alone. */
void lru_gen_session(const struct options *options);

#endif
