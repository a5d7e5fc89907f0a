#define _GNU_SOURCE /* pipe2, MAP_FIXED_NOREPLACE */
#include "sleeper.h"

#include "cgroup.h"
#include "fail.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct order {
	enum { MAP, TOUCH } kind;
	uint64_t address;
	size_t pages;
	int file; /* of the process that gives the order; -1: none */
	off_t offset;
	bool is_write;
};

/* A descriptor of one's own of a file that another process has open: it has no read-ahead. */
static int open_file(pid_t owner, int file)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", owner, file);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fail("cannot open", path);
	return fd;
}

static void map(const struct order *order)
{
	int fd = order->file < 0 ? -1 : open_file(getppid(), order->file);
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	if (mmap((void *)order->address, order->pages * page_size(), PROT_READ | PROT_WRITE,
		 flags | MAP_FIXED_NOREPLACE, fd, order->offset) == MAP_FAILED)
		fail("cannot map", "a session's region");
	if (fd >= 0)
		close(fd);
}

static void touch(const struct order *order)
{
	for (size_t page = 0; page < order->pages; page++) {
		volatile char *at = (volatile char *)order->address + page * page_size();

		if (order->is_write)
			*at = 1;
		else
			(void)*at;
	}
}

/* All memory that this process has is brought in and locked before it is the cgroup's. */
static void join(const char *cgroup)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mlockall(MCL_CURRENT))
		fail("cannot lock", "a process's memory");
	cgroup_join(cgroup);
}

static _Noreturn void live(int orders, int answers)
{
	struct order order;
	char done = 0;

	if (write(answers, &done, 1) != 1)
		fail("cannot write", "pipe");
	while (read(orders, &order, sizeof(order)) == sizeof(order)) {
		if (order.kind == MAP)
			map(&order);
		else
			touch(&order);
		if (write(answers, &done, 1) != 1)
			fail("cannot write", "pipe");
	}
	_exit(0);
}

/* If it failed it has said why. */
static void wait_for_answer(const struct sleeper *sleeper)
{
	char done;

	if (read(sleeper->answers, &done, 1) != 1)
		_exit(1);
}

void sleeper_start(struct sleeper *sleeper, const char *cgroup)
{
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		fail("cannot make a pipe", "session's process");
	sleeper->pid = fork();
	if (sleeper->pid < 0)
		fail("cannot fork", "session's process");
	if (!sleeper->pid) {
		close(down[1]);
		close(up[0]);
		join(cgroup);
		live(down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	sleeper->orders = down[1];
	sleeper->answers = up[0];
	wait_for_answer(sleeper);
}

/* Later processes have its pipe too, so that closing it here is no end of it. */
void sleeper_stop(struct sleeper *sleeper)
{
	kill(sleeper->pid, SIGKILL);
	if (waitpid(sleeper->pid, NULL, 0) < 0)
		fail("cannot wait", "session's process");
	close(sleeper->orders);
	close(sleeper->answers);
}

static void give(struct sleeper *sleeper, const struct order *order)
{
	if (write(sleeper->orders, order, sizeof(*order)) != sizeof(*order))
		fail("cannot write", "pipe");
	wait_for_answer(sleeper);
}

void sleeper_map(struct sleeper *sleeper, uint64_t address, size_t pages,
		 const struct cache *file, size_t first)
{
	struct order order = { .kind = MAP, .address = address, .pages = pages, .file = -1 };

	if (file) {
		order.file = file->fd;
		order.offset = file->offset + first * page_size();
	}
	give(sleeper, &order);
}

void sleeper_touch(struct sleeper *sleeper, uint64_t address, size_t pages, bool is_write)
{
	struct order order = {
		.kind = TOUCH, .address = address, .pages = pages, .is_write = is_write,
	};

	give(sleeper, &order);
}

/* Forks; true in the child, which is in the cgroup, and false in the parent once that has ended. */
static bool in_child(const char *cgroup)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		fail("cannot fork", "session's process");
	if (!child) {
		join(cgroup);
		return true;
	}
	if (waitpid(child, &status, 0) < 0)
		fail("cannot wait", "session's process");
	if (status)
		_exit(1); /* it has said why */
	return false;
}

void sleeper_fill(const char *cgroup, const struct cache *file)
{
	if (!in_child(cgroup))
		return;
	cache_fill(file);
	_exit(0);
}

void sleeper_read(const char *cgroup, const struct cache *file, size_t first, size_t pages)
{
	static char page[65536];
	ssize_t size = page_size();
	int fd;

	if (!in_child(cgroup))
		return;
	fd = open_file(getppid(), file->fd);
	for (size_t i = first; i < first + pages; i++)
		if (pread(fd, page, size, file->offset + i * size) != size)
			fail("cannot read", "a session's file");
	_exit(0);
}
