// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tells which pages a program uses, in order, and what it asks of the system. A plugin for QEMU's
 * user mode (interface version 1), for programs of x86-64 on x86-64:
 *
 *   cc -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -o record.so record.c
 *   qemu-x86_64 -plugin record.so,fd=NUMBER PROGRAM...
 *
 * What is written to the descriptor are words of 64 bits, as this machine has them. The lowest two
 * bits say what a word is:
 *
 *   0  so many references (bits 4 to 19) one after the other to the page in bits 20 to 63; bit 2 is
 *      set where they store, bit 3 where they fetch. With a number of 0, the next reference, which
 *      is one, touches this page too.
 *   1  a call of the system has ended: bits 2 to 31 are its number. Its result and six arguments
 *      follow, a word each.
 *   2  text, of as many bytes as bits 3 to 63 say, follows, filled to whole words: what is mapped
 *      when the program begins (bit 2 is 0), or the file that the next call is about (1).
 *   3  the program asks to be replaced (bit 2 is 0), or has begun the child of the number in bits 4
 *      to 63 (1). With bit 3, which no plugin writes, there is nothing more.
 *
 * A fetch is told of with the first access of data after it, or at the end of its block, as many at
 * a time as are of one page. A block that is left early, by a signal, counts as if it had not been.
 * Threads are told of in the order in which they write here.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin-api.h"

#define PAGE_SHIFT 12
#define MAX_CPUS 1024
#define MAX_RUN 0xffff
#define WORDS 8192

int qemu_plugin_version = 1;

/* Calls of x86-64 Linux. */
enum {
	SYS_MMAP = 9, SYS_MPROTECT = 10, SYS_MUNMAP = 11, SYS_BRK = 12, SYS_MREMAP = 25,
	SYS_MADVISE = 28, SYS_CLONE = 56, SYS_FORK = 57, SYS_VFORK = 58, SYS_EXECVE = 59,
	SYS_KILL = 62, SYS_TKILL = 200, SYS_TGKILL = 234, SYS_EXECVEAT = 322,
	SYS_PKEY_MPROTECT = 329,
};
#define MAP_ANONYMOUS 0x20
#define CLONE_VM 0x100
#define CLONE_VFORK 0x4000

/* A run of instructions without a branch between, as translated; it is on two pages at most. */
struct block {
	uint64_t first_page, last_page;
	/* Instructions in all, and those before the first that ends on the second page. */
	uint32_t insns, on_first;
	/* Whether that one begins on the first page. */
	bool crosses;
};

/* An instruction that accesses data: how many have been fetched when it does. */
struct place {
	const struct block *block;
	uint32_t fetched;
};

struct cpu {
	const struct block *block;
	uint32_t fetched;
	/* References that are not told of yet, all alike. */
	uint64_t page;
	uint32_t run;
	enum use { LOAD, STORE, FETCH } use;
	uint64_t arguments[6];
};

static struct cpu cpus[MAX_CPUS];
static uint64_t words[WORDS];
static size_t used;
static int out = -1;
static pid_t traced;
static bool begun;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void flush(void)
{
	const char *at = (const char *)words;
	size_t left = used * sizeof(*words);

	used = 0;
	/* A child has the descriptor too, and what was not written before it began. */
	if (getpid() != traced)
		return;
	while (left) {
		ssize_t written = write(out, at, left);

		if (written < 0 && errno == EINTR)
			continue;
		/* Without a reader there is nothing to go on for. */
		if (written < 0)
			_exit(125);
		at += written;
		left -= written;
	}
}

static void put(uint64_t word)
{
	if (used == WORDS)
		flush();
	words[used++] = word;
}

static void put_run(struct cpu *cpu)
{
	if (cpu->run)
		put(cpu->page << 20 | (uint64_t)cpu->run << 4 | (uint64_t)cpu->use << 2);
	cpu->run = 0;
}

static void put_text(const char *text, size_t length, bool file)
{
	uint64_t word;

	put((uint64_t)length << 3 | (uint64_t)file << 2 | 2);
	for (size_t at = 0; at < length; at += sizeof(word)) {
		size_t part = length - at < sizeof(word) ? length - at : sizeof(word);

		word = 0;
		memcpy(&word, text + at, part);
		put(word);
	}
}

static void refer(struct cpu *cpu, uint64_t page, enum use use, uint32_t times)
{
	if (cpu->run && (cpu->page != page || cpu->use != use || cpu->run + times > MAX_RUN)) {
		pthread_mutex_lock(&lock);
		put_run(cpu);
		pthread_mutex_unlock(&lock);
	}
	cpu->page = page;
	cpu->use = use;
	cpu->run += times;
}

/* A reference to two pages. */
static void refer_across(struct cpu *cpu, uint64_t first, uint64_t last, enum use use)
{
	pthread_mutex_lock(&lock);
	put_run(cpu);
	put(last << 20 | (uint64_t)use << 2);
	put(first << 20 | 1 << 4 | (uint64_t)use << 2);
	pthread_mutex_unlock(&lock);
}

/* Fetches of the present block up to so many. */
static void fetch(struct cpu *cpu, uint32_t upto)
{
	const struct block *block = cpu->block;

	if (cpu->fetched < block->on_first && cpu->fetched < upto) {
		uint32_t end = upto < block->on_first ? upto : block->on_first;

		refer(cpu, block->first_page, FETCH, end - cpu->fetched);
		cpu->fetched = end;
	}
	if (cpu->fetched == block->on_first && cpu->fetched < upto && block->crosses) {
		refer_across(cpu, block->first_page, block->last_page, FETCH);
		cpu->fetched++;
	}
	if (cpu->fetched < upto) {
		refer(cpu, block->last_page, FETCH, upto - cpu->fetched);
		cpu->fetched = upto;
	}
}

/* Whether a line of what is mapped has this page: whether QEMU left addresses as they are. */
static bool is_mapped(const char *maps, uint64_t page)
{
	uint64_t start, end;

	for (const char *line = maps; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 &&
		    start >> PAGE_SHIFT <= page && page < end >> PAGE_SHIFT)
			return true;
	}
	return false;
}

/* What is mapped before the first instruction, which is on this page. */
static void begin(uint64_t page)
{
	static char maps[1 << 20];
	int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got;

	while (file >= 0 && length < sizeof(maps) - 1 &&
	       (got = read(file, maps + length, sizeof(maps) - 1 - length)) > 0)
		length += got;
	close(file);
	if (!is_mapped(maps, page)) {
		fputs("record: QEMU gives the program other addresses than the system\n", stderr);
		_exit(125);
	}
	put_text(maps, length, false);
	flush();
}

static void on_block(unsigned int index, void *data)
{
	struct cpu *cpu = &cpus[index % MAX_CPUS];
	const struct block *block = data;

	if (!begun) {
		begun = true;
		begin(block->first_page);
	}
	if (cpu->block)
		fetch(cpu, cpu->block->insns);
	cpu->block = block;
	cpu->fetched = 0;
}

static void on_access(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct cpu *cpu = &cpus[index % MAX_CPUS];
	const struct place *place = data;
	enum use use = qemu_plugin_mem_is_store(info) ? STORE : LOAD;
	uint64_t last = address + (1ull << qemu_plugin_mem_size_shift(info)) - 1;

	if (place->block == cpu->block)
		fetch(cpu, place->fetched);
	if (last >> PAGE_SHIFT == address >> PAGE_SHIFT)
		refer(cpu, address >> PAGE_SHIFT, use, 1);
	else
		refer_across(cpu, address >> PAGE_SHIFT, last >> PAGE_SHIFT, use);
}

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory) {
		fputs("record: out of memory\n", stderr);
		abort();
	}
	return memory;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t insns = qemu_plugin_tb_n_insns(tb);
	struct block *block = allocate(sizeof(*block));
	struct place *places = allocate(insns * sizeof(*places));

	(void)id;
	block->insns = insns;
	block->first_page = qemu_plugin_tb_vaddr(tb) >> PAGE_SHIFT;
	block->last_page = block->first_page;
	for (size_t i = 0; i < insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t start = qemu_plugin_insn_vaddr(insn);
		uint64_t last = (start + qemu_plugin_insn_size(insn) - 1) >> PAGE_SHIFT;

		if (last == block->first_page) {
			block->on_first = i + 1;
		} else if (block->last_page == block->first_page) {
			block->last_page = last;
			block->crosses = start >> PAGE_SHIFT == block->first_page;
		}
		places[i] = (struct place){ block, i + 1 };
		/* Both directions are asked for: QEMU 7.2 takes a load for a store where only one is. */
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, &places[i]);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

/* What a thread has not told of yet comes before its call. */
static void settle(struct cpu *cpu)
{
	if (cpu->block) {
		fetch(cpu, cpu->block->insns);
		cpu->block = NULL;
	}
	pthread_mutex_lock(&lock);
	put_run(cpu);
	pthread_mutex_unlock(&lock);
}

static void on_call(qemu_plugin_id_t id, unsigned int index, int64_t num, uint64_t a1, uint64_t a2,
		    uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct cpu *cpu = &cpus[index % MAX_CPUS];

	(void)id, (void)a7, (void)a8;
	settle(cpu);
	memcpy(cpu->arguments, (uint64_t[]){ a1, a2, a3, a4, a5, a6 }, sizeof(cpu->arguments));
	bool replaces = num == SYS_EXECVE || num == SYS_EXECVEAT;

	/* Calls that may be the program's last. */
	if (replaces || num == SYS_KILL || num == SYS_TKILL || num == SYS_TGKILL) {
		pthread_mutex_lock(&lock);
		if (replaces)
			put(3);
		flush();
		pthread_mutex_unlock(&lock);
	}
}

static bool is_wanted(int64_t num)
{
	return num == SYS_MMAP || num == SYS_MPROTECT || num == SYS_MUNMAP || num == SYS_BRK ||
	       num == SYS_MREMAP || num == SYS_MADVISE || num == SYS_PKEY_MPROTECT;
}

static bool is_child(int64_t num, const struct cpu *cpu)
{
	bool shares = cpu->arguments[0] & CLONE_VM && !(cpu->arguments[0] & CLONE_VFORK);

	return num == SYS_FORK || num == SYS_VFORK || (num == SYS_CLONE && !shares);
}

static void put_file(uint64_t fd)
{
	char link[64], path[4096];

	snprintf(link, sizeof(link), "/proc/self/fd/%" PRIu64, fd);
	ssize_t length = readlink(link, path, sizeof(path));

	if (length > 0)
		put_text(path, length, true);
}

static void on_result(qemu_plugin_id_t id, unsigned int index, int64_t num, int64_t result)
{
	const struct cpu *cpu = &cpus[index % MAX_CPUS];

	(void)id;
	if (result < 0 && result >= -4095)
		return;
	pthread_mutex_lock(&lock);
	if (is_wanted(num)) {
		if (num == SYS_MMAP && !(cpu->arguments[3] & MAP_ANONYMOUS))
			put_file(cpu->arguments[4]);
		put((uint64_t)num << 2 | 1);
		put(result);
		for (int i = 0; i < 6; i++)
			put(cpu->arguments[i]);
	} else if (result > 0 && is_child(num, cpu)) {
		put((uint64_t)result << 4 | 7);
	}
	pthread_mutex_unlock(&lock);
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
	(void)id, (void)data;
	for (int i = 0; i < MAX_CPUS; i++)
		settle(&cpus[i]);
	flush();
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (info->system_emulation || strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "record: %s: not a program of x86-64\n", info->target_name);
		return -1;
	}
	if (argc != 1 || strncmp(argv[0], "fd=", 3)) {
		fputs("record: not fd=NUMBER\n", stderr);
		return -1;
	}
	/* Out of the program's sight, as far as it can be. */
	out = fcntl(atoi(argv[0] + 3), F_DUPFD_CLOEXEC, 1000);
	if (out < 0) {
		perror("record: fd");
		return -1;
	}
	close(atoi(argv[0] + 3));
	traced = getpid();
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, on_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_result);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
