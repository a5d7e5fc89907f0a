/* workload.toml
name = "fork-copy"
about = "A process forks, stores to every page that both map, and the child exits."
warm-up = true
field = [
    { name = "order", order = 9, default = 4 },
    { name = "size", size = ["2MiB", "1GiB"], default = "64MiB" },
]
metric = [
    { name = "fork", per = "4K page" },
    { name = "copy", per = "4K page" },
    { name = "exit", per = "4K page" },
]
*/
#include "pageout_lab.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* One way between parent and child, a byte a step. */
static void tell(const int *way)
{
	lab_require(write(way[1], "", 1) == 1, "cannot write to a pipe");
}

static void await(const int *way)
{
	char byte;

	lab_require(read(way[0], &byte, 1) == 1, "cannot read from a pipe");
}

/* Waits for the parent's stores, says that it sees none of them, and waits to exit. */
static _Noreturn void be_child(const void *at, size_t size, const int *down, const int *up)
{
	await(down);
	lab_check(lab_holds(at, size, "same"), "the child sees what the parent stored");
	tell(up);
	await(down);
	_exit(0);
}

static void sample(size_t size, unsigned int order)
{
	volatile char *at = lab_anon(size, order);
	size_t pages = size / 4096, copied = 0;
	uint64_t *frames = malloc(pages * sizeof(*frames));
	int down[2], up[2], status;
	pid_t child;

	lab_require(frames && !pipe(down) && !pipe(up), "no pipes");
	lab_fill((void *)at, size, "same");
	lab_require_folios((void *)at, size, order);
	for (size_t i = 0; i < pages; i++)
		frames[i] = lab_frame((char *)at + i * 4096);
	lab_begin("fork");
	child = fork();
	if (!child)
		be_child((void *)at, size, down, up);
	lab_end("fork", pages);
	lab_require(child > 0, "cannot fork");
	lab_begin("copy");
	for (size_t page = 0; page < size; page += 4096)
		at[page] = 1;
	lab_end("copy", pages);
	for (size_t i = 0; i < pages; i++)
		copied += lab_frame((char *)at + i * 4096) != frames[i];
	lab_require(copied == pages, "of %zu pages only %zu were copied", pages, copied);
	tell(down);
	await(up);
	lab_begin("exit");
	tell(down);
	waitpid(child, &status, 0);
	lab_end("exit", pages);
	lab_require(!status, "the child ended with status %d", status);
	for (int i = 0; i < 2; i++) {
		close(down[i]);
		close(up[i]);
	}
	free(frames);
	munmap((void *)at, size);
}

void workload(void)
{
	while (lab_sample())
		sample(lab_size("size"), lab_number("order"));
}
