#include "record.h"

#include "fail.h"

#include <stdio.h>
#include <string.h>

#define MAX_FIELDS 16
#define MAX_METRICS 96
#define MAX_VALUES 100 /* as many as there may be runs */

struct field {
	const char *name, *value;
};

struct metric {
	char name[64], unit[32];
	const char *basis, *better;
	double values[MAX_VALUES];
	int count;
};

static struct {
	const char *scenario, *kernel;
	uint64_t seed;
	struct field fields[MAX_FIELDS];
	struct metric metrics[MAX_METRICS];
	int field_count, metric_count;
} record;

void record_scenario(const char *scenario)
{
	record.scenario = scenario;
}

void record_seed(uint64_t seed)
{
	record.seed = seed;
}

void record_kernel(const char *kernel)
{
	record.kernel = kernel;
}

void record_field(const char *name, const char *value)
{
	if (record.field_count == MAX_FIELDS)
		fail_with("too many fields, %s", name);
	record.fields[record.field_count++] = (struct field){ name, value };
}

static struct metric *metric_named(const char *name)
{
	struct metric *metric = record.metrics;

	for (int i = 0; i < record.metric_count; i++, metric++)
		if (!strcmp(metric->name, name))
			return metric;
	if (record.metric_count == MAX_METRICS)
		fail_with("too many metrics, %s", name);
	record.metric_count++;
	snprintf(metric->name, sizeof(metric->name), "%s", name);
	return metric;
}

static void add(const char *name, const char *unit, const char *basis, const char *better,
		double value)
{
	struct metric *metric = metric_named(name);

	if (metric->count == MAX_VALUES)
		fail_with("too many samples, %s", name);
	snprintf(metric->unit, sizeof(metric->unit), "%s", unit);
	metric->basis = basis;
	metric->better = better;
	metric->values[metric->count++] = value;
}

void record_time(const char *name, const char *unit, const char *basis, double value)
{
	add(name, unit, basis, "lower", value);
}

void record_count(const char *name, const char *unit, uint64_t value)
{
	record_count_as(name, unit, "neither", value);
}

void record_count_as(const char *name, const char *unit, const char *better, uint64_t value)
{
	add(name, unit, "counted", better, value);
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_metric(const struct metric *metric)
{
	printf("{\"name\":\"%s\",\"unit\":\"%s\",\"basis\":\"%s\",\"better\":\"%s\",\"values\":[",
	       metric->name, metric->unit, metric->basis, metric->better);
	for (int i = 0; i < metric->count; i++)
		printf("%s%.15g", i ? "," : "", metric->values[i]);
	printf("]}");
}

void record_print(void)
{
	printf("record {\"scenario\":\"%s\",\"ground\":\"linux\",\"seed\":%llu,\"fields\":{",
	       record.scenario, (unsigned long long)record.seed);
	for (int i = 0; i < record.field_count; i++) {
		printf("%s\"%s\":", i ? "," : "", record.fields[i].name);
		print_text(record.fields[i].value);
	}
	printf("},\"variant\":{\"kernel\":");
	print_text(record.kernel);
	printf("},\"metrics\":[");
	for (int i = 0; i < record.metric_count; i++) {
		if (i)
			putchar(',');
		print_metric(&record.metrics[i]);
	}
	printf("]}\n");
	if (fflush(stdout))
		fail("cannot write", "stdout");
}
