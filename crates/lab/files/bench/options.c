#include "options.h"

#include "fail.h"
#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGUMENTS 32

static struct argument {
	const char *name, *value;
	bool asked;
} arguments[MAX_ARGUMENTS];
static int argument_count;

static void split(char *text)
{
	char *equals = strchr(text, '=');

	if (!equals || equals == text)
		fail_usage("FIELD=VALUE expected, found %s", text);
	if (argument_count == MAX_ARGUMENTS)
		fail_usage("too many arguments, at %s", text);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			fail_usage("control character in an argument");
	*equals = 0;
	for (int i = 0; i < argument_count; i++)
		if (!strcmp(arguments[i].name, text))
			fail_usage("%s given twice", text);
	arguments[argument_count++] = (struct argument){ text, equals + 1, false };
}

static const char *ask(const char *name, const char *otherwise)
{
	for (int i = 0; i < argument_count; i++) {
		if (strcmp(arguments[i].name, name))
			continue;
		arguments[i].asked = true;
		return arguments[i].value;
	}
	return otherwise;
}

static bool is_one_of(const char *value, const char *choices)
{
	size_t length = strlen(value);

	while (true) {
		size_t choice = strcspn(choices, "|");

		if (choice == length && !memcmp(choices, value, length))
			return true;
		if (!choices[choice])
			return false;
		choices += choice + 1;
	}
}

static const char *ask_choice(const char *name, const char *otherwise, const char *choices)
{
	const char *value = ask(name, otherwise);

	if (!is_one_of(value, choices))
		fail_usage("%s=%s: one of %s expected", name, value, choices);
	return value;
}

bool parse_number(const char *text, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !*end && !errno;
}

static uint64_t ask_number(const char *name, const char *otherwise, uint64_t least, uint64_t most)
{
	const char *value = ask(name, otherwise);
	uint64_t number;

	if (!parse_number(value, &number) || number < least || number > most)
		fail_usage("%s=%s: a number from %llu to %llu expected", name, value,
			   (unsigned long long)least, (unsigned long long)most);
	return number;
}

void options_parse(char **texts, struct options *options)
{
	static const char *const clocks[] = { "time", "instructions", "plugin", "regions" };
	const char *clock;

	for (; *texts; texts++)
		split(*texts);
	options->dir = ask("dir", "/mnt");
	options->cgroup = ask("cgroup", NULL);
	options->runs = ask_number("runs", "3", 1, 100);
	clock = ask_choice("clock", "time", "time|instructions|plugin|regions");
	for (int i = CLOCK_TIME; i <= CLOCK_REGIONS; i++)
		if (!strcmp(clock, clocks[i]))
			options->clock = i;
	record_kernel(ask("kernel", "running"));
}

const char *field_text(const char *name, const char *otherwise)
{
	const char *value = ask(name, otherwise);

	record_field(name, value);
	return value;
}

const char *field_choice(const char *name, const char *otherwise, const char *choices)
{
	const char *value = ask_choice(name, otherwise, choices);

	record_field(name, value);
	return value;
}

const char *field_if_given(const char *name, const char *otherwise, const char *choices)
{
	const char *value = ask_choice(name, otherwise, choices);

	if (value != otherwise)
		record_field(name, value);
	return value;
}

uint64_t field_number(const char *name, const char *otherwise, uint64_t most)
{
	uint64_t number = ask_number(name, otherwise, 0, most);

	field_text(name, otherwise);
	return number;
}

size_t field_size(const char *name, const char *otherwise)
{
	const char *value = field_text(name, otherwise);
	static const char *const units[] = { "KiB", "MiB", "GiB" };
	char *end;
	size_t size = strtoull(value, &end, 10);

	for (int i = 0; i < 3; i++)
		if (end != value && !strcmp(end, units[i]) && size && size < 1 << 20)
			return size << (10 * (i + 1));
	fail_usage("%s=%s: a size like 512MiB or 1GiB expected", name, value);
}

unsigned int field_percent(const char *name, const char *otherwise)
{
	const char *value = field_text(name, otherwise);
	char *end;
	unsigned long percent = strtoul(value, &end, 10);

	if (end == value || strcmp(end, "%") || !percent || percent > 100)
		fail_usage("%s=%s: a share from 1%% to 100%% expected", name, value);
	return percent;
}

uint64_t option_seed(void)
{
	uint64_t seed = ask_number("seed", "1", 0, UINT64_MAX);

	record_seed(seed);
	return seed;
}

void options_end(void)
{
	for (int i = 0; i < argument_count; i++)
		if (!arguments[i].asked)
			fail_usage("%s: no such field in this scenario", arguments[i].name);
}
