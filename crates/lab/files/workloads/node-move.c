/* workload.toml
name = "node-move"
about = "Anonymous memory is moved to the other node by migrate_pages()."
whole = "move"
nodes = 2
warm-up = true
field = [
    { name = "order", order = 9, default = 4 },
    { name = "processes", number = [1, 8], default = 1 },
    { name = "size", size = ["2MiB", "256MiB"], default = "64MiB" },
]
metric = [
    { name = "move", per = "4K page" },
]
*/
#include "pageout_lab.h"
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Nodes are numbered from 0; the kernel takes one more than the highest that a mask may name. */
#define NODES 3

/* Has the process's new pages come from a node. */
static void use_node(int node)
{
	unsigned long mask = 1ul << node;

	lab_require(!syscall(SYS_set_mempolicy, MPOL_BIND, &mask, NODES), "no node %d", node);
}

/* Checks that all memory is on a node. */
static void require_node(char *at, size_t size, int node)
{
	size_t pages = size / 4096, there = 0;
	void **each = malloc(pages * sizeof(*each));
	int *nodes = malloc(pages * sizeof(*nodes)), failed;

	lab_require(each && nodes, "no memory for %zu addresses", pages);
	for (size_t i = 0; i < pages; i++)
		each[i] = at + i * 4096;
	failed = syscall(SYS_move_pages, 0, pages, each, NULL, nodes, 0);
	lab_require(!failed, "move_pages(): %s", strerror(errno));
	for (size_t i = 0; i < pages; i++)
		there += nodes[i] == node;
	lab_require(there == pages, "of %zu pages only %zu are on node %d", pages, there, node);
	free(each);
	free(nodes);
}

static void sample(size_t size, unsigned int order)
{
	unsigned long from = 1 << 0, to = 1 << 1;
	char *at = lab_anon(size, order);
	long left; /* pages that were not moved */

	use_node(0);
	lab_fill(at, size, "random");
	lab_require_folios(at, size, order);
	require_node(at, size, 0);
	lab_sharers(lab_number("processes") - 1);
	lab_begin("move");
	left = syscall(SYS_migrate_pages, 0, NODES, &from, &to);
	lab_end("move", size / 4096);
	lab_require(left >= 0, "migrate_pages(): %s", strerror(errno));
	require_node(at, size, 1);
	lab_require_folios(at, size, order);
	lab_check(lab_holds(at, size, "random"), "memory has other content after its move");
	lab_end_sharers();
	munmap(at, size);
}

void workload(void)
{
	while (lab_sample())
		sample(lab_size("size"), lab_number("order"));
}
