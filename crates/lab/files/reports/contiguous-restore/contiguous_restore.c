/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes reclaim put a run of single entries back as a contiguous block (arm64, 4K pages): a lazyfree
 * folio of 64K whose block was unfolded by mprotect() of one page and back, and stored to since.
 * check.patch tells on the console when that happens with a TLB flush owed.
 *
 * usage: contiguous_restore [ROUNDS]
 */
#include "../guest.h"

#define BLOCK (16 * PAGE)

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	must(fd >= 0 && write(fd, text, strlen(text)) > 0);
	close(fd);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3, lost = 0;

	begin();
	put("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "always");
	put("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "never");
	for (int round = 1; round <= rounds; round++) {
		char *area = mmap(NULL, 2 * BLOCK, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char *block = (char *)(((uintptr_t)area + BLOCK - 1) / BLOCK * BLOCK);

		must(area != MAP_FAILED);
		memset(block, round, BLOCK);
		must(!madvise(block, BLOCK, MADV_FREE));
		must(!mprotect(block + 5 * PAGE, PAGE, PROT_READ));
		must(!mprotect(block + 5 * PAGE, PAGE, PROT_READ | PROT_WRITE));
		block[5 * PAGE] = 99;
		must(!madvise(block, BLOCK, MADV_PAGEOUT));
		lost += block[5 * PAGE] != 99;
		must(!munmap(area, 2 * BLOCK));
	}
	printf("%d rounds, stores lost: %d\n", rounds, lost);
	finish(0);
}
