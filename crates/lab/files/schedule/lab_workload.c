/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A workload of the lab whose kernel's turns are decided: the search begins at the first sample, and
 * ends with the process. The linker puts these functions (`--wrap`) around those of the lab.
 */
#include "pageout_lab.h"
#include "pageout_schedule.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#define TEXT 96

int __real_main(int count, char **arguments);
bool __real_lab_sample(void);
_Noreturn void __real_fail_with(const char *format, ...);

/* The workload cannot be run to its end here: the kernel is not wrong. */
static _Noreturn void give_up(const char *text)
{
	schedule_give_up("%s", text);
	__real_fail_with("%s", text);
}

bool __wrap_lab_sample(void)
{
	static bool begun;
	bool is_there = __real_lab_sample();

	if (is_there && !begun)
		schedule_begin();
	begun = true;
	return is_there;
}

void __wrap_lab_check(bool holds, const char *format, ...)
{
	char text[TEXT];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	schedule_check(holds, "%s", text);
}

void __wrap_lab_require(bool holds, const char *format, ...)
{
	char text[TEXT];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (!holds)
		give_up(text);
}

_Noreturn void __wrap_fail_with(const char *format, ...)
{
	char text[TEXT];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	give_up(text);
}

_Noreturn void __wrap_fail(const char *what, const char *where)
{
	__wrap_fail_with("%s, %s: %s", what, where, strerror(errno));
}

/* Runs the workload in a process, so that a signal that ends it is seen. */
int __wrap_main(int count, char **arguments)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		return __real_main(count, arguments);
	if (child < 0 || waitpid(child, &status, 0) != child)
		__wrap_fail("cannot run", arguments[0]);
	if (WIFSIGNALED(status))
		schedule_check(0, "the workload was ended by signal %d", WTERMSIG(status));
	if (status)
		schedule_check(0, "the workload ended with status %d", WEXITSTATUS(status));
	schedule_end();
	return WEXITSTATUS(status);
}
