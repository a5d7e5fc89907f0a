/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the profiler has to know of an instruction: how it moves between functions, whether it is
 * one of the costly kinds, and whether it saves or loads a thread at a context switch.
 */
#ifndef DECODE_H
#define DECODE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum isa { ISA_ARM64, ISA_X86_64, ISA_RISCV64, ISA_NONE };

/* The instruction set of an emulator's target, by QEMU's name of it. */
static enum isa isa_of(const char *target)
{
	static const char *const names[] = { "aarch64", "x86_64", "riscv64" };
	int isa = 0;

	while (isa < ISA_NONE && strcmp(target, names[isa]))
		isa++;
	return isa;
}

/* How an instruction at a block's end goes on; a branch goes on like any other instruction. */
enum end { END_ON, END_CALL, END_RETURN, END_EXCEPTION_RETURN };

/*
 * What is counted, beside instructions, calls and lines. A DSB of stores waits for these alone. On
 * riscv64 a FENCE counts as a DSB does.
 */
enum kind { KIND_CAS, KIND_ATOMIC, KIND_TLBI, KIND_DSB, KIND_DSB_STORES, KIND_NONE };

/* The instruction of the switch function whose address names the thread that leaves, or comes. */
enum transfer { TRANSFER_NONE, TRANSFER_SAVE, TRANSFER_LOAD };

struct insn {
	enum end end;
	enum kind kind;
	enum transfer transfer;
};

/* An instruction of up to 32 bits. */
static uint32_t word_of(const uint8_t *bytes, size_t size)
{
	uint32_t word = 0;

	memcpy(&word, bytes, size < sizeof(word) ? size : sizeof(word));
	return word;
}

static enum end arm64_end(uint32_t word)
{
	bool blr_authenticated = (word & 0xfefff800) == 0xd63f0800;
	bool blr = (word & 0xfffffc1f) == 0xd63f0000;
	bool bl = word >> 26 == 0x25;

	if (bl || blr || blr_authenticated)
		return END_CALL;
	if ((word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff)
		return END_RETURN;
	if (word == 0xd69f03e0 || (word & 0xfffffbff) == 0xd69f0bff)
		return END_EXCEPTION_RETURN;
	return END_ON;
}

static enum kind arm64_kind(uint32_t word)
{
	bool cas = (word & 0x3fa07c00) == 0x08a07c00;
	bool casp = (word & 0xbfa07c00) == 0x08207c00;
	/* Bit 15 with an operation is LDAPR or a 64-byte access; without, SWP. */
	bool fetch = (word & 0x3f200c00) == 0x38200000 && (!(word & 0x8000) || !(word & 0x7000));
	bool store_exclusive = (word & 0x3fe00000) == 0x08000000;
	bool store_exclusive_pair = (word & 0xbfe00000) == 0x88200000;

	if (cas || casp)
		return KIND_CAS;
	if (fetch || store_exclusive || store_exclusive_pair)
		return KIND_ATOMIC;
	if ((word & 0xfff8e000) == 0xd5088000)
		return KIND_TLBI;
	/* OSHST, NSHST, ISHST and ST. */
	if ((word & 0xfffff3ff) == 0xd503329f)
		return KIND_DSB_STORES;
	if ((word & 0xfffff0ff) == 0xd503309f || (word & 0xfffff3ff) == 0xd503323f)
		return KIND_DSB;
	return KIND_NONE;
}

static struct insn arm64_insn(const uint8_t *bytes, size_t size)
{
	uint32_t word = word_of(bytes, size);
	struct insn insn = { arm64_end(word), arm64_kind(word), TRANSFER_NONE };

	/* STP and LDP of x19 and x20, the first callee-saved registers. */
	if ((word & 0xfe407c1f) == 0xa8005013)
		insn.transfer = TRANSFER_SAVE;
	if ((word & 0xfe407c1f) == 0xa8405013)
		insn.transfer = TRANSFER_LOAD;
	return insn;
}

/* An x86-64 instruction: its prefixes, its opcode (0x0fXX and 0x0f38XX included), its ModRM. */
struct x86 {
	bool lock;
	uint32_t opcode;
	uint8_t modrm;
};

static bool is_x86_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
	       byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65 || (byte & 0xf0) == 0x40;
}

static struct x86 x86_parts(const uint8_t *bytes, size_t size)
{
	struct x86 x86 = { 0 };
	size_t at = 0;

	while (at < size && is_x86_prefix(bytes[at]))
		x86.lock |= bytes[at++] == 0xf0;
	if (at < size)
		x86.opcode = bytes[at++];
	if (x86.opcode == 0x0f && at < size)
		x86.opcode = 0x0f00 | bytes[at++];
	if (x86.opcode == 0x0f38 && at < size)
		x86.opcode = 0x0f3800 | bytes[at++];
	if (at < size)
		x86.modrm = bytes[at];
	return x86;
}

static enum end x86_end(const struct x86 *x86)
{
	unsigned int reg = x86->modrm >> 3 & 7;

	switch (x86->opcode) {
	case 0xe8:
		return END_CALL;
	case 0xff:
		return reg == 2 || reg == 3 ? END_CALL : END_ON;
	case 0xc2: case 0xc3: case 0xca: case 0xcb:
		return END_RETURN;
	case 0xcf:
		return END_EXCEPTION_RETURN;
	default:
		return END_ON;
	}
}

static enum kind x86_kind(const struct x86 *x86)
{
	unsigned int reg = x86->modrm >> 3 & 7;
	bool memory = x86->modrm >> 6 != 3;
	bool cmpxchg = x86->opcode == 0x0fb0 || x86->opcode == 0x0fb1 ||
		       (x86->opcode == 0x0fc7 && reg == 1);
	bool xchg = x86->opcode == 0x86 || x86->opcode == 0x87;
	bool invlpg = x86->opcode == 0x0f01 && reg == 7 && memory;
	bool invpcid = x86->opcode == 0x0f3882;
	bool load_cr3 = x86->opcode == 0x0f22 && reg == 3;

	if (x86->lock && cmpxchg)
		return KIND_CAS;
	if (x86->lock || (xchg && memory))
		return KIND_ATOMIC;
	if (invlpg || invpcid || load_cr3)
		return KIND_TLBI;
	return KIND_NONE;
}

static struct insn x86_insn(const uint8_t *bytes, size_t size)
{
	struct x86 x86 = x86_parts(bytes, size);
	struct insn insn = { x86_end(&x86), x86_kind(&x86), TRANSFER_NONE };
	bool stack_pointer = (x86.modrm >> 3 & 7) == 4 && x86.modrm >> 6 != 3;

	/* MOV between the stack pointer and memory. */
	if (x86.opcode == 0x89 && stack_pointer)
		insn.transfer = TRANSFER_SAVE;
	if (x86.opcode == 0x8b && stack_pointer)
		insn.transfer = TRANSFER_LOAD;
	return insn;
}

static enum end riscv_end(uint32_t word)
{
	uint32_t opcode = word & 0x7f, rd = word >> 7 & 31, rs1 = word >> 15 & 31;
	bool links = rd == 1 || rd == 5;
	/* C.JR and C.JALR have their register where others have rd. */
	bool c_jr = (word & 0xf07f) == 0x8002 && rd, c_jalr = (word & 0xf07f) == 0x9002 && rd;

	if (c_jalr || (opcode == 0x6f && links) || (opcode == 0x67 && links))
		return END_CALL;
	if ((c_jr && links) || (opcode == 0x67 && !rd && (rs1 == 1 || rs1 == 5)))
		return END_RETURN;
	/* SRET and MRET. */
	return word == 0x10200073 || word == 0x30200073 ? END_EXCEPTION_RETURN : END_ON;
}

static enum kind riscv_kind(uint32_t word)
{
	uint32_t opcode = word & 0x7f, function = word >> 27;
	/* What comes before and after: of each input, output, reads, writes. */
	uint32_t before = word >> 24 & 15, after = word >> 20 & 15;

	/* AMOCAS; all else but LR, SC included. */
	if (opcode == 0x2f && function == 5)
		return KIND_CAS;
	if (opcode == 0x2f && function != 2)
		return KIND_ATOMIC;
	/* SFENCE.VMA and SINVAL.VMA. */
	if ((word & 0xfe007fff) == 0x12000073 || (word & 0xfe007fff) == 0x16000073)
		return KIND_TLBI;
	/* SFENCE.W.INVAL waits for stores before SINVAL.VMA, SFENCE.INVAL.IR for what it did. */
	if (word == 0x18000073)
		return KIND_DSB_STORES;
	if (word == 0x18100073)
		return KIND_DSB;
	/* FENCE; one that orders nothing is a hint, such as PAUSE. */
	if ((word & 0x707f) == 0x0f && before && after)
		return before & (8 | 2) ? KIND_DSB : KIND_DSB_STORES;
	return KIND_NONE;
}

static struct insn riscv_insn(const uint8_t *bytes, size_t size)
{
	uint32_t word = word_of(bytes, size);
	struct insn insn = { riscv_end(word), riscv_kind(word), TRANSFER_NONE };

	/* SD and LD of the return address, not relative to the stack pointer. */
	if ((word & 0x01f0707f) == 0x00103023)
		insn.transfer = TRANSFER_SAVE;
	if ((word & 0x7fff) == 0x3083)
		insn.transfer = TRANSFER_LOAD;
	return insn;
}

static struct insn decode(enum isa isa, const uint8_t *bytes, size_t size)
{
	switch (isa) {
	case ISA_ARM64:
		return arm64_insn(bytes, size);
	case ISA_X86_64:
		return x86_insn(bytes, size);
	case ISA_RISCV64:
		return riscv_insn(bytes, size);
	case ISA_NONE:
		break;
	}
	assert(!"an instruction set that isa_of() gave");
	return (struct insn){ 0 };
}

#endif
