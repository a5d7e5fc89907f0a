/*
 * session: runs /session, a session of lru_gen in the form that the lab gives it, which has numbers
 * in place of names and has been checked. A step a line; answers come out as "session STEP: LINE".
 * The machine ends with it, so nothing is put back.
 */
#define _GNU_SOURCE /* O_TMPFILE, strerrorname_np */
#include "cache.h"
#include "cgroup.h"
#include "fail.h"
#include "files.h"
#include "lru.h"
#include "scenarios.h"
#include "sleeper.h"
#include "swap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THINGS 64
#define ROOT "/sys/fs/cgroup/"
#define DEBUG "/sys/kernel/debug/lru_gen"

struct session {
	const struct options *options;
	int step;
	int empty_file;
	char memcgs[MAX_THINGS][64];
	int memcg_count;
	struct cache files[MAX_THINGS];
	int file_count;
	struct sleeper sleepers[MAX_THINGS];
	int sleeper_count;
};

static const char *path_of(const struct session *session, unsigned int memcg)
{
	static char path[128];

	snprintf(path, sizeof(path), ROOT "%s", session->memcgs[memcg]);
	return path;
}

/* Folios that wait on this CPU for their list go there; the advice has nothing else to do. */
static void settle(const struct session *session)
{
	posix_fadvise(session->empty_file, 0, 0, POSIX_FADV_DONTNEED);
}

/* Calls each for the lines of a cgroup's part of a file, the first of which has its id. */
static unsigned int read_part(const struct session *session, const char *file, unsigned int memcg,
			      void (*each)(const struct session *session, const char *line))
{
	char line[512], shown[256];
	unsigned int id, found = 0;
	bool ours = false;
	FILE *in = fopen(file, "r");

	if (!in)
		fail("cannot open", file);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "memcg %u %255s", &id, shown) == 2) {
			ours = *shown == '/' && !strcmp(shown + 1, session->memcgs[memcg]);
			found = ours ? id : found;
		}
		if (ours && each)
			each(session, line);
	}
	fclose(in);
	if (!found)
		fail_with("%s does not show cgroup %s", file, session->memcgs[memcg]);
	return found;
}

static void print(const struct session *session, const char *line)
{
	printf("session %d: %s", session->step, line);
}

static void show(struct session *session, const char *numbers, bool full)
{
	unsigned int memcg;

	if (sscanf(numbers, "%u", &memcg) != 1)
		fail_with("step %d: bad numbers", session->step);
	settle(session);
	read_part(session, full ? DEBUG "_full" : DEBUG, memcg, print);
}

/* "$N" is the id of that cgroup, "\n" a new line. */
static void write_command(struct session *session, const char *text)
{
	char command[1024], *to = command;
	bool wrote;
	int reason;

	while (*text) {
		unsigned int memcg;
		int length;

		if (sscanf(text, "$%u;%n", &memcg, &length) == 1) {
			to += sprintf(to, "%u", read_part(session, DEBUG, memcg, NULL));
			text += length;
		} else if (!strncmp(text, "\\n", 2)) {
			*to++ = '\n';
			text += 2;
		} else {
			*to++ = *text++;
		}
		if (to - command > (int)sizeof(command) - 32)
			fail_with("step %d: command too long", session->step);
	}
	*to = 0;
	settle(session);
	wrote = try_write_text(DEBUG, command);
	reason = errno;
	printf("session %d: = %s\n", session->step, wrote ? "0" : strerrorname_np(reason));
}

static void make_memcg(struct session *session, const char *name)
{
	snprintf(session->memcgs[session->memcg_count], sizeof(*session->memcgs), "%s", name);
	cgroup_create(path_of(session, session->memcg_count++));
}

static void make_file(struct session *session, const char *numbers)
{
	unsigned int pages, order;

	if (sscanf(numbers, "%u %u", &pages, &order) != 2)
		fail_with("step %d: bad numbers", session->step);
	cache_create(&session->files[session->file_count++], session->options->dir,
		     pages * page_size(), order);
}

static void fill(struct session *session, const char *numbers)
{
	unsigned int memcg, file;

	if (sscanf(numbers, "%u %u", &memcg, &file) != 2)
		fail_with("step %d: bad numbers", session->step);
	sleeper_fill(path_of(session, memcg), &session->files[file]);
	cache_stop_read_ahead(&session->files[file], session->options->dir);
}

static void read_file(struct session *session, const char *numbers)
{
	unsigned int memcg, file, first, pages;

	if (sscanf(numbers, "%u %u %u %u", &memcg, &file, &first, &pages) != 4)
		fail_with("step %d: bad numbers", session->step);
	sleeper_read(path_of(session, memcg), &session->files[file], first, pages);
}

static void map(struct session *session, const char *numbers)
{
	unsigned int process, pages, file, first;
	unsigned long address;
	int count = sscanf(numbers, "%u %lx %u %u %u", &process, &address, &pages, &file, &first);

	if (count == 3)
		sleeper_map(&session->sleepers[process], address, pages, NULL, 0);
	else if (count == 5)
		sleeper_map(&session->sleepers[process], address, pages, &session->files[file],
			    first);
	else
		fail_with("step %d: bad numbers", session->step);
}

static void touch(struct session *session, const char *numbers)
{
	unsigned int process, first, pages, is_write, order;
	unsigned long address;

	if (sscanf(numbers, "%u %lx %u %u %u %u", &process, &address, &first, &pages, &is_write,
		   &order) != 6)
		fail_with("step %d: bad numbers", session->step);
	anon_order(order);
	sleeper_touch(&session->sleepers[process], address + first * page_size(), pages, is_write);
}

static void take(struct session *session, const char *name, const char *rest)
{
	if (!strcmp(name, "memcg"))
		make_memcg(session, rest);
	else if (!strcmp(name, "process"))
		sleeper_start(&session->sleepers[session->sleeper_count++],
			      path_of(session, atoi(rest)));
	else if (!strcmp(name, "file"))
		make_file(session, rest);
	else if (!strcmp(name, "fill"))
		fill(session, rest);
	else if (!strcmp(name, "read"))
		read_file(session, rest);
	else if (!strcmp(name, "map"))
		map(session, rest);
	else if (!strcmp(name, "touch"))
		touch(session, rest);
	else if (!strcmp(name, "sleep"))
		usleep(1000 * atoi(rest));
	else if (!strcmp(name, "write"))
		write_command(session, rest);
	else if (!strcmp(name, "show") || !strcmp(name, "show-full"))
		show(session, rest, !strcmp(name, "show-full"));
	else
		fail_with("step %d: unknown, %s", session->step, name);
}

void lru_gen_session(const struct options *options)
{
	static struct session session;
	char line[1024];
	FILE *in = fopen("/session", "r");

	if (!in)
		fail("cannot open", "/session");
	session.options = options;
	options_end();
	lru_select("mglru");
	swap_start("/dev/ram1");
	/* khugepaged would make huge pages of what is laid out here. */
	write_text("/sys/kernel/mm/transparent_hugepage/enabled", "never");
	session.empty_file = open(options->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (session.empty_file < 0)
		fail("cannot make a file in", options->dir);
	for (; fgets(line, sizeof(line), in); session.step++) {
		char *rest = line + strcspn(line, " ");

		line[strcspn(line, "\n")] = 0;
		if (*rest)
			*rest++ = 0;
		fflush(NULL); /* before processes are made of this one */
		take(&session, line, rest);
	}
	fflush(NULL);
	for (int i = 0; i < session.sleeper_count; i++)
		sleeper_stop(&session.sleepers[i]);
}
