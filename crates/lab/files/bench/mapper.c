#define _GNU_SOURCE /* CPU_SET */
#include "mapper.h"

#include "cgroup.h"
#include "cpu.h"
#include "fail.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* For an emulator that runs one CPU at a time: between turns of the others, a little time passes. */
#define LOOPS_A_TURN 1000

/* Stopped until it is to spin. */
static _Noreturn void spin(volatile bool *spins)
{
	raise(SIGSTOP);
	*spins = true;
	while (true) {
		for (volatile int i = 0; i < LOOPS_A_TURN; i++)
			;
		cpu_give_turn();
	}
}

/* Until it is killed. */
static _Noreturn void live(const struct mapper *mapper)
{
	if (mapper->life == MAPPER_SPINS)
		spin(mapper->spins);
	while (true)
		poll(NULL, 0, mapper->life == MAPPER_WAKES ? 1 : -1);
}

static void wait_for_stop(const struct mapper *mapper)
{
	int status;

	if (waitpid(mapper->pid, &status, WUNTRACED) < 0 || !WIFSTOPPED(status))
		fail_with("the mapping process did not stop");
}

void mapper_begin(struct mapper *mapper)
{
	if (mapper->life != MAPPER_SPINS)
		return;
	wait_for_stop(mapper);
	if (kill(mapper->pid, SIGCONT))
		fail("cannot continue", "mapping process");
	while (!*mapper->spins)
		usleep(100);
}

void mapper_end(struct mapper *mapper)
{
	if (mapper->life != MAPPER_SPINS)
		return;
	if (kill(mapper->pid, SIGSTOP))
		fail("cannot stop", "mapping process");
	wait_for_stop(mapper);
}

void mapper_pin(int cpu)
{
	if (!cpu_stay(cpu))
		fail("cannot stay on a CPU", "two CPUs expected");
}

void mapper_start(struct mapper *mapper, const char *cgroup, enum mapper_life life, int cpu,
		  uint64_t (*work)(void *), void *argument)
{
	int up[2], status;

	mapper->life = life;
	mapper->spins = mmap(NULL, sizeof(*mapper->spins), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mapper->spins == MAP_FAILED || pipe(up))
		fail("cannot make a pipe", "mapping process");
	mapper->pid = fork();
	if (mapper->pid < 0)
		fail("cannot fork", "mapping process");
	if (!mapper->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (cpu >= 0)
			mapper_pin(cpu);
		cgroup_join(cgroup);
		mapper->address = work(argument);
		if (write(up[1], &mapper->address, sizeof(mapper->address)) < 0)
			fail("cannot write", "pipe");
		live(mapper);
	}
	close(up[1]);
	/* If it failed it has said why. */
	if (read(up[0], &mapper->address, sizeof(mapper->address)) <= 0) {
		waitpid(mapper->pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	close(up[0]);
}

void mapper_stop(struct mapper *mapper)
{
	kill(mapper->pid, SIGKILL);
	if (waitpid(mapper->pid, NULL, 0) < 0)
		fail("cannot wait", "mapping process");
	munmap((void *)mapper->spins, sizeof(*mapper->spins));
}
