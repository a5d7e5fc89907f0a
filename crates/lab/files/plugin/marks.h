/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The page by which a workload tells the plugin where its regions begin and end. A plugin sees the
 * addresses of stores and not their values, so each mark is a word of its own.
 */
#ifndef MARKS_H
#define MARKS_H

#include <stdint.h>

/* Where the page lies in the workload's memory; aligned for pages of 64K, and else unused. */
#define MARKS 0x5a5a0000ull
/* Words of 64 bits: a store to one of a region begins it, the next ends it. */
#define MARK_REGIONS 32
/* A store to this one ends a sample. */
#define MARK_SAMPLE 63
#define MARK_WORDS 64

#endif
