/* The memory of the kernel: frames, swap and a file, as the engine asks for them. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>

#include "pageout.h"

/* The frames that the kernel gives out, as pages and as page tables, and its pages of swap. */
#define FRAMES 192
#define SLOTS  1024

/* The transfers and frames so far. */
struct counts {
    uint64_t swapped_out, swapped_in, file_reads, fewest_free;
};

/* Makes all frames free; returns the first. */
uint64_t memory_init(void);

/* The number of free frames. */
uint64_t memory_free(void);

struct counts memory_counts(void);

/* Takes a frame, which is all zeros. */
uint64_t memory_take_table(void);
void memory_give_table(uint64_t pfn);

/* The word that the file has at a place of a page. */
uint64_t file_word(uint64_t page, uint64_t at);

/* The callbacks of this kernel. */
struct pageout_world memory_world(void);

#endif
