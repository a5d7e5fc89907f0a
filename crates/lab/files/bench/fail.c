#include "fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* _exit: a forked process must not print again what its parent had buffered. */
static _Noreturn void say_and_end(int status, const char *format, va_list list)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, list);
	dprintf(STDERR_FILENO, "bench: error: %s\n", text);
	_exit(status);
}

_Noreturn void fail(const char *what, const char *where)
{
	fail_with("%s, %s: %s", what, where, strerror(errno));
}

_Noreturn void fail_with(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say_and_end(1, format, list);
}

_Noreturn void fail_usage(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say_and_end(2, format, list);
}
