#include "mapper.h"

#include "cgroup.h"
#include "fail.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void live(int from_parent, bool running)
{
	struct pollfd end = { .fd = from_parent };

	while (poll(&end, 1, running ? 1 : -1) <= 0)
		;
	_exit(0);
}

void mapper_start(struct mapper *mapper, const char *cgroup, bool running,
		  uint64_t (*work)(void *), void *argument)
{
	int down[2], up[2], status;

	if (pipe(down) || pipe(up))
		fail("cannot make a pipe", "mapping process");
	mapper->pid = fork();
	if (mapper->pid < 0)
		fail("cannot fork", "mapping process");
	if (!mapper->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(down[1]);
		cgroup_join(cgroup);
		mapper->address = work(argument);
		if (write(up[1], &mapper->address, sizeof(mapper->address)) < 0)
			fail("cannot write", "pipe");
		live(down[0], running);
	}
	close(down[0]);
	close(up[1]);
	mapper->to_child = down[1];
	/* If it failed it has said why. */
	if (read(up[0], &mapper->address, sizeof(mapper->address)) <= 0) {
		waitpid(mapper->pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	close(up[0]);
}

void mapper_stop(struct mapper *mapper)
{
	close(mapper->to_child);
	if (waitpid(mapper->pid, NULL, 0) < 0)
		fail("cannot wait", "mapping process");
}
