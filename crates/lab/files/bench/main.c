/*
 * bench SCENARIO FIELD=VALUE...: runs one scenario of page aging or reclaim on this kernel, and
 * prints one record. Needs root, cgroup v2 and a file system with large folios.
 */
#include "fail.h"
#include "guard.h"
#include "options.h"
#include "record.h"
#include "scenarios.h"

#include <string.h>

static const struct scenario {
	const char *name;
	void (*run)(const struct options *options);
} scenarios[] = {
	{ "reclaim-file", reclaim_file },
	{ "reclaim-shmem", reclaim_shmem },
	{ "age-file", age_file },
	{ "mixed-mappings", mixed_mappings },
	{ "helper-calls", helper_calls },
	{ "hot-pages", hot_pages },
	{ "selftest", selftest },
	{ "session", lru_gen_session },
};

struct work {
	const struct scenario *scenario;
	struct options options;
};

static void run(void *argument)
{
	struct work *work = argument;

	work->scenario->run(&work->options);
}

int main(int count, char **arguments)
{
	struct work work = { .scenario = NULL };

	if (count < 2)
		fail_usage("usage: bench SCENARIO FIELD=VALUE...");
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (!strcmp(arguments[1], scenarios[i].name))
			work.scenario = &scenarios[i];
	if (!work.scenario)
		fail_usage("%s: one of reclaim-file, reclaim-shmem, age-file, mixed-mappings, "
			   "helper-calls, hot-pages, selftest, session expected",
			   arguments[1]);
	record_scenario(work.scenario->name);
	options_parse(arguments + 2, &work.options);
	if (!work.options.cgroup)
		work.options.cgroup = "/sys/fs/cgroup/pageout-bench";
	return guard_run(run, &work);
}
