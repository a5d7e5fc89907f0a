/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Looks for device-exclusive entries that reclaim's young check changes.
 *
 * Makes pages exclusive to the test device (CONFIG_TEST_HMM), has their cgroup reclaimed, and
 * compares what /proc/self/pagemap tells of the entries before and after. Then a thread reads the
 * pages, and must get on.
 *
 * usage: exclusive_aged [y|n]      MGLRU on or off
 */
#include "../guest.h"
#include <sys/ioctl.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>

#define PAGES 16

struct command { /* lib/test_hmm_uapi.h */
	uint64_t address, buffer, pages, copied, faults;
};
#define EXCLUSIVE _IOWR('H', 0x05, struct command)

static char *memory;
static uint64_t read_pages;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	must(fd >= 0);
	if (write(fd, text, strlen(text)) < 0)
		printf("%s < %s: %s\n", path, text, strerror(errno));
	close(fd);
}

/* Swap space on the second RAM disk: reclaim looks at no anonymous memory without any. */
static void swap_on(void)
{
	static char header[PAGE];
	int fd = open("/dev/ram1", O_WRONLY);
	uint32_t info[3] = { 1, 4095, 0 }; /* version, last page, bad pages */

	memcpy(header + 1024, info, sizeof(info));
	memcpy(header + PAGE - 10, "SWAPSPACE2", 10);
	must(fd >= 0 && write(fd, header, PAGE) == PAGE && !fsync(fd));
	close(fd);
	must(!swapon("/dev/ram1", 0));
}

static int open_device(void)
{
	char line[128];
	unsigned int major = 0, m;
	FILE *devices = fopen("/proc/devices", "r");

	while (fgets(line, sizeof(line), devices))
		if (sscanf(line, "%u HMM_DMIRROR", &m) == 1 && strstr(line, "HMM_DMIRROR"))
			major = m;
	fclose(devices);
	must(major);
	mknod("/dev/hmm", S_IFCHR | 0600, makedev(major, 0));
	return open("/dev/hmm", O_RDWR);
}

static uint64_t entry(int page)
{
	static int pagemap = -1;
	uint64_t word;

	if (pagemap < 0)
		pagemap = open("/proc/self/pagemap", O_RDONLY);
	must(pread(pagemap, &word, 8, ((uintptr_t)memory / PAGE + page) * 8) == 8);
	return word;
}

static void show(const char *when)
{
	uint64_t e = entry(0);

	printf("%s: page 0: %s, swap type %lu, offset %#lx\n", when,
	       e >> 63 ? "present" : e >> 62 & 1 ? "swap entry" : "neither", e & 31,
	       e >> 5 & ((1UL << 50) - 1));
}

static void *read_all(void *unused)
{
	for (int i = 0; i < PAGES; i++) {
		char value = *(volatile char *)(memory + i * PAGE);

		if (value != i + 1)
			printf("page %d holds %d\n", i, value);
		STORE(read_pages, i + 1);
	}
	return unused;
}

int main(int argc, char **argv)
{
	static char buffer[PAGES * PAGE];
	struct command command = { .buffer = (uintptr_t)buffer, .pages = PAGES };
	int device;

	begin();
	must(!mkdir("/cg", 0755) && !mount("cgroup2", "/cg", "cgroup2", 0, NULL));
	put("/cg/cgroup.subtree_control", "+memory");
	must(!mkdir("/cg/t", 0755));
	put("/cg/t/cgroup.procs", "0");
	put("/sys/kernel/mm/lru_gen/enabled", argc > 1 ? argv[1] : "y");
	swap_on();
	device = open_device();
	must(device >= 0);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED);
	must(!madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE));
	for (int i = 0; i < PAGES; i++)
		memory[i * PAGE] = i + 1;
	command.address = (uintptr_t)memory;
	show("mapped");
	must(!ioctl(device, EXCLUSIVE, &command));
	show("exclusive");
	for (int i = 1; i <= 4; i++) {
		char when[32];

		put("/cg/t/memory.reclaim", "64K swappiness=200");
		snprintf(when, sizeof(when), "after reclaim %d", i);
		show(when);
	}
	start(read_all, NULL);
	sleep(3);
	printf("%lu of %d pages could be read in 3 s\n", LOAD(read_pages), PAGES);
	finish(LOAD(read_pages) == PAGES ? 0 : 2);
}
