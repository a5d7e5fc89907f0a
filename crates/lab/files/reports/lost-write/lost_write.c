/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Looks for a store to a shared file mapping that never reaches the file.
 *
 *   CPU 0  MADV_PAGEOUT of dirty file pages
 *   CPU 1  stores growing values to page 0 all the time
 *   CPU 2  writes page 0 out (sync_file_range) as soon as reclaim has unmapped it; then asks CPU 1
 *          for one last store
 *
 * Then CPU 0 calls fsync(), drops the page cache of the file and reads page 0 from the disk: it must
 * hold the last store.
 *
 * usage: lost_write ROUNDS [intruder|alone] [DELAY_US]
 */
#include "../guest.h"
#include "../../schedule/pageout_schedule.h"

#define PAGES 64

static volatile uint64_t *page;
static uint64_t round_, value, storing, last_wanted, last_stored, over, answered;
static int fd;

static void *writer(void *unused)
{
	pin(1);
	for (uint64_t done = 0;;) {
		uint64_t round = LOAD(round_);

		if (round == done) {
			schedule_relax();
			continue;
		}
		while (LOAD(last_wanted) != round) {
			*page = ++value;
			STORE(storing, round);
			schedule_relax();
		}
		*page = ++value;
		schedule_event("the last store: %lu", value);
		STORE(last_stored, round);
		done = round;
	}
	return unused;
}

static void *flusher(void *unused)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY);

	must(pagemap >= 0);
	pin(2);
	for (uint64_t done = 0;;) {
		uint64_t round = LOAD(storing);

		if (round == done) {
			schedule_relax();
			continue;
		}
		while (mapped(pagemap, page) && LOAD(over) != round)
			schedule_relax();
		if (LOAD(over) != round) {
			schedule_event("page 0 is unmapped: writes it out");
			must(!sync_file_range(fd, 0, PAGE,
					      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					      SYNC_FILE_RANGE_WAIT_AFTER));
			schedule_event("page 0 is written out: asks for one last store");
		}
		STORE(last_wanted, round);
		done = round;
		STORE(answered, round);
	}
	return unused;
}

static uint64_t word_of_file(void)
{
	uint64_t word;

	must(pread(fd, &word, sizeof(word), 0) == sizeof(word));
	return word;
}

/* Drops the clean pages of the file, mapped ones too. */
static void drop_cache(void)
{
	must(!madvise((void *)page, PAGES * PAGE, MADV_DONTNEED));
	must(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
}

int main(int argc, char **argv)
{
	uint64_t rounds, lost = 0;

	begin();
	if (argc < 2)
		die("usage: lost_write ROUNDS [intruder|alone] [DELAY_US]", __LINE__);
	rounds = strtoull(argv[1], NULL, 0);
	fd = open("lost_write.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && !ftruncate(fd, PAGES * PAGE));
	page = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(page != MAP_FAILED);
	must(!madvise((void *)page, PAGES * PAGE, MADV_RANDOM)); /* single pages, no read-ahead */
	if (argc > 3)
		must(parameter("flush_delay_us", argv[3]) == atol(argv[3]));
	pin(0);
	start(writer, NULL);
	start(flusher, NULL);
	if (argc <= 2 || !strcmp(argv[2], "intruder"))
		start(intruder, NULL);

	schedule_begin();
	for (uint64_t round = 1; round <= rounds; round++) {
		uint64_t in_cache, on_disk, stored;

		drop_cache();
		for (int i = 0; i < PAGES; i++)
			page[i * PAGE / sizeof(*page)] = value;
		STORE(round_, round);
		while (LOAD(storing) != round)
			schedule_relax();
		schedule_event("round %lu: MADV_PAGEOUT", round);
		must(!madvise((void *)page, PAGES * PAGE, MADV_PAGEOUT));
		schedule_event("MADV_PAGEOUT is over");
		STORE(over, round);
		while (LOAD(answered) != round || LOAD(last_stored) != round)
			schedule_relax();
		stored = value;
		in_cache = word_of_file();
		must(!fsync(fd));
		drop_cache();
		on_disk = word_of_file();
		schedule_check(on_disk == stored, "stored %lu, after fsync() the disk has %lu",
			       stored, on_disk);
		if (on_disk == stored)
			continue;
		if (++lost <= 3)
			printf("round %lu: stored %lu, page cache had %lu, after fsync() the disk has %lu\n",
			       round, stored, in_cache, on_disk);
	}
	schedule_end();
	printf("%lu rounds, last store lost in %lu\n", rounds, lost);
	report_windows();
	finish(lost ? 2 : 0);
}
