/*
 * The kernel selftest /selftest, which reports in KTAP. Its lines go to the console as they are,
 * and are counted.
 */
#include "fail.h"
#include "record.h"
#include "scenarios.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "/selftest"
#define MAX_FAILED 256
#define MAX_REASONS 16

static struct {
	unsigned int planned, passed, skipped, failed;
	char *lines[MAX_FAILED]; /* of those that failed */
	struct reason {
		char *text;
		unsigned int skipped;
	} reasons[MAX_REASONS + 1]; /* the last has no text */
} results;

/* Begins PROGRAM; what it says is read from the file. */
static FILE *begin(const char *directory)
{
	int ends[2];

	if (setenv("FOLIO_YOUNG_DIR", directory, 1) || pipe(ends))
		fail("cannot begin", PROGRAM);
	fflush(NULL);
	switch (fork()) {
	case -1:
		fail("cannot fork", PROGRAM);
	case 0:
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(PROGRAM, PROGRAM, NULL);
		fail("cannot run", PROGRAM);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

static void count_skipped(const char *text)
{
	struct reason *reason = results.reasons;

	results.skipped++;
	while (reason->text && strcmp(reason->text, text))
		if (++reason == results.reasons + MAX_REASONS)
			fail_with("more than %d reasons to skip tests", MAX_REASONS);
	if (!reason->text)
		reason->text = strdup(text);
	reason->skipped++;
}

/* KTAP: "ok 3 NAME", "ok 4 NAME # SKIP REASON", "not ok 5 NAME", and the plan, "1..42". */
static void count(char *line)
{
	static const char skip[] = "# SKIP ";
	const char *reason = strstr(line, skip);

	if (sscanf(line, "1..%u", &results.planned) == 1)
		return;
	if (!strncmp(line, "not ok ", 7)) {
		if (results.failed == MAX_FAILED)
			fail_with("more than %d tests failed", MAX_FAILED);
		results.lines[results.failed++] = strdup(line);
	} else if (!strncmp(line, "ok ", 3) && reason) {
		count_skipped(reason + strlen(skip));
	} else if (!strncmp(line, "ok ", 3)) {
		results.passed++;
	}
}

static void read_all(FILE *from)
{
	char line[1024];

	while (fgets(line, sizeof(line), from)) {
		line[strcspn(line, "\n")] = 0;
		printf("%s\n", line);
		count(line);
	}
	fclose(from);
}

static void record_results(void)
{
	char name[64];

	record_count("passed", "tests", results.passed);
	record_count("failed", "tests", results.failed);
	record_count("skipped", "tests", results.skipped);
	for (struct reason *reason = results.reasons; reason->text; reason++) {
		snprintf(name, sizeof(name), "skipped: %s", reason->text);
		record_count(name, "tests", reason->skipped);
	}
	record_print();
}

void selftest(const struct options *options)
{
	unsigned int ended;

	field_choice("cpus", "1", "1|2");
	options_end();
	read_all(begin(options->dir));
	ended = results.passed + results.skipped + results.failed;
	if (!ended || ended != results.planned)
		fail_with("the selftest ended after %u of %u tests", ended, results.planned);
	record_results();
	if (!results.failed)
		return;
	dprintf(STDERR_FILENO, "bench: wrong: %u of %u tests failed\n", results.failed, ended);
	for (unsigned int i = 0; i < results.failed; i++)
		dprintf(STDERR_FILENO, "bench: wrong: %s\n", results.lines[i]);
	_exit(1);
}
