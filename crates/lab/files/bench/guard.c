#include "guard.h"

#include "fail.h"
#include "files.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_UNDO 8
#define MAX_CGROUPS 80
#define PATH_SIZE 256

/* Shared with the child, which fills it in; an entry counts only once it is complete. */
static struct {
	struct undo {
		char path[PATH_SIZE], text[64];
	} undo[MAX_UNDO];
	volatile int count;
	char cgroups[MAX_CGROUPS][PATH_SIZE];
	volatile int cgroup_count;
} *notes;

void guard_write_at_end(const char *path, const char *text)
{
	struct undo *undo = &notes->undo[notes->count];

	if (notes->count == MAX_UNDO || strlen(path) >= PATH_SIZE ||
	    strlen(text) >= sizeof(undo->text))
		fail_with("cannot note how to restore, %s", path);
	strcpy(undo->path, path);
	strcpy(undo->text, text);
	notes->count++;
}

/* What a file said at first is what is put back. */
static bool is_noted(const char *path)
{
	for (int i = 0; i < notes->count; i++)
		if (!strcmp(notes->undo[i].path, path))
			return true;
	return false;
}

void guard_change(const char *path, const char *text)
{
	char now[64];

	read_text(path, now, sizeof(now));
	if (!is_noted(path))
		guard_write_at_end(path, now);
	write_text(path, text);
}

void guard_cgroup(const char *path)
{
	for (int i = 0; i < notes->cgroup_count; i++)
		if (!strcmp(notes->cgroups[i], path))
			return;
	if (strlen(path) >= PATH_SIZE || notes->cgroup_count == MAX_CGROUPS)
		fail_with("cannot note to remove, %s", path);
	strcpy(notes->cgroups[notes->cgroup_count], path);
	notes->cgroup_count++;
}

/* A cgroup stays busy for a moment after its last process. */
static void remove_cgroup(const char *path)
{
	char kill_path[PATH_SIZE + 16];

	snprintf(kill_path, sizeof(kill_path), "%s/cgroup.kill", path);
	try_write_text(kill_path, "1");
	for (int tries = 0; tries < 200; tries++) {
		if (!rmdir(path) || errno == ENOENT)
			return;
		usleep(10000);
	}
	dprintf(STDERR_FILENO, "bench: error: cannot remove, %s: %s\n", path, strerror(errno));
}

static void undo_all(void)
{
	while (notes->cgroup_count)
		remove_cgroup(notes->cgroups[--notes->cgroup_count]);
	while (notes->count) {
		struct undo *undo = &notes->undo[--notes->count];

		if (!try_write_text(undo->path, undo->text))
			dprintf(STDERR_FILENO, "bench: error: cannot restore to %s, %s: %s\n",
				undo->text, undo->path, strerror(errno));
	}
}

static int wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			fail("cannot wait", "the work's process");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int guard_run(void (*work)(void *), void *argument)
{
	sigset_t signals, before;
	pid_t child;
	int signal, status;

	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (notes == MAP_FAILED)
		fail("cannot map memory", "guard");
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	child = fork();
	if (child < 0)
		fail("cannot fork", "guard");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		work(argument);
		_exit(0);
	}
	while (sigwait(&signals, &signal))
		;
	if (signal != SIGCHLD)
		kill(child, SIGKILL);
	status = wait_for(child);
	undo_all();
	return signal == SIGCHLD ? status : 128 + signal;
}
