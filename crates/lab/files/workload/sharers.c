/* Processes that map what the workload does, and sleep. */
#include "pageout_lab.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 16

static pid_t sharers[MOST];
static unsigned int count;

void lab_sharers(unsigned int more)
{
	lab_require(count + more <= MOST, "more than %d processes", MOST);
	for (unsigned int i = 0; i < more; i++) {
		pid_t sharer = fork();

		lab_require(sharer >= 0, "cannot fork");
		if (!sharer)
			while (true)
				pause();
		sharers[count++] = sharer;
	}
}

void lab_end_sharers(void)
{
	while (count) {
		kill(sharers[--count], SIGKILL);
		waitpid(sharers[count], NULL, 0);
	}
}
