/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the reproducers share: running as PID 1 of a test machine (run.sh), pinned threads, and the
 * thread that takes CPU 0 from reclaim.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define PAGE 4096UL
#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELEASE)
#define must(e) do { if (!(e)) die(#e, __LINE__); } while (0)

static void finish(int status)
{
	fflush(NULL);
	if (getpid() == 1) {
		sync();
		reboot(RB_AUTOBOOT);
	}
	_exit(status);
}

static void die(const char *what, int line)
{
	printf("line %d: %s: %s\n", line, what, strerror(errno));
	finish(1);
}

static inline uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* A page is mapped, as /proc/self/pagemap tells without touching it. */
static inline int mapped(int pagemap, volatile void *page)
{
	uint64_t entry;

	must(pread(pagemap, &entry, 8, (uintptr_t)page / PAGE * 8) == 8);
	return entry >> 63;
}

/* A kernel parameter, or -1 where this kernel has none of that name. */
static inline long parameter(const char *name, const char *new_value)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/module/rmap/parameters/%s", name);
	fd = open(path, new_value ? O_RDWR : O_RDONLY);
	if (fd < 0)
		return -1;
	if (new_value)
		must(write(fd, new_value, strlen(new_value)) > 0);
	must(pread(fd, text, sizeof(text) - 1, 0) > 0);
	close(fd);
	return atol(text);
}

/* How long flushes were owed, where flush-delay.patch measures it. */
static inline void report_windows(void)
{
	long windows = parameter("windows", NULL);

	if (windows > 0)
		printf("%ld flushes were owed: mean %ld ns, longest %ld ns\n", windows,
		       parameter("window_total_ns", NULL) / windows,
		       parameter("window_max_ns", NULL));
}

/* As PID 1: mounts what is needed, and the file system image /fs.img through /dev/ram0. */
static inline void begin(void)
{
	static char block[1 << 16];
	ssize_t n;
	int from, to;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (getpid() != 1)
		return;
	mkdir("/dev", 0755);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/mnt", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	must(!mount("proc", "/proc", "proc", 0, NULL));
	must(!mount("sysfs", "/sys", "sysfs", 0, NULL));
	from = open("/fs.img", O_RDONLY);
	to = open("/dev/ram0", O_WRONLY);
	must(from >= 0 && to >= 0);
	while ((n = read(from, block, sizeof(block))) > 0)
		must(write(to, block, n) == n);
	must(!fsync(to));
	close(from);
	close(to);
	if (mount("/dev/ram0", "/mnt", "ext4", 0, NULL))
		printf("no ext4: files will be on the root file system\n");
	else
		must(!chdir("/mnt"));
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set));
}

/*
 * Takes CPU 0 at moments that it does not choose, for 3 ms each: what any thread of higher priority
 * may do to a thread that reclaims.
 */
static inline void *intruder(void *unused)
{
	struct sched_param fifo = { .sched_priority = 1 };
	unsigned int seed = 1;

	pin(0);
	must(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &fifo));
	for (;;) {
		struct timespec t = { .tv_nsec = 2000000 + rand_r(&seed) % 3000000 };
		uint64_t until;

		nanosleep(&t, NULL);
		until = nanoseconds() + 3000000;
		while (nanoseconds() < until)
			;
	}
	return unused;
}

static inline void start(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, body, argument));
}
