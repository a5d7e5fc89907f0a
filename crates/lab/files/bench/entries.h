#ifndef ENTRIES_H
#define ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Counts page-table entries as stored, through the test kernel's proc file, and records them as
 * PREFIX_present and so on; nothing without the file.
 */
void entries_record(const char *prefix, pid_t pid, uint64_t address, size_t size);

/* Writes a command to the proc file and reads its answer; false without the file. */
bool entries_command(const char *command, char *answer, size_t size);

#endif
