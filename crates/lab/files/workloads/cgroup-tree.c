/* workload.toml
name = "cgroup-tree"
about = "Mapped files of several cgroups, half of them reclaimed through the cgroup above."
whole = "reclaim"
warm-up = true
field = [
    { name = "order", order = 9, default = 4 },
    { name = "lru", choices = ["classic", "mglru"], default = "classic" },
    { name = "cgroups", number = [1, 8], default = 4 },
    { name = "size", size = ["16MiB", "512MiB"], default = "128MiB" },
]
metric = [
    { name = "reclaim", per = "4K page" },
    { name = "pgscan", unit = "pages" },
    { name = "least of a cgroup", unit = "pages" },
    { name = "most of a cgroup", unit = "pages" },
]
*/
#include "pageout_lab.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CGROUPS 8

static pid_t children[MAX_CGROUPS];

/* A process of the cgroup: maps its file, uses each page from the beginning on, and sleeps. */
static void be_child(unsigned int cgroup, size_t size, unsigned int order, int ready)
{
	struct lab_file file;
	volatile char *at;

	lab_enter(cgroup);
	file = lab_file(size, order);
	at = mmap(NULL, file.offset + size, PROT_READ, MAP_SHARED, file.fd, 0);
	/* Or khugepaged would make huge pages of its folios, and take them out of the mapping. */
	lab_require(at != MAP_FAILED &&
			    !madvise((void *)at, file.offset + size, MADV_NOHUGEPAGE),
		    "cannot map a file");
	for (size_t page = 0; page < file.offset + size; page += 4096)
		(void)at[page];
	lab_require_folios((char *)at + file.offset, size, order);
	lab_require(write(ready, "", 1) == 1, "cannot tell");
	close(ready); /* or the parent would wait for a process that has failed */
	while (true)
		pause();
}

static void start(unsigned int cgroups, size_t size, unsigned int order)
{
	int ready[2];
	char byte;

	lab_require(!pipe(ready), "cannot make a pipe");
	for (unsigned int i = 0; i < cgroups; i++) {
		children[i] = fork();
		lab_require(children[i] >= 0, "cannot fork");
		if (!children[i]) {
			close(ready[0]);
			be_child(i, size, order, ready[1]);
		}
	}
	close(ready[1]);
	for (unsigned int i = 0; i < cgroups; i++)
		lab_require(read(ready[0], &byte, 1) == 1, "a process of a cgroup ended early");
	close(ready[0]);
}

static void end(unsigned int cgroups)
{
	for (unsigned int i = 0; i < cgroups; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

static void sample(unsigned int cgroups, size_t size, unsigned int order)
{
	uint64_t charged[MAX_CGROUPS], gone, sum = 0, least = UINT64_MAX, most = 0;
	struct lab_scans scans;

	start(cgroups, size / cgroups, order);
	usleep(200000); /* the processes sleep, and no longer run */
	for (unsigned int i = 0; i < cgroups; i++)
		charged[i] = lab_charged(i);
	scans = lab_scans();
	lab_begin("reclaim");
	lab_reclaim(size / 2);
	lab_end("reclaim", 0);
	lab_count("pgscan", lab_scans().scanned - scans.scanned);
	for (unsigned int i = 0; i < cgroups; i++) {
		gone = charged[i] - lab_charged(i);
		sum += gone;
		least = gone < least ? gone : least;
		most = gone > most ? gone : most;
	}
	lab_require(sum >= size / 2 / 4096 * 9 / 10, "only %ju pages were reclaimed", (uintmax_t)sum);
	lab_units("reclaim", sum);
	lab_count("least of a cgroup", least);
	lab_count("most of a cgroup", most);
	end(cgroups);
}

void workload(void)
{
	unsigned int cgroups = lab_number("cgroups");

	lab_lru(lab_text("lru"));
	lab_cgroups(cgroups);
	while (lab_sample())
		sample(cgroups, lab_size("size"), lab_number("order"));
}
