/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Looks for loads that return an old value after another thread's store was seen to be complete.
 *
 *   CPU 0  MADV_PAGEOUT of 30 pages
 *   CPU 1  loads from page 0 all the time, so that its TLB keeps the translation
 *   CPU 2  stores to page 0 as soon as reclaim has let the page go, at the latest when reclaim
 *          ended, then announces the store
 *
 * A load of CPU 1 counts only if it begins after CPU 1 saw the announcement (release and acquire),
 * and only if it returns the value from before the store.
 *
 * private maps a file privately: the store makes a copy. CPU 2 then waits for the entry alone.
 *
 * guard puts a guard page in place of the store: a load after that has to end in SIGSEGV. CPU 2
 * waits for the entry of lazyfree memory alone.
 *
 * usage: stale_read lazyfree|file|private|guard ROUNDS [intruder|alone|measure] [DELAY_US]
 */
#include "../guest.h"
#include "../../schedule/pageout_schedule.h"

#include <setjmp.h>
#include <signal.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

#define PAGES 30 /* one less than the folios that reclaim frees at once: one flush, at the end */

static volatile uint64_t *page;
static int pagemap = -1; /* where mincore() does not tell of the entry */
static int guard;
static uint64_t round_, seen, stored, over, answered, let_go;
static struct { uint64_t loads, first, last; } stale; /* of the present round */

static uint64_t old_value(uint64_t round) { return 2 * round; }
static uint64_t new_value(uint64_t round) { return 2 * round + 1; }

static __thread sigjmp_buf stopped; /* by a guard page */

static void stop(int signal)
{
	siglongjmp(stopped, signal);
}

/* The value of page 0. A guard page has the one that a store would have left. */
static uint64_t load(void)
{
	return guard && sigsetjmp(stopped, 0) ? new_value(LOAD(round_)) : *page;
}

static void *reader(void *unused)
{
	pin(1);
	for (;;) {
		uint64_t announced = LOAD(stored);
		uint64_t value;

		/* Zeros: another load would fault in what the guard page has to zap. */
		if (guard && !announced && !LOAD(seen) && LOAD(answered) != LOAD(round_)) {
			schedule_relax();
			continue;
		}
		value = load();

		if (announced && value == announced - 1) {
			uint64_t now = nanoseconds();

			if (!stale.loads)
				stale.first = now;
			stale.last = now;
			STORE(stale.loads, stale.loads + 1);
		}
		STORE(seen, value);
		schedule_relax();
	}
	return unused;
}

/* Pages from that one on that reclaim did not let go, as mincore() tells without touching them. */
static int present(int first, int count)
{
	unsigned char vec[PAGES];
	int sum = 0;

	must(!mincore((char *)page + first * PAGE, count * PAGE, vec));
	for (int i = 0; i < count; i++)
		sum += vec[i] & 1;
	return sum;
}

/* Page 0 is where it was, as far as the storing thread waits for it to go. */
static int there(void)
{
	return pagemap < 0 ? present(0, 1) : mapped(pagemap, page);
}

static void *storer(void *unused)
{
	pin(2);
	for (uint64_t done = 0;;) {
		uint64_t round = LOAD(round_);

		if (round == done) {
			schedule_relax();
			continue;
		}
		while (there() && LOAD(over) != round)
			schedule_relax();
		STORE(let_go, let_go + (LOAD(over) != round));
		schedule_event("page 0 is %s: stores", LOAD(over) != round ? "gone" : "still there");
		if (guard)
			must(!madvise((void *)page, PAGE, MADV_GUARD_INSTALL));
		else
			*page = new_value(round);
		schedule_event("the %s: announces it", guard ? "guard page is there" : "store is complete");
		STORE(stored, new_value(round));
		done = round;
		STORE(answered, round);
	}
	return unused;
}

/* Fresh pages, put into the LRU by this CPU, that hold the round's old value and are clean. */
static void prepare(int fd, uint64_t round)
{
	if (guard)
		must(!madvise((void *)page, PAGE, MADV_GUARD_REMOVE));
	must(!madvise((void *)page, PAGES * PAGE, MADV_DONTNEED));
	if (fd >= 0)
		must(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	for (int i = 0; i < PAGES; i++) {
		uint64_t value = old_value(round);

		if (fd < 0 || pagemap < 0)
			page[i * PAGE / sizeof(*page)] = value;
		else
			must(pwrite(fd, &value, sizeof(value), i * PAGE) == sizeof(value) &&
			     page[i * PAGE / sizeof(*page)] == value);
	}
	if (fd >= 0)
		must(!fsync(fd));
	else
		must(!madvise((void *)page, PAGES * PAGE, MADV_FREE));
}

/* Leaves the address space loaded on CPU 1, so that flushes are deferred, and gets out of the way. */
static void *sleeper(void *unused)
{
	pin(1);
	STORE(seen, *page + 1);
	pause();
	return unused;
}

/* How long the flush is owed where nothing else runs: for an emulator that counts instructions. */
static void measure(int fd, uint64_t rounds)
{
	start(sleeper, NULL);
	while (!LOAD(seen))
		usleep(10000);
	schedule_begin();
	for (uint64_t round = 1; round <= rounds; round++) {
		prepare(fd, round);
		must(!madvise((void *)page, PAGES * PAGE, MADV_PAGEOUT));
	}
	report_windows();
	finish(0);
}

int main(int argc, char **argv)
{
	uint64_t rounds, with_stale = 0, loads = 0, longest = 0, wrong_after = 0, reclaimed = 0;
	int fd = -1;

	begin();
	if (argc < 3)
		die("usage: stale_read lazyfree|file|private|guard ROUNDS [intruder|alone|measure] [DELAY_US]", __LINE__);
	rounds = strtoull(argv[2], NULL, 0);
	guard = !strcmp(argv[1], "guard");
	if (guard) {
		struct sigaction action = { .sa_handler = stop, .sa_flags = SA_NODEFER };

		must(!sigaction(SIGSEGV, &action, NULL));
	}
	if (guard || !strcmp(argv[1], "private"))
		must((pagemap = open("/proc/self/pagemap", O_RDONLY)) >= 0);
	if (!guard && strcmp(argv[1], "lazyfree")) {
		fd = open("stale_read.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
		must(fd >= 0 && !ftruncate(fd, PAGES * PAGE));
	}
	page = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		    fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : pagemap < 0 ? MAP_SHARED : MAP_PRIVATE,
		    fd, 0);
	must(page != MAP_FAILED);
	must(!madvise((void *)page, PAGES * PAGE, MADV_NOHUGEPAGE) || errno == EINVAL);
	must(!madvise((void *)page, PAGES * PAGE, MADV_RANDOM)); /* single pages, no read-ahead */
	if (argc > 4)
		must(parameter("flush_delay_us", argv[4]) == atol(argv[4]));
	pin(0);
	if (argc > 3 && !strcmp(argv[3], "measure"))
		measure(fd, rounds);
	start(reader, NULL);
	start(storer, NULL);
	if (argc <= 3 || !strcmp(argv[3], "intruder"))
		start(intruder, NULL);

	schedule_begin();
	for (uint64_t round = 1; round <= rounds; round++) {
		prepare(fd, round);
		while (LOAD(seen) != old_value(round)) /* CPU 1 has the translation again */
			schedule_relax();
		stale.loads = 0;
		STORE(round_, round);
		schedule_event("round %lu: MADV_PAGEOUT", round);
		must(!madvise((void *)page, PAGES * PAGE, MADV_PAGEOUT));
		schedule_event("MADV_PAGEOUT is over");
		STORE(over, round);
		reclaimed += PAGES - 1 - present(1, PAGES - 1);
		while (LOAD(answered) != round)
			schedule_relax();
		wrong_after += load() != new_value(round);
		while (LOAD(seen) != new_value(round)) /* CPU 1 finds the new one too, in the end */
			schedule_relax();
		STORE(stored, 0);
		schedule_check(!LOAD(stale.loads), "%lu loads of the old value after the store",
			       stale.loads);
		if (LOAD(stale.loads)) {
			uint64_t ns = stale.last - stale.first;

			with_stale++;
			loads += stale.loads;
			longest = ns > longest ? ns : longest;
			if (with_stale <= 3)
				printf("round %lu: %lu loads returned %#lx after %#lx was stored, over %lu ns\n",
				       round, stale.loads, old_value(round), new_value(round), ns);
		}
	}
	schedule_end();
	printf("%s: %lu rounds, %lu other pages reclaimed, page 0 let go early enough in %lu\n", argv[1],
	       rounds, reclaimed, LOAD(let_go));
	printf("stale loads in %lu rounds (%lu loads, longest %lu ns), store lost in %lu\n", with_stale,
	       loads, longest, wrong_after);
	report_windows();
	finish(with_stale ? 2 : 0);
}
