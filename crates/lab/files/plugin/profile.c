// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Counts guest instructions, calls, atomics, invalidations, barriers and first touches of cache
 * lines under one function of the kernel, by call path, and what its calls of functions on other
 * CPUs cost these. A plugin for QEMU (interface version 1), for CPUs that are emulated one at a
 * time (thread=single):
 *
 *   cc -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -o profile.so profile.c
 *   qemu-system-... -plugin profile.so,symbols=FILE,out=FILE[,root=SYMBOL]
 *
 * symbols has lines `hexaddress name`, text symbols by ascending address. out gets a line a path:
 *
 *   root;callee;... INSTRUCTIONS CALLS CAS ATOMICS TLBI DSB DSBST LINES
 *
 * then one for each time that the kernel ran pageout_lab_sample(), with what was counted since the
 * last time: under the root; then the interrupts by which it made other CPUs call functions, such
 * as flushes of their TLBs, and what these spent in them:
 *
 *   # sample INSTRUCTIONS CAS ATOMICS TLBI DSB DSBST LINES INTERRUPTS INSTRUCTIONS CAS ...
 *
 * and at the end `# lost-returns NUMBER`, returns to where no frame waited: with any, paths are
 * not to be trusted. The counts of a path are its last function's own.
 *
 * LINES are lines of 64 bytes that a CPU loads from or stores to for the first time since the
 * sample began, by virtual address. Accesses elsewhere than under the root, or in interrupts while
 * it runs, touch no line, nor do fetches of instructions and the walks of the MMU.
 *
 * A plugin sees neither registers nor what memory holds. Where the CPU is follows from the addresses of the
 * blocks it runs, and how each ended: a call pushes a frame, a return pops to the frame that waits
 * for its target, any other way into another function replaces the top one (a tail call). Each
 * instruction adds one to a counter before it runs, so that a block left early, by a fault or a
 * device access, is counted as far as it got; one that faults and is tried again counts twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "lines.h"
#include "plugin-api.h"

#define MAX_CPUS 8

int qemu_plugin_version = 1;

/* The columns in the order they are written. */
enum { INSNS, CALLS, KINDS, LINES = KINDS + KIND_NONE, COUNTS };

/* Whether a function is where the CPU goes by itself. An asynchronous one is nobody's callee. */
enum entry { ENTRY_NONE, ENTRY_SYNC, ENTRY_ASYNC };

struct function {
	uint64_t start;
	char *name;
	/* What a name ending in .cold belongs to; otherwise itself. */
	uint32_t whole;
	enum entry entry;
	/* Whether it is a table of stubs, each of them an entry, and not only its start. */
	bool stubs;
	/* Whether a new thread begins in it. */
	bool birth;
};

/* A path: a function, and the path that called it. */
struct node {
	struct node *parent, *sibling, *children, *recent;
	uint32_t function;
	uint64_t counts[COUNTS];
};

struct event {
	uint16_t at;
	uint8_t kind;
};

/* A run of instructions without a branch between, as translated. */
struct block {
	struct block *chain;
	uint64_t start, after;
	uint32_t function;
	enum end end;
	enum entry entry;
	bool starts_function;
	uint16_t insns, n_events;
	struct event events[];
};

struct frame {
	struct node *node;
	/* 0 where it is not known. */
	uint64_t returns_to;
	bool exception;
	/* Of an exception: the block it came after, NULL where that one was not through. */
	const struct block *interrupted;
};

/* A thread inside the root function. */
struct thread {
	struct thread *next;
	/* Where its registers are saved while another thread runs. */
	uint64_t context;
	size_t depth, room;
	struct frame *frames;
};

/* An interrupt of a CPU that is not inside the root, while a thread elsewhere is. */
struct interrupt {
	/* Exceptions inside each other, it being the outermost; 0 if there is none. */
	unsigned int depth;
	/* Whether it came to call a function for another CPU. */
	bool calls;
	uint64_t counts[COUNTS];
};

struct cpu {
	const struct block *last;
	/* While another CPU runs: how many instructions of the last block this one has run. */
	uint64_t ran;
	/* The thread on it that is inside the root. */
	struct thread *running;
	struct interrupt interrupt;
	bool saving;
	uint64_t saved;
	struct lines touched;
};

/* What ends up in a line. */
struct sample {
	uint64_t root[COUNTS], others[COUNTS], interrupts;
};

static enum isa isa;
static FILE *out;
static struct function *functions;
static size_t n_functions;
static uint32_t root = UINT32_MAX, switches = UINT32_MAX, vectors = UINT32_MAX;
/* What runs functions for other CPUs, and what tells that a sample is over. */
static uint32_t called = UINT32_MAX, sample_end = UINT32_MAX;

static struct block nowhere;
static struct block *blocks[1 << 14];
/*
 * Instructions run by the kernel; how many when the last block began, and of those, how many have
 * been put to a path.
 */
static uint64_t executed, begun, settled;

static struct node *root_node;
static struct cpu cpus[MAX_CPUS], *cpu = cpus;
static struct thread *waiting;
/* Threads inside the root, running and waiting. */
static unsigned int inside;
static uint64_t lost_returns;
/* Of all samples so far, of those that are over, and these. */
static struct sample total, before, *samples;
static size_t n_samples;

static void *allocate(void *old, size_t size)
{
	void *memory = realloc(old, size);

	if (!memory) {
		fputs("profile: out of memory\n", stderr);
		abort();
	}
	return memory;
}

/* The path of `function` called from `parent`. */
static struct node *child(struct node *parent, uint32_t function)
{
	struct node **link = &parent->children;

	if (parent->recent && parent->recent->function == function)
		return parent->recent;
	while (*link && (*link)->function != function)
		link = &(*link)->sibling;
	if (!*link) {
		*link = allocate(NULL, sizeof(**link));
		**link = (struct node){ .parent = parent, .function = function };
	}
	return parent->recent = *link;
}

static struct frame *top(void)
{
	return &cpu->running->frames[cpu->running->depth - 1];
}

static void push(struct frame frame)
{
	struct thread *thread = cpu->running;

	if (thread->depth == thread->room) {
		thread->room = 2 * thread->room + 64;
		thread->frames = allocate(thread->frames, thread->room * sizeof(frame));
	}
	thread->frames[thread->depth++] = frame;
	frame.node->counts[CALLS]++;
}

/* Adds what ran since the last time, and of the last block's costly kinds those among it. */
static void add(uint64_t *counts)
{
	counts[INSNS] += executed - settled;
	for (size_t i = 0; i < cpu->last->n_events; i++) {
		uint64_t at = begun + cpu->last->events[i].at;

		if (at >= settled && at < executed)
			counts[KINDS + cpu->last->events[i].kind]++;
	}
}

/* Puts what ran since the last time to the running thread's path, or to an interrupt. */
static void settle(void)
{
	if (cpu->running) {
		add(top()->node->counts);
		add(total.root);
	} else if (cpu->interrupt.depth) {
		add(cpu->interrupt.counts);
	}
	settled = executed;
}

/* What the CPU ran last belongs to it before another one's turn comes. */
static void take_turn(unsigned int index)
{
	if (cpu == &cpus[index])
		return;
	settle();
	cpu->ran = executed - begun;
	cpu = &cpus[index];
	begun = executed - cpu->ran;
}

static void end_interrupt(struct interrupt *interrupt)
{
	if (interrupt->calls) {
		total.interrupts++;
		for (int i = 0; i < COUNTS; i++)
			total.others[i] += interrupt->counts[i];
	}
	*interrupt = (struct interrupt){ 0 };
}

/* Outside of the root: an interrupt's exceptions begin and end. */
static void follow_interrupt(const struct block *from, const struct block *to)
{
	struct interrupt *interrupt = &cpu->interrupt;
	bool returned = from && from->end == END_EXCEPTION_RETURN;

	if (interrupt->depth && returned && !--interrupt->depth)
		end_interrupt(interrupt);
	if (to->entry && !cpu->last->entry &&
	    (interrupt->depth || (inside && to->entry == ENTRY_ASYNC)))
		interrupt->depth++;
	if (interrupt->depth && to->starts_function && to->function == called)
		interrupt->calls = true;
}

/* An interrupt that has returned, to what is not told of, is over. */
static void end_sample(void)
{
	for (struct cpu *other = cpus; other < cpus + MAX_CPUS; other++)
		if (other != cpu && other->interrupt.depth == 1 && other->ran == other->last->insns &&
		    other->last->end == END_EXCEPTION_RETURN)
			end_interrupt(&other->interrupt);
	samples = allocate(samples, (n_samples + 1) * sizeof(*samples));
	samples[n_samples].interrupts = total.interrupts - before.interrupts;
	for (int i = 0; i < COUNTS; i++) {
		samples[n_samples].root[i] = total.root[i] - before.root[i];
		samples[n_samples].others[i] = total.others[i] - before.others[i];
	}
	n_samples++;
	before = total;
	for (int i = 0; i < MAX_CPUS; i++)
		lines_empty(&cpus[i].touched);
}

static void enter_root(const struct block *from)
{
	if (!root_node) {
		root_node = allocate(NULL, sizeof(*root_node));
		*root_node = (struct node){ .function = root };
	}
	inside++;
	cpu->running = allocate(NULL, sizeof(*cpu->running));
	*cpu->running = (struct thread){ 0 };
	push((struct frame){ .node = root_node,
			     .returns_to = from && from->end == END_CALL ? from->after : 0 });
}

static void leave_root(void)
{
	inside--;
	free(cpu->running->frames);
	free(cpu->running);
	cpu->running = NULL;
}

/* Pops to the caller that goes on at `pc`; a return never crosses an exception. */
static bool pop_to(uint64_t pc)
{
	struct thread *thread = cpu->running;

	if (!top()->returns_to && !top()->exception) {
		thread->depth--;
		return true;
	}
	for (size_t i = thread->depth; i-- && !thread->frames[i].exception;) {
		if (thread->frames[i].returns_to == pc) {
			thread->depth = i;
			return true;
		}
	}
	return false;
}

/* Ends the innermost exception; what it interrupted goes on as if nothing had been. */
static bool pop_exception(const struct block **from)
{
	struct thread *thread = cpu->running;

	for (size_t i = thread->depth; i--;) {
		if (thread->frames[i].exception) {
			*from = thread->frames[i].interrupted;
			thread->depth = i;
			return true;
		}
	}
	return false;
}

/* Follows the running thread from the end of a block, NULL where that was not reached, to `to`. */
static void follow(const struct block *from, const struct block *to)
{
	if (to->entry && !cpu->last->entry) {
		struct node *caller = to->entry == ENTRY_ASYNC ? root_node : top()->node;

		push((struct frame){ .node = child(caller, to->function), .exception = true,
				     .interrupted = from });
		return;
	}
	while (from && from->end == END_EXCEPTION_RETURN && pop_exception(&from))
		;
	if (from && from->end == END_CALL &&
	    (to->starts_function || to->function != top()->node->function)) {
		push((struct frame){ .node = child(top()->node, to->function),
				     .returns_to = from->after });
		return;
	}
	if (from && from->end == END_RETURN && !pop_to(to->start) && !to->starts_function)
		lost_returns++;
	if (!cpu->running->depth) {
		leave_root();
	} else if (top()->node->function != to->function) {
		struct node *caller = top()->node->parent;

		top()->node = child(caller ? caller : root_node, to->function);
		top()->node->counts[CALLS] += to->starts_function;
	}
}

static void on_block(unsigned int index, void *data)
{
	const struct block *block = data, *from;

	take_turn(index);
	from = executed - begun == cpu->last->insns ? cpu->last : NULL;
	settle();
	/* A thread that died inside the root leaves its place in memory to a new one. */
	if (cpu->running && functions[block->function].birth && block->starts_function)
		leave_root();
	if (cpu->running) {
		follow(from, block);
	} else {
		follow_interrupt(from, block);
		if (block->function == root && block->starts_function)
			enter_root(from);
		if (block->function == sample_end && block->starts_function)
			end_sample();
	}
	cpu->last = block;
	begun = executed;
}

/* Counts the lines of an access that are new to the CPU, to where its instruction counts. */
static void on_access(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	uint64_t last = address + (1 << qemu_plugin_mem_size_shift(info)) - 1;

	(void)data;
	if (!cpus[index].running && !cpus[index].interrupt.depth)
		return;
	take_turn(index);
	for (uint64_t line = address >> LINE_SHIFT; line <= last >> LINE_SHIFT; line++) {
		if (!lines_add(&cpu->touched, line))
			continue;
		if (cpu->running) {
			top()->node->counts[LINES]++;
			total.root[LINES]++;
		} else {
			cpu->interrupt.counts[LINES]++;
		}
	}
}

/*
 * The switch function saves the registers of the thread that leaves, then loads the other's. The
 * first address of each names the thread.
 */
static void on_save(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct cpu *saver = &cpus[index];

	(void)info, (void)data;
	if (!saver->saving)
		saver->saved = address;
	saver->saving = true;
}

/* An interrupt that ends in a switch is over: its thread goes on in its own time. */
static void on_load(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info, (void)data;
	if (!cpus[index].saving)
		return;
	cpus[index].saving = false;
	take_turn(index);
	settle();
	end_interrupt(&cpu->interrupt);
	if (cpu->running) {
		cpu->running->context = cpu->saved;
		cpu->running->next = waiting;
		waiting = cpu->running;
		cpu->running = NULL;
	}
	for (struct thread **link = &waiting; *link; link = &(*link)->next) {
		if ((*link)->context == address) {
			cpu->running = *link;
			*link = cpu->running->next;
			return;
		}
	}
}

/* The function at an address; addresses below the first count as its own. */
static uint32_t function_at(uint64_t address)
{
	size_t low = 0, high = n_functions;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (functions[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static enum entry entry_at(uint32_t function, uint64_t address)
{
	const struct function *at = &functions[function];

	if (isa != ISA_ARM64)
		return address == at->start || at->stubs ? at->entry : ENTRY_NONE;
	/* Four groups of entries, by where from; the first of a group is the synchronous one. */
	if (function != vectors || address & 0x7f)
		return ENTRY_NONE;
	return address & 0x180 ? ENTRY_ASYNC : ENTRY_SYNC;
}

/* The block kept for all translations of the same instructions. */
static struct block *intern(const struct block *block, const struct event *events)
{
	size_t size = block->n_events * sizeof(*events);
	struct block **link = &blocks[block->start / 4 % (sizeof(blocks) / sizeof(*blocks))];

	for (; *link; link = &(*link)->chain) {
		struct block *known = *link;

		if (known->start == block->start && known->after == block->after &&
		    known->insns == block->insns && known->end == block->end &&
		    known->n_events == block->n_events && !memcmp(known->events, events, size))
			return known;
	}
	*link = allocate(NULL, sizeof(*block) + size);
	**link = *block;
	memcpy((*link)->events, events, size);
	return *link;
}

/* Prepares an instruction to be counted, and to tell of a context switch. */
static struct insn prepare(struct qemu_plugin_insn *insn, bool in_switch)
{
	const uint8_t *bytes = qemu_plugin_insn_data(insn);
	size_t size = qemu_plugin_insn_size(insn);
	struct insn decoded = decode(isa, bytes, size);

	qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &executed, 1);
	/* Both directions are asked for: QEMU 7.2 takes a load for a store where only one is. */
	qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, NULL);
	if (in_switch && decoded.transfer == TRANSFER_SAVE)
		qemu_plugin_register_vcpu_mem_cb(insn, on_save, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	if (in_switch && decoded.transfer == TRANSFER_LOAD)
		qemu_plugin_register_vcpu_mem_cb(insn, on_load, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	return decoded;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	static struct event events[UINT16_MAX];
	uint64_t start = qemu_plugin_tb_vaddr(tb);
	struct block block = { .start = start, .insns = qemu_plugin_tb_n_insns(tb) };

	(void)id;
	/* The kernel has the upper half of the addresses. */
	if (!(start >> 63))
		return;
	uint32_t function = function_at(start);

	block.function = functions[function].whole;
	block.starts_function = functions[function].start == start && block.function == function;
	block.entry = entry_at(function, start);
	for (uint16_t i = 0; i < block.insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		struct insn decoded = prepare(insn, function == switches);

		if (decoded.kind != KIND_NONE)
			events[block.n_events++] = (struct event){ i, decoded.kind };
		block.end = decoded.end;
		block.after = qemu_plugin_insn_vaddr(insn) + qemu_plugin_insn_size(insn);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
					     intern(&block, events));
}

static void write_path(const struct node *node)
{
	if (node->parent) {
		write_path(node->parent);
		fputc(';', out);
	}
	fputs(functions[node->function].name, out);
}

static void write_node(const struct node *node)
{
	write_path(node);
	for (int i = 0; i < COUNTS; i++)
		fprintf(out, " %" PRIu64, node->counts[i]);
	fputc('\n', out);
	for (node = node->children; node; node = node->sibling)
		write_node(node);
}

/* Counts without calls. */
static void write_counts(const uint64_t *counts)
{
	fprintf(out, " %" PRIu64, counts[INSNS]);
	for (int i = KINDS; i < COUNTS; i++)
		fprintf(out, " %" PRIu64, counts[i]);
}

static void write_sample(const struct sample *sample)
{
	fputs("# sample", out);
	write_counts(sample->root);
	fprintf(out, " %" PRIu64, sample->interrupts);
	write_counts(sample->others);
	fputc('\n', out);
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
	(void)id, (void)data;
	settle();
	if (root_node)
		write_node(root_node);
	for (size_t i = 0; i < n_samples; i++)
		write_sample(&samples[i]);
	fprintf(out, "# lost-returns %" PRIu64 "\n", lost_returns);
	if (fclose(out))
		perror("profile: out");
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

/*
 * The functions that the CPU enters: stubs on x86-64; arm64 has its vector table. On riscv64 one
 * serves all, and no exception but an interrupt comes where the kernel reclaims.
 */
static enum entry entry_named(const char *name)
{
	if (isa == ISA_RISCV64)
		return strcmp(name, "handle_exception") ? ENTRY_NONE : ENTRY_ASYNC;
	if (starts_with(name, "asm_sysvec_") || !strcmp(name, "asm_exc_nmi") ||
	    !strcmp(name, "asm_common_interrupt") || !strcmp(name, "asm_spurious_interrupt") ||
	    !strcmp(name, "irq_entries_start") || !strcmp(name, "spurious_entries_start"))
		return ENTRY_ASYNC;
	return starts_with(name, "asm_exc_") ? ENTRY_SYNC : ENTRY_NONE;
}

/* Of the names of one address, aliases for early code and names of sections say least. */
static bool is_poor_name(const char *name)
{
	return starts_with(name, "__pi_") || ends_with(name, "text_start") ||
	       ends_with(name, "text_end");
}

/* What switches threads, by instruction set. */
static const char *const switch_names[] = { "cpu_switch_to", "__switch_to_asm", "__switch_to" };

static void add_function(uint64_t start, const char *name, const char *root_name)
{
	struct function *function = n_functions ? &functions[n_functions - 1] : NULL;
	bool is_root = !strcmp(name, root_name);

	if (!function || function->start != start) {
		functions = allocate(functions, (n_functions + 1) * sizeof(*functions));
		function = &functions[n_functions];
		*function = (struct function){ .start = start, .name = strdup(name),
					       .whole = n_functions };
		n_functions++;
	} else if (is_root || (n_functions - 1 != root && is_poor_name(function->name))) {
		free(function->name);
		function->name = strdup(name);
	}
	if (entry_named(name))
		function->entry = entry_named(name);
	if (ends_with(name, "_entries_start"))
		function->stubs = true;
	if (is_root)
		root = n_functions - 1;
	if (!strcmp(name, switch_names[isa]))
		switches = n_functions - 1;
	/* Of x86-64, ret_from_fork is called by where the thread begins. */
	if (starts_with(name, "ret_from_fork") && ends_with(name, isa == ISA_ARM64 ? "fork" : "_asm"))
		function->birth = true;
	if (!strcmp(name, "vectors"))
		vectors = n_functions - 1;
	if (!strcmp(name, "__flush_smp_call_function_queue"))
		called = n_functions - 1;
	if (!strcmp(name, "pageout_lab_sample"))
		sample_end = n_functions - 1;
}

/* What the compiler moved out of the way is still its function's. */
static void join_cold_parts(void)
{
	for (size_t i = 0; i < n_functions; i++) {
		size_t length = strlen(functions[i].name) - strlen(".cold");

		if (!ends_with(functions[i].name, ".cold"))
			continue;
		for (size_t j = 0; j < n_functions; j++)
			if (!strncmp(functions[j].name, functions[i].name, length) &&
			    !functions[j].name[length])
				functions[i].whole = j;
	}
}

static int fail(const char *why, const char *what)
{
	fprintf(stderr, "profile: %s: %s\n", what, why);
	return -1;
}

static int read_symbols(const char *path, const char *root_name)
{
	FILE *file = fopen(path, "r");
	uint64_t start, before = 0;
	char name[512];
	int fields;

	if (!file)
		return fail(strerror(errno), path);
	while ((fields = fscanf(file, "%" SCNx64 " %511s", &start, name)) == 2 && start >= before) {
		add_function(start, name, root_name);
		before = start;
	}
	fclose(file);
	if (fields != EOF)
		return fail("not lines of `hexaddress name`, ascending", path);
	if (root == UINT32_MAX)
		return fail("no such function", root_name);
	if (functions[root].entry || root == vectors)
		return fail("entered by the CPU, not called", root_name);
	if (switches == UINT32_MAX || (isa == ISA_ARM64 && vectors == UINT32_MAX))
		return fail("no switch function or no vector table", path);
	join_cold_parts();
	return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	const char *symbols = NULL, *path = NULL, *root_name = "try_to_free_mem_cgroup_pages";

	for (int i = 0; i < argc; i++) {
		if (starts_with(argv[i], "symbols="))
			symbols = strchr(argv[i], '=') + 1;
		else if (starts_with(argv[i], "root="))
			root_name = strchr(argv[i], '=') + 1;
		else if (starts_with(argv[i], "out="))
			path = strchr(argv[i], '=') + 1;
		else
			return fail("not symbols=FILE, root=SYMBOL or out=FILE", argv[i]);
	}
	isa = isa_of(info->target_name);
	if (isa == ISA_NONE)
		return fail("not aarch64, x86_64 or riscv64", info->target_name);
	if (!info->system_emulation || info->system.max_vcpus > MAX_CPUS)
		return fail("not a machine with at most 8 CPUs", info->target_name);
	if (!symbols || !path)
		return fail("missing", symbols ? "out=FILE" : "symbols=FILE");
	if (read_symbols(symbols, root_name))
		return -1;
	if (info->system.max_vcpus > 1 && called == UINT32_MAX)
		return fail("no __flush_smp_call_function_queue", symbols);
	for (int i = 0; i < MAX_CPUS; i++) {
		cpus[i].last = &nowhere;
		lines_empty(&cpus[i].touched);
	}
	out = fopen(path, "w");
	if (!out)
		return fail(strerror(errno), path);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
