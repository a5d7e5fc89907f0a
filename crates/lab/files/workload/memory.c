/*
 * Memory for workloads: of some order and content, swapped; and looks at where its pages are.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "pageout_lab.h"

#include "cache.h"
#include "fail.h"
#include "files.h"
#include "folios.h"
#include "place.h"
#include "swap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SMALL_PAGE 4096
#define HUGE_PAGE (2 << 20)
/* Read-ahead begins with small folios and grows them by two orders a window. */
#define RAMP_WINDOWS 8
#define ZRAM "/sys/block/zram0"
#define ENABLED "/sys/kernel/mm/lru_gen/enabled"
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_FRAME ((1ull << 55) - 1)
/* As many words are read at once, of pagemap and of a page. */
#define WORDS 512

size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

void *lab_anon(size_t size, unsigned int order)
{
	char *reserved, *at;

	if (order == 1)
		fail_with("order 1: the kernel makes no such folios of anonymous memory");
	anon_order(order);
	reserved = mmap(NULL, size + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (reserved == MAP_FAILED)
		fail("cannot reserve", "address space");
	at = (char *)(((uintptr_t)reserved + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
	munmap(reserved, size + HUGE_PAGE);
	at = mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		  0);
	if (at == MAP_FAILED)
		fail("cannot map", "anonymous memory");
	return at;
}

/* The words of one page after another, for a content that is no other. */
static uint64_t next_word(char content, uint64_t *state, size_t place)
{
	switch (content) {
	case 'z':
		return 0;
	case 's':
		return 0x8888888888888888;
	case 't': /* a number in every fourth word, among others that repeat */
		return place % 4 ? 0x2065676170206120 : *state + place;
	default:
		*state ^= *state << 13;
		*state ^= *state >> 7;
		*state ^= *state << 17;
		return *state;
	}
}

static char checked(const char *content)
{
	if (strcmp(content, "zero") && strcmp(content, "same") && strcmp(content, "text") &&
	    strcmp(content, "random"))
		fail_with("content is zero, same, text or random, not %s", content);
	return *content;
}

static uint64_t seed_of(size_t offset)
{
	return (offset / SMALL_PAGE + 1) * 0x9e3779b97f4a7c15;
}

void lab_fill(void *at, size_t size, const char *content)
{
	char kind = checked(content);

	for (size_t page = 0; page < size; page += SMALL_PAGE) {
		uint64_t *words = (uint64_t *)((char *)at + page), state = seed_of(page);

		for (size_t i = 0; i < WORDS; i++)
			words[i] = next_word(kind, &state, i);
	}
}

bool lab_holds(const void *at, size_t size, const char *content)
{
	char kind = checked(content);

	for (size_t page = 0; page < size; page += SMALL_PAGE) {
		const uint64_t *words = (const uint64_t *)((const char *)at + page);
		uint64_t state = seed_of(page);

		for (size_t i = 0; i < WORDS; i++)
			if (words[i] != next_word(kind, &state, i))
				return false;
	}
	return true;
}

struct lab_file lab_file(size_t size, unsigned int order)
{
	/* A window of four pages is the least that gets a large folio. */
	size_t window = order ? page_size() << order : 2 * page_size();
	char path[64], kib[32];
	struct lab_file file = {
		.offset = (RAMP_WINDOWS * window + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1),
	};
	struct stat stat;

	if (order == 1)
		fail_with("order 1: read-ahead makes no such folios");
	if (lstat(place_dir, &stat))
		fail("cannot look at", place_dir);
	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(stat.st_dev),
		 minor(stat.st_dev));
	snprintf(kib, sizeof(kib), "%zu", window >> 10);
	write_text(path, kib);
	/* An open file keeps the read-ahead that was set when it was opened. */
	file.fd = open(place_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file.fd < 0 || ftruncate(file.fd, file.offset + size))
		fail("cannot make a file in", place_dir);
	return file;
}

void *lab_map_file(struct lab_file file, size_t size, unsigned int order)
{
	size_t all = file.offset + size;
	char *whole = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);

	/* Or khugepaged would make huge pages of its folios, of as many as it comes to. */
	lab_require(whole != MAP_FAILED && !madvise(whole, all, MADV_NOHUGEPAGE),
		    "cannot map a file");
	for (size_t page = 0; page < all; page += 4096)
		(void)*(volatile char *)(whole + page);
	lab_require_folios(whole + file.offset, size, order);
	return whole + file.offset;
}

void lab_require_folios(const void *at, size_t size, unsigned int order)
{
	folios_check(getpid(), (uintptr_t)at, size, order);
}

static void read_pagemap(const void *at, uint64_t *words, size_t count)
{
	static int fd = -1;
	ssize_t size = count * sizeof(*words);

	if (fd < 0)
		fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, words, size, (uintptr_t)at / page_size() * sizeof(*words)) != size)
		fail("cannot read", "/proc/self/pagemap");
}

struct lab_pages lab_pages(const void *at, size_t size)
{
	size_t left = size / page_size(), small_pages = page_size() / SMALL_PAGE;
	struct lab_pages pages = { 0 };
	uint64_t words[WORDS];

	for (const char *from = at; left; from += WORDS * page_size()) {
		size_t count = left < WORDS ? left : WORDS;

		read_pagemap(from, words, count);
		for (size_t i = 0; i < count; i++) {
			if (words[i] & PAGEMAP_PRESENT)
				pages.present += small_pages;
			else if (words[i] & PAGEMAP_SWAPPED)
				pages.swapped += small_pages;
			else
				pages.absent += small_pages;
		}
		left -= count;
	}
	return pages;
}

uint64_t lab_frame(const void *at)
{
	uint64_t word;

	read_pagemap(at, &word, 1);
	if (!(word & PAGEMAP_PRESENT))
		fail_with("a page is not there whose frame is asked for");
	return word & PAGEMAP_FRAME;
}

void lab_swap(const char *to)
{
	if (!strcmp(to, "zram")) {
		write_text(ZRAM "/disksize", "1G");
		swap_start("/dev/zram0");
	} else if (!strcmp(to, "ram-disk")) {
		swap_start("/dev/ram1");
	} else {
		fail_with("swap is to zram or to ram-disk, not to %s", to);
	}
}

uint64_t lab_vmstat(const char *counter)
{
	uint64_t value;
	char name[64];
	FILE *file;

	/* The kernel keeps such counters for each CPU too: without this a few are missing. */
	if (!strncmp(counter, "nr_", 3))
		write_text("/proc/sys/vm/stat_refresh", "1");
	file = fopen("/proc/vmstat", "r");
	if (!file)
		fail("cannot open", "/proc/vmstat");
	while (fscanf(file, "%63s %" SCNu64, name, &value) == 2)
		if (!strcmp(name, counter)) {
			fclose(file);
			return value;
		}
	fail_with("/proc/vmstat has no %s", counter);
}

uint64_t lab_folios(unsigned int order, const char *counter)
{
	char path[128], text[32];

	if (!order)
		return 0;
	snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/stats/%s",
		 (page_size() << order) >> 10, counter);
	read_text(path, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

uint64_t lab_zram(const char *counter)
{
	static const char *const names[] = {
		"orig_data_size", "compr_data_size", "mem_used_total", "mem_limit",
		"mem_used_max", "same_pages", "pages_compacted", "huge_pages", "huge_pages_since",
	};
	char text[512], *at = text;

	read_text(ZRAM "/mm_stat", text, sizeof(text));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t value = strtoull(at, &at, 10);

		if (!strcmp(names[i], counter))
			return value;
	}
	fail_with("zram's mm_stat has no %s", counter);
}

/* Of both types: "pgscan" is "pgscan_anon" and "pgscan_file". */
static uint64_t small_pages(const char *counter)
{
	char anon[64], file[64];

	snprintf(anon, sizeof(anon), "%s_anon", counter);
	snprintf(file, sizeof(file), "%s_file", counter);
	return (lab_vmstat(anon) + lab_vmstat(file)) * (page_size() / SMALL_PAGE);
}

/* The kernel keeps some counters for each CPU, and adds them up when this file is written to. */
struct lab_scans lab_scans(void)
{
	write_text("/proc/sys/vm/stat_refresh", "1");
	return (struct lab_scans){ small_pages("pgscan"), small_pages("pgsteal"),
				   small_pages("workingset_refault") };
}

void lab_count_scans(struct lab_scans since)
{
	struct lab_scans now = lab_scans();

	lab_count("pgscan", now.scanned - since.scanned);
	lab_count("pgsteal", now.taken - since.taken);
}

void lab_lru(const char *lru)
{
	bool is_classic = !strcmp(lru, "classic");

	if (is_classic && access(ENABLED, F_OK))
		return; /* such a kernel has no other */
	write_text(ENABLED, is_classic ? "0" : !strcmp(lru, "mglru") ? "7" : "1");
}
