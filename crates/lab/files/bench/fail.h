#ifndef FAIL_H
#define FAIL_H

/* One line on stderr, "bench: error: WHAT, WHERE: system's reason", and exit 1. */
_Noreturn void fail(const char *what, const char *where);

/* The same with a text of one's own, for what the system has no reason for. */
_Noreturn void fail_with(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Bad arguments: exit 2. */
_Noreturn void fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
