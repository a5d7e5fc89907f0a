/* workload.toml
name = "private-pages"
about = "Reclaim of a file's clean pages that processes on different CPUs have mapped."
whole = "reclaim"
cpus = 4
warm-up = true
field = [
    { name = "order", order = 8, default = 0 },
    { name = "processes", number = [1, 3], default = 3 },
    { name = "mapping", choices = ["private", "shared"], default = "private" },
    { name = "size", size = ["2MiB", "128MiB"], default = "16MiB" },
]
metric = [
    { name = "reclaim", per = "4K page" },
    { name = "pgscan", unit = "pages" },
    { name = "pgsteal", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 3

static void read_pages(volatile char *at, size_t size)
{
	for (size_t page = 0; page < size; page += 4096)
		(void)at[page];
}

/* A process that reads the pages on a CPU, and stays there. */
static pid_t start(char *at, size_t size, unsigned int cpu, volatile int *ready)
{
	pid_t process = fork();

	lab_require(process >= 0, "cannot fork");
	if (process)
		return process;
	lab_run_on(cpu);
	read_pages(at, size);
	__atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
	while (true)
		lab_give_up_turn();
}

static void sample(char *at, size_t size, unsigned int processes, volatile int *ready)
{
	struct lab_scans before;
	pid_t others[MOST];

	*ready = 1;
	read_pages(at, size);
	for (unsigned int i = 1; i < processes; i++)
		others[i] = start(at, size, 1 + i, ready);
	while (*ready < (int)processes)
		lab_require(!waitpid(-1, NULL, WNOHANG), "a process ended before it was ready");

	before = lab_scans();
	lab_begin("reclaim");
	lab_reclaim(size / 2);
	lab_end("reclaim", 0);
	lab_count_scans(before);
	lab_units("reclaim", lab_scans().taken - before.taken);

	for (unsigned int i = 1; i < processes; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
}

void workload(void)
{
	size_t size = lab_size("size");
	struct lab_file file = lab_file(size, lab_number("order"));
	int flags = strcmp(lab_text("mapping"), "private") ? MAP_SHARED : MAP_PRIVATE;
	size_t all = file.offset + size;
	char *at = mmap(NULL, all, PROT_READ | PROT_WRITE, flags, file.fd, 0);
	int *ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	lab_require(at != MAP_FAILED && ready != MAP_FAILED, "cannot map a file");
	/* Or khugepaged would make huge pages of the file's folios. */
	lab_require(!madvise(at, all, MADV_NOHUGEPAGE), "the kernel has no MADV_NOHUGEPAGE");
	lab_lru("classic");
	lab_cgroup();
	lab_run_on_both();
	while (lab_sample())
		sample(at + file.offset, size, lab_number("processes"), ready);
}
