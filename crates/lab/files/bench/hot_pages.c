/*
 * Pages in constant use, beside a stream of pages that are used once: how many of them reclaim
 * takes by mistake. One CPU uses them and does nothing else, so that its TLB keeps what nobody
 * invalidates; the other brings in as much of the stream in each round as it reclaims.
 */
#include "cache.h"
#include "cgroup.h"
#include "fail.h"
#include "folios.h"
#include "lru.h"
#include "mapper.h"
#include "mapping.h"
#include "record.h"
#include "scenarios.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ROUNDS 64
#define PASSES 10 /* that the hot pages are used in a round, at least */

/* What the processes share. */
struct shared {
	uint64_t address;
	volatile bool stop;
	volatile uint64_t passes;
	volatile uint64_t asked, streamed; /* files of the stream */
	uint64_t major_faults, minor_faults;
};

struct plan {
	const struct options *options;
	struct shared *shared;
	struct cache hot;
	uint64_t rounds;
	struct cache stream[MAX_ROUNDS + 1]; /* a file a round, and one before them */
};

static void add_faults(struct shared *shared, int sign)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	shared->major_faults += sign * usage.ru_majflt;
	shared->minor_faults += sign * usage.ru_minflt;
}

static void use_hot_pages(struct plan *plan)
{
	struct shared *shared = plan->shared;
	struct mapping mapping;

	cache_fill(&plan->hot);
	mapping_create(&mapping, &plan->hot, plan->hot.offset, plan->hot.size);
	mapping_touch(&mapping, 1);
	shared->address = (uint64_t)mapping.at;
	mapper_pin(1);
	add_faults(shared, -1);
	for (; !shared->stop; shared->passes++)
		mapping_touch(&mapping, 1);
	add_faults(shared, 1);
}

/* By read(2): what is mapped nowhere leaves without an invalidation. */
static void read_once(const struct cache *cache)
{
	static char buffer[65536];
	ssize_t got;

	while ((got = read(cache->fd, buffer, sizeof(buffer))) > 0)
		;
	if (got < 0)
		fail("cannot read", "a stream's file");
	posix_fadvise(cache->fd, 0, cache->offset, POSIX_FADV_DONTNEED);
}

static void stream(struct plan *plan)
{
	struct shared *shared = plan->shared;

	for (; !shared->stop; usleep(1000))
		while (shared->streamed < shared->asked)
			read_once(&plan->stream[shared->streamed++]);
}

static pid_t start(struct plan *plan, void (*work)(struct plan *plan))
{
	pid_t pid = fork();

	if (pid < 0)
		fail("cannot fork", "hot-pages");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cgroup_join(plan->options->cgroup);
	work(plan);
	_exit(0);
}

static void end(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		fail("cannot wait", "hot-pages");
	if (status)
		_exit(1); /* it has said why */
}

static void wait_until(const volatile uint64_t *count, uint64_t wanted)
{
	for (int tries = 0; *count < wanted; tries++) {
		if (tries == 10000)
			fail_with("hot-pages: one of the processes does nothing");
		usleep(10000);
	}
}

static void let_use(const struct shared *shared)
{
	wait_until(&shared->passes, shared->passes + PASSES);
}

/* No process begins or ends meanwhile, as that empties TLBs which know no address spaces. */
static void take_turns(struct plan *plan)
{
	struct shared *shared = plan->shared;

	let_use(shared);
	for (uint64_t i = 0; i <= plan->rounds; i++) {
		shared->asked = i + 1;
		wait_until(&shared->streamed, i + 1);
		let_use(shared);
		if (i)
			cgroup_reclaim(plan->options->cgroup, plan->stream[i].size);
		let_use(shared);
	}
}

static void sample(struct plan *plan)
{
	const char *cgroup = plan->options->cgroup;
	struct shared *shared = plan->shared;
	struct cgroup_stat before, after;
	pid_t user, reader;

	cgroup_create(cgroup);
	memset(shared, 0, sizeof(*shared));
	cache_create(&plan->hot, plan->options->dir, plan->hot.size, plan->hot.order);
	for (uint64_t i = 0; i <= plan->rounds; i++)
		cache_create(&plan->stream[i], plan->options->dir, plan->stream[i].size,
			     plan->hot.order);
	cgroup_stat(cgroup, &before);
	user = start(plan, use_hot_pages);
	wait_until(&shared->passes, 1);
	folios_check(user, shared->address, plan->hot.size, plan->hot.order);
	reader = start(plan, stream);
	take_turns(plan);
	shared->stop = true;
	end(user);
	end(reader);
	cgroup_stat(cgroup, &after);
	record_count("hot: pages", "pages", plan->hot.size / page_size());
	record_count("hot: major faults", "faults", shared->major_faults);
	record_count("hot: minor faults", "faults", shared->minor_faults);
	cgroup_record(&before, &after);
	for (uint64_t i = 0; i <= plan->rounds; i++)
		cache_remove(&plan->stream[i]);
	cache_remove(&plan->hot);
	cgroup_remove(cgroup);
}

void hot_pages(const struct options *options)
{
	static struct plan plan;
	const char *lru;
	size_t size;

	plan.shared = mmap(NULL, sizeof(*plan.shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (plan.shared == MAP_FAILED)
		fail("cannot map memory", "hot-pages");
	plan.options = options;
	plan.hot.order = field_number("order", "0", 13);
	lru = field_choice("lru", "classic", "classic|mglru|mglru-no-walks");
	size = field_size("size", "32MiB");
	plan.hot.size = field_size("hot", "512KiB");
	plan.rounds = field_number("rounds", "16", MAX_ROUNDS);
	options_end();
	for (uint64_t i = 0; i <= plan.rounds; i++)
		plan.stream[i].size = size;
	lru_select(lru);
	mapper_pin(0);
	for (int run = 0; run < options->runs; run++)
		sample(&plan);
	record_print();
}
