/* Processes that map what the workload does, and sleep; a thread of it that runs. */
#define _GNU_SOURCE /* CPU_SET */
#include "pageout_lab.h"

#include "cpu.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 16

static pid_t sharers[MOST];
static unsigned int count;
static volatile bool runs; /* the thread */

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

void lab_run_on(unsigned int cpu)
{
	lab_require(cpu_stay(cpu), "the machine has no CPU %u", cpu);
}

void lab_give_up_turn(void)
{
	cpu_give_turn();
}

static void *run(void *unused)
{
	(void)unused;
	lab_run_on(1);
	while (true) {
		runs = true;
		lab_give_up_turn();
	}
	return NULL;
}

void lab_run_on_both(void)
{
	pthread_t thread;

	lab_run_on(0);
	lab_require(!pthread_create(&thread, NULL, run, NULL), "cannot start a thread");
	while (!runs)
		usleep(1000);
}
