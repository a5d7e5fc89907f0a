// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Counts all that each CPU does, in the kernel and outside of it, between the marks of a workload:
 * guest instructions, atomics, invalidations, barriers and first touches of cache lines. A plugin
 * for QEMU (interface version 1), for CPUs that are emulated one at a time (thread=single):
 *
 *   cc -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -o regions.so regions.c
 *   qemu-system-... -plugin regions.so,out=FILE
 *
 * out gets a line for each sample, for each region that was open in it, and for each CPU:
 *
 *   SAMPLE REGION CPU INSTRUCTIONS CAS ATOMICS TLBI DSB DSBST LINES
 *
 * numbers from 0 on, and at the end `end`. Regions may be open at the same time; each then gets the
 * whole. LINES are lines of 64 bytes that a CPU loads from or stores to in an open region for the
 * first time since the sample began, by virtual address; fetches of instructions and the walks of
 * the MMU touch none.
 *
 * Each instruction adds one to a counter before it runs, so that a block left early, by a fault or
 * a device access, is counted as far as it got; one that faults and is tried again counts twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "lines.h"
#include "marks.h"
#include "plugin-api.h"

#define MAX_CPUS 8

int qemu_plugin_version = 1;

/* The columns in the order they are written. */
enum { INSNS, KINDS, LINES = KINDS + KIND_NONE, COUNTS };

struct region {
	bool is_open, was_open;
	uint64_t counts[MAX_CPUS][COUNTS];
};

static enum isa isa;
static FILE *out;
static unsigned int cpus, samples;
static struct region regions[MARK_REGIONS];
static unsigned int open_regions;
static struct lines touched[MAX_CPUS];
/* What all CPUs did since the machine began, lines aside, and how much of it was shared out. */
static uint64_t done[COUNTS], shared[COUNTS];
/* The CPU whose turn it is. */
static unsigned int running;

/* Gives what was done since the last time to the running CPU in each open region. */
static void settle(void)
{
	for (int i = 0; open_regions && i < MARK_REGIONS; i++)
		for (int j = 0; regions[i].is_open && j < LINES; j++)
			regions[i].counts[running][j] += done[j] - shared[j];
	memcpy(shared, done, sizeof(done));
}

static void on_block(unsigned int cpu, void *data)
{
	(void)data;
	if (cpu == running)
		return;
	settle();
	running = cpu;
}

static void end_sample(void)
{
	for (int i = 0; i < MARK_REGIONS; i++) {
		for (unsigned int cpu = 0; regions[i].was_open && cpu < cpus; cpu++) {
			fprintf(out, "%u %d %u", samples, i, cpu);
			for (int j = 0; j < COUNTS; j++)
				fprintf(out, " %" PRIu64, regions[i].counts[cpu][j]);
			fputc('\n', out);
		}
		regions[i] = (struct region){ .is_open = regions[i].is_open,
					      .was_open = regions[i].is_open };
	}
	for (int i = 0; i < MAX_CPUS; i++)
		lines_empty(&touched[i]);
	samples++;
}

static void on_mark(uint64_t mark)
{
	settle();
	if (mark == MARK_SAMPLE)
		end_sample();
	if (mark >= MARK_REGIONS)
		return;
	regions[mark].is_open = !regions[mark].is_open;
	regions[mark].was_open = true;
	open_regions += regions[mark].is_open ? 1 : -1;
}

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	uint64_t last = address + (1 << qemu_plugin_mem_size_shift(info)) - 1;

	(void)data;
	if (address - MARKS < MARK_WORDS * sizeof(uint64_t)) {
		if (qemu_plugin_mem_is_store(info))
			on_mark((address - MARKS) / sizeof(uint64_t));
		return;
	}
	if (!open_regions)
		return;
	for (uint64_t line = address >> LINE_SHIFT; line <= last >> LINE_SHIFT; line++)
		if (lines_add(&touched[cpu], line))
			for (int i = 0; i < MARK_REGIONS; i++)
				regions[i].counts[cpu][LINES] += regions[i].is_open;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const uint8_t *bytes = qemu_plugin_insn_data(insn);
		size_t size = qemu_plugin_insn_size(insn);
		enum kind kind = decode(isa, bytes, size).kind;

		qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							   &done[INSNS], 1);
		if (kind != KIND_NONE)
			qemu_plugin_register_vcpu_insn_exec_inline(
				insn, QEMU_PLUGIN_INLINE_ADD_U64, &done[KINDS + kind], 1);
		/* Both directions: QEMU 7.2 takes a load for a store where only one is asked for. */
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
	(void)id, (void)data;
	fputs("end\n", out);
	if (fclose(out))
		perror("regions: out");
}

static int fail(const char *why, const char *what)
{
	fprintf(stderr, "regions: %s: %s\n", what, why);
	return -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	isa = isa_of(info->target_name);
	if (isa == ISA_NONE)
		return fail("not aarch64, x86_64 or riscv64", info->target_name);
	if (!info->system_emulation || info->system.max_vcpus > MAX_CPUS)
		return fail("not a machine with at most 8 CPUs", info->target_name);
	if (argc != 1 || strncmp(argv[0], "out=", 4))
		return fail("missing, or not alone", "out=FILE");
	cpus = info->system.max_vcpus;
	for (int i = 0; i < MAX_CPUS; i++)
		lines_empty(&touched[i]);
	out = fopen(argv[0] + 4, "w");
	if (!out)
		return fail(strerror(errno), argv[0] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
