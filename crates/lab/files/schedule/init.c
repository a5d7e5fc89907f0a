/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * PID 1 of a machine whose turns are decided: mounts what a workload needs, runs /workload with the
 * arguments after `workload` on the kernel's command line in /mnt, a file system, and says how it
 * ended.
 */
#include "../reports/guest.h"

#include <sys/wait.h>

#include "pageout_schedule.h"

static void open_console(void)
{
	int fd;

	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	fd = open("/dev/console", O_RDWR);
	for (int standard = 0; standard < 3; standard++)
		dup2(fd, standard);
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	/* The kernel passes on what it does not know itself, before that. */
	while (argc > 1 && strcmp(argv[0], "workload")) {
		argc--;
		argv++;
	}
	open_console();
	begin();
	child = fork();
	if (!child) {
		execv("/workload", argv);
		die("/workload", __LINE__);
	}
	must(waitpid(child, &status, 0) == child);
	if (WIFSIGNALED(status))
		schedule_say("fail the workload was ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		schedule_say("fail the workload ended with status %d", WEXITSTATUS(status));
	schedule_end();
	printf("pageout: the workload ended with status %#x\n", status);
	finish(0);
}
