#ifndef CPU_H
#define CPU_H

#include <sched.h>
#include <stdbool.h>

/* Keeps the calling thread on a CPU. Returns false if the machine has no such CPU. */
static inline bool cpu_stay(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/* Gives the CPU's other threads a turn, and under emulation its other CPUs. */
static inline void cpu_give_turn(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#elif defined(__riscv)
	__asm__ volatile(".4byte 0x100000f"); /* PAUSE */
#endif
}

#endif
