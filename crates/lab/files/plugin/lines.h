/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cache lines that a CPU has touched since a sample began: a set that is emptied at once.
 */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Of all CPUs that run the kernels we build; some have larger ones in their outer caches. */
#define LINE_SHIFT 6

/* A line in the set, if the set was not emptied since. */
struct line {
	uint64_t number, era;
};

struct lines {
	/* 2^bits places, at most half of them taken. */
	struct line *places;
	unsigned int bits;
	size_t taken;
	/* Counts from 1, so that places that are zero are free. */
	uint64_t era;
};

/* The place of a line, or the free one that it would take. */
static struct line *lines_place(const struct lines *lines, uint64_t number)
{
	size_t last = ((size_t)1 << lines->bits) - 1;
	size_t at = number * 0x9e3779b97f4a7c15 >> (64 - lines->bits);

	while (lines->places[at].era == lines->era && lines->places[at].number != number)
		at = (at + 1) & last;
	return &lines->places[at];
}

static void lines_grow(struct lines *lines)
{
	size_t size = lines->places ? (size_t)1 << lines->bits : 0;
	struct lines larger = { .bits = lines->places ? lines->bits + 1 : 16,
				.taken = lines->taken, .era = lines->era };

	larger.places = calloc((size_t)1 << larger.bits, sizeof(*larger.places));
	if (!larger.places) {
		fputs("profile: out of memory\n", stderr);
		abort();
	}
	for (size_t i = 0; i < size; i++)
		if (lines->places[i].era == lines->era)
			*lines_place(&larger, lines->places[i].number) = lines->places[i];
	free(lines->places);
	*lines = larger;
}

/* Whether the line was not in the set, where it now is. */
static bool lines_add(struct lines *lines, uint64_t number)
{
	struct line *place;

	if (2 * lines->taken >= (size_t)1 << lines->bits || !lines->places)
		lines_grow(lines);
	place = lines_place(lines, number);
	if (place->era == lines->era)
		return false;
	*place = (struct line){ number, lines->era };
	lines->taken++;
	return true;
}

static void lines_empty(struct lines *lines)
{
	lines->era++;
	lines->taken = 0;
}

#endif
