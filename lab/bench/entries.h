#ifndef ENTRIES_H
#define ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Page-table entries as stored, counted by the test kernel's proc file. */
struct entries {
	uint64_t present, young, dirty, contiguous;
};

/* False on a kernel without the file. */
bool entries_count(pid_t pid, uint64_t address, size_t size, struct entries *entries);

/* Counts and records them as PREFIX_present and so on; nothing without the file. */
void entries_record(const char *prefix, pid_t pid, uint64_t address, size_t size);

/* Writes a command to the proc file and reads its answer; false without the file. */
bool entries_command(const char *command, char *answer, size_t size);

#endif
