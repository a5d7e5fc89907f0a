#ifndef SWAP_H
#define SWAP_H

/* Makes a swap area of a block device, and swaps to it from now on. */
void swap_start(const char *device);

/* From now on, writes to new anonymous memory bring folios of this order. */
void anon_order(unsigned int order);

/* Stores to new shared memory bring folios of this order: once, as it is not taken back. */
void shmem_order(unsigned int order);

#endif
