#ifndef FOLIOS_H
#define FOLIOS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Fails unless the range of a process, wholly present and aligned in its file, is mapped to
 * folios of exactly that order.
 */
void folios_check(pid_t pid, uint64_t address, size_t size, unsigned int order);

#endif
