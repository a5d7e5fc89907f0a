// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the guest instructions of the sections that run with interrupts off because
 * spin_lock_irq() took a lock, by the place that took it. A plugin for QEMU (interface version 1),
 * for an arm64 kernel on one CPU; irqs-off.sh builds it and runs it under the lab:
 *
 *   qemu-system-aarch64 ... -plugin irqs-off.so,lock=ADDRESS,end=ADDRESS,out=FILE
 *
 * lock is the address of _raw_spin_lock_irq() in System.map, end that of the next function. out gets a line for each place:
 *
 *   ADDRESS SECTIONS LONGEST SUM
 *
 * ADDRESS is that of the call; LONGEST and SUM are in instructions. A section begins where DAIFSet
 * runs in that function and ends at the next DAIFClr or ERET, in whatever function. Writes of all
 * of DAIF, as local_irq_restore() makes them, do not end it, since they nest.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin-api.h"

#define PLACES	4096
#define DAIFSET 0xd50340dfu
#define DAIFCLR 0xd50340ffu
#define NO_BITS 0xfffff0ffu /* which flags it is about */
#define ERET	0xd69f03e0u

/* Not among the calls that the lab's plugins use. */
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    qemu_plugin_vcpu_udata_cb_t cb,
					    enum qemu_plugin_cb_flags flags, void *data);

int qemu_plugin_version = 1;

static struct place {
	uint64_t call, sections, longest, sum;
} places[PLACES], *open_place;
/* Instructions done, and when the section began. */
static uint64_t done, begun;
/* The last instructions of this block, and of the last block that is not of the lock. */
static uint64_t now, before;
static uint64_t lock, end;
static const char *out = "irqs-off.txt";

static bool is_of_lock(uint64_t address)
{
	return address >= lock && address < end;
}

static struct place *place_of(uint64_t call)
{
	size_t at = call / 4 % PLACES;

	while (places[at].call && places[at].call != call)
		at = (at + 1) % PLACES;
	places[at].call = call;
	return &places[at];
}

static void block_runs(unsigned int cpu, void *last)
{
	(void)cpu;
	if (!is_of_lock(now))
		before = now;
	now = (uint64_t)last;
}

static void section_begins(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	open_place = place_of(before);
	begun = done;
}

static void section_ends(unsigned int cpu, void *data)
{
	uint64_t length = done - begun;

	(void)cpu;
	(void)data;
	if (!open_place)
		return;
	open_place->sections++;
	open_place->sum += length;
	if (length > open_place->longest)
		open_place->longest = length;
	open_place = NULL;
}

static void block_is_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_runs, QEMU_PLUGIN_CB_NO_REGS,
					     (void *)qemu_plugin_insn_vaddr(last));
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_vcpu_udata_cb_t cb = NULL;
		uint32_t code;

		memcpy(&code, qemu_plugin_insn_data(insn), sizeof(code));
		if ((code & NO_BITS) == DAIFSET && is_of_lock(qemu_plugin_insn_vaddr(insn)))
			cb = section_begins;
		else if ((code & NO_BITS) == DAIFCLR || code == ERET)
			cb = section_ends;
		if (cb)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS,
							       NULL);
		qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &done,
							   1);
	}
}

static void machine_ends(qemu_plugin_id_t id, void *data)
{
	FILE *file = fopen(out, "w");

	(void)id;
	(void)data;
	for (struct place *at = places; file && at < places + PLACES; at++)
		if (at->sections)
			fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", at->call,
				at->sections, at->longest, at->sum);
	if (file)
		fclose(file);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "lock=", 5))
			lock = strtoull(argv[i] + 5, NULL, 16);
		else if (!strncmp(argv[i], "end=", 4))
			end = strtoull(argv[i] + 4, NULL, 16);
		else if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_is_translated);
	qemu_plugin_register_atexit_cb(id, machine_ends, NULL);
	return 0;
}
