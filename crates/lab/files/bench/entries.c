#include "entries.h"

#include "fail.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LAB_FILE "/proc/pageout_lab"

struct entries {
	uint64_t present, young, dirty, contiguous;
};

bool entries_command(const char *command, char *answer, size_t size)
{
	int fd = open(LAB_FILE, O_RDWR | O_CLOEXEC);
	ssize_t length;

	if (fd < 0 && errno == ENOENT)
		return false;
	if (fd < 0)
		fail("cannot open", LAB_FILE);
	if (write(fd, command, strlen(command)) < 0)
		fail(command, LAB_FILE);
	length = pread(fd, answer, size - 1, 0);
	if (length < 0)
		fail("cannot read", LAB_FILE);
	answer[length] = 0;
	close(fd);
	return true;
}

static bool count(pid_t pid, uint64_t address, size_t size, struct entries *entries)
{
	char command[96], answer[256];

	snprintf(command, sizeof(command), "count %d %" PRIu64 " %zu", pid, address, size);
	if (!entries_command(command, answer, sizeof(answer)))
		return false;
	if (sscanf(answer, "present %" SCNu64 " young %" SCNu64 " dirty %" SCNu64
		   " contiguous %" SCNu64, &entries->present, &entries->young, &entries->dirty,
		   &entries->contiguous) != 4)
		fail_with("cannot understand %s, %s", LAB_FILE, answer);
	return true;
}

static void record_one(const char *prefix, const char *what, uint64_t count)
{
	char name[64];

	snprintf(name, sizeof(name), "%s: %s", prefix, what);
	record_count(name, "entries", count);
}

void entries_record(const char *prefix, pid_t pid, uint64_t address, size_t size)
{
	struct entries entries;

	if (!count(pid, address, size, &entries))
		return;
	record_one(prefix, "present", entries.present);
	record_one(prefix, "young", entries.young);
	record_one(prefix, "dirty", entries.dirty);
	record_one(prefix, "contiguous", entries.contiguous);
}
