/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a program says while its kernel's turns are decided: when the search begins and ends, what
 * happened, and whether what must hold does. Where the kernel has no points, all of it does nothing.
 */
#ifndef PAGEOUT_SCHEDULE_H
#define PAGEOUT_SCHEDULE_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void schedule_say(const char *format, ...)
{
	static int fd = -2;
	char line[96];
	va_list values;
	int length;

	if (fd == -2)
		fd = open("/proc/pageout_schedule", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	va_start(values, format);
	length = vsnprintf(line, sizeof(line), format, values);
	va_end(values);
	if (length >= (int)sizeof(line))
		length = sizeof(line) - 1;
	if (write(fd, line, length) != length)
		return;
}

/*
 * The threads are there and all is prepared: from here on turns are given up. The machine's state is
 * kept here, and goes on from its first CPU alone; afterwards the thread may run where it might.
 */
static inline void schedule_begin(void)
{
	unsigned long before[16] = { 0 }, first = 1;
	long size = syscall(SYS_sched_getaffinity, 0, sizeof(before), before);
	int is_elsewhere = size > 0 && before[0] != first;

	if (is_elsewhere)
		syscall(SYS_sched_setaffinity, 0, sizeof(first), &first);
	schedule_say("begin");
	if (is_elsewhere)
		syscall(SYS_sched_setaffinity, 0, size, before);
}

/* All rounds are over. */
#define schedule_end() schedule_say("end")
/* Lets the other CPUs go on, in a loop that waits for them. */
static inline void schedule_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield" ::: "memory");
#endif
}

/* The run's seed, for what the program draws by itself; 0 where the kernel has no points. */
static inline unsigned long schedule_seed(void)
{
	int fd = open("/proc/pageout_schedule", O_RDONLY | O_CLOEXEC);
	char text[24] = "";

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strtoul(text, NULL, 10);
}

/* Notes an event of this CPU. */
#define schedule_event(...) schedule_say(__VA_ARGS__)
/* Ends the run as failed, with a text, unless the condition holds. */
#define schedule_check(holds, ...) \
	((holds) ? schedule_say("holds") : schedule_say("fail " __VA_ARGS__))
/* Ends a run that cannot go on although the kernel is right: it counts as neither. */
#define schedule_give_up(...) (schedule_say("gave up: " __VA_ARGS__), schedule_end())

#endif
