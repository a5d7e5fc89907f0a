// SPDX-License-Identifier: GPL-2.0-only
/*
 * Points at which an emulated CPU may give up its turn, as mm/pageout_schedule.c of a kernel.
 *
 * The compiler calls __sanitizer_cov_trace_pc() at each basic block of the files that have points.
 * An emulator that runs its CPUs by turns in one thread ends the turn of a CPU at PAUSE. So what is
 * written here decides all interleavings of those files: the same orders give the same run.
 *
 * A program writes to /proc/pageout_schedule: "begin", "end", "holds" for a check, "fail TEXT" for
 * one that does not hold, or any other line, which is noted as an event. Reading gives the seed. A
 * debugger writes `pageout_orders` when the kernel is at pageout_schedule_ready(), and reads
 * `pageout_found` when it is at pageout_schedule_over(). Both are numbers of 64 bits.
 * src/schedule/layout.rs has the same layout.
 */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/panic_notifier.h>
#include <linux/proc_fs.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#define MAX_RANGES 16
#define MAX_LISTED 8192
#define MAX_TURNS 8192
#define MAX_EVENTS 512
#define MAX_TEXT 96
#define MAX_CPUS 8
#define CELLS (1 << 16) /* of counters; the points of mm times the CPUs are fewer */
#define MAX_HOLD 4
#define LOWEST_ORDERED (1ULL << 32) /* priority that orders may give */
#define MAX_YIELDS 4 /* to CPUs of higher priority, at one point */

enum verdict { RUNNING, PASSED, CHECK_FAILED, PANICKED, HUNG };

/* A turn to give up: at the nth time that this CPU comes to this point, for so many rounds. */
struct listed {
	u64 point, cpu, nth, hold;
};

/* What the debugger wants. */
struct pageout_orders {
	u64 layout;
	u64 cpu;	/* at pageout_schedule_ready() */
	u64 seed;
	u64 rate;	/* one point in so many gives up a turn; 0: none does */
	u64 limit;	/* nanoseconds after which the run is a hang */
	u64 priorities;	/* 1: a CPU gives up its turn while one of higher priority comes to points */
	u64 priority[MAX_CPUS];
	u64 ranges;	/* if any, other points give up no turn */
	u64 range[MAX_RANGES][2];
	u64 listed;	/* in the order of point, CPU, nth; of point 0: in that of nth, of all points;
			 * with priorities, these put the CPU that comes there below all others */
	struct listed list[MAX_LISTED];
};

/* A turn that was given up. */
struct turn {
	u64 point, cpu, nth, hold, count, time;
};

struct event {
	u64 cpu, count, time;
	char text[MAX_TEXT];
};

struct pageout_found {
	u64 verdict;
	u64 points;	/* how many were passed */
	u64 hash;	/* of all turns */
	u64 turns;	/* given up, also those that there was no room for */
	u64 events;
	u64 checks;	/* that held */
	u64 time;	/* nanoseconds since "begin" */
	struct turn turn[MAX_TURNS];
	struct event event[MAX_EVENTS];
};

/* How often a CPU came to a point, and the next turn listed for it, plus one. */
struct cell {
	unsigned long point;
	u32 cpu, next;
	u64 count;
};

struct pageout_orders pageout_orders = { .layout = 2 };
struct pageout_found pageout_found;
static struct cell cells[CELLS];
static u64 next_of_all;	/* the next turn listed that is for no point, plus one */
static u64 passed[MAX_CPUS];	/* points, by CPU */
static u64 above;	/* the lowest priority that a CPU has */
static u64 begun;
static bool armed;
static struct hrtimer watchdog;

void __sanitizer_cov_trace_pc(void);
void pageout_schedule_ready(void);
void pageout_schedule_over(void);

static __always_inline u64 mix(u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static __always_inline struct cell *cell_of(unsigned long point, u32 cpu)
{
	u64 at = mix(point + cpu) % CELLS;

	for (int tries = 0; tries < CELLS; tries++, at = (at + 1) % CELLS) {
		if (cells[at].point == point && cells[at].cpu == cpu)
			return &cells[at];
		if (!cells[at].point) {
			cells[at].cpu = cpu;
			cells[at].point = point;
			return &cells[at];
		}
	}
	return NULL;
}

static __always_inline bool is_asked_for(unsigned long point)
{
	for (u64 i = 0; i < pageout_orders.ranges && i < MAX_RANGES; i++)
		if (point >= pageout_orders.range[i][0] && point < pageout_orders.range[i][1])
			return true;
	return !pageout_orders.ranges;
}

/* The rounds for which the turn listed next is given up, if this is its time. */
static __always_inline u64 listed_here(struct cell *cell, u64 count)
{
	struct listed *all = pageout_orders.list, *next;
	u64 hold = 0;

	if (cell->next) {
		next = &all[cell->next - 1];
		if (next->nth == cell->count) {
			hold = next->hold;
			cell->next++;
			next++;
			if (next == &all[pageout_orders.listed] || next->point != cell->point ||
			    next->cpu != cell->cpu)
				cell->next = 0;
		}
	}
	while (next_of_all && all[next_of_all - 1].nth <= count) {
		hold = all[next_of_all - 1].hold;
		next_of_all++;
		if (next_of_all > pageout_orders.listed || all[next_of_all - 1].point)
			next_of_all = 0;
	}
	return hold;
}

/* Points that CPUs of higher priority passed. */
static __always_inline u64 passed_above(u32 cpu)
{
	u64 sum = 0;

	for (u32 other = 0; other < MAX_CPUS; other++)
		if (pageout_orders.priority[other] > pageout_orders.priority[cpu])
			sum += passed[other];
	return sum;
}

/* Rounds after which no CPU of higher priority came to a point. A change of priority is no turn. */
static __always_inline u64 yields(u32 cpu, bool is_change)
{
	u64 rounds = 0, before;

	if (is_change)
		pageout_orders.priority[cpu] = --above;
	do {
		before = passed_above(cpu);
		cpu_relax();
	} while (passed_above(cpu) != before && ++rounds < MAX_YIELDS);
	return rounds;
}

static __always_inline void note_turn(struct turn turn)
{
	u64 place = xadd(&pageout_found.turns, 1);

	pageout_found.hash = mix(pageout_found.hash ^ mix(turn.point + turn.cpu) ^ turn.nth << 8 ^
				 turn.hold);
	if (place < MAX_TURNS)
		pageout_found.turn[place] = turn;
}

void notrace __sanitizer_cov_trace_pc(void)
{
	unsigned long point = (unsigned long)__builtin_return_address(0);
	struct cell *cell;
	u64 count, draw, hold, nth, time;
	u32 cpu;

	if (likely(!READ_ONCE(armed)))
		return;
	cpu = raw_smp_processor_id();
	if (!is_asked_for(point))
		return;
	cell = cell_of(point, cpu);
	if (!cell)
		return;
	count = xadd(&pageout_found.points, 1) + 1;
	passed[cpu % MAX_CPUS]++;
	nth = ++cell->count;
	hold = listed_here(cell, count);
	if (pageout_orders.rate) {
		draw = mix(pageout_orders.seed * 0x9e3779b97f4a7c15ULL + count * 8 + cpu);
		if (draw % pageout_orders.rate == 0)
			hold = 1 + (draw >> 40) % MAX_HOLD;
	}
	if (!hold && !pageout_orders.priorities)
		return;
	time = get_cycles() - begun;
	if (pageout_orders.priorities)
		hold = yields(cpu % MAX_CPUS, hold);
	else
		for (u64 left = hold; left; left--)
			cpu_relax();
	if (hold)
		note_turn((struct turn){ point, cpu, nth, hold, count, time });
}

/*
 * Where a debugger stops the kernel to keep its state, and to give orders. An emulator is slow on a
 * page of code with a breakpoint: cold code is on pages of its own.
 */
noinline __cold void pageout_schedule_ready(void)
{
	barrier();
}

/* Where a debugger reads what was found. */
noinline __cold void pageout_schedule_over(void)
{
	barrier();
}

static void note(const char *text)
{
	u64 place = xadd(&pageout_found.events, 1);
	struct event *event = &pageout_found.event[place];

	if (place >= MAX_EVENTS)
		return;
	event->cpu = raw_smp_processor_id();
	event->count = pageout_found.points;
	event->time = get_cycles() - begun;
	strscpy(event->text, text, MAX_TEXT);
}

static void over(enum verdict verdict)
{
	if (!xchg(&armed, false))
		return;
	pageout_found.verdict = verdict;
	pageout_found.time = get_cycles() - begun;
	pageout_schedule_over();
}

static enum hrtimer_restart hung(struct hrtimer *unused)
{
	note("time is over");
	over(HUNG);
	return HRTIMER_NORESTART;
}

static int panicked(struct notifier_block *unused, unsigned long action, void *message)
{
	if (READ_ONCE(armed))
		note(message);
	over(PANICKED);
	return NOTIFY_DONE;
}

static struct notifier_block on_panic = { .notifier_call = panicked, .priority = INT_MAX };

static void begin(void)
{
	memset(cells, 0, sizeof(cells));
	memset(&pageout_found, 0, sizeof(pageout_found));
	memset(passed, 0, sizeof(passed));
	above = LOWEST_ORDERED;
	pageout_orders.cpu = raw_smp_processor_id();
	pageout_schedule_ready();
	next_of_all = pageout_orders.listed && !pageout_orders.list[0].point;
	for (u64 i = pageout_orders.listed; i > 0; i--) {
		struct listed *listed = &pageout_orders.list[i - 1];

		if (listed->point)
			cell_of(listed->point, listed->cpu)->next = i;
	}
	begun = get_cycles();
	if (pageout_orders.limit)
		hrtimer_start(&watchdog, ns_to_ktime(pageout_orders.limit), HRTIMER_MODE_REL_HARD);
	WRITE_ONCE(armed, true);
}

static ssize_t control_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char text[MAX_TEXT] = "";

	if (copy_from_user(text, from, min(size, sizeof(text) - 1)))
		return -EFAULT;
	strim(text);
	if (!strcmp(text, "begin")) {
		begin();
	} else if (!strcmp(text, "end")) {
		over(PASSED);
	} else if (!strcmp(text, "holds")) {
		pageout_found.checks++;
	} else if (READ_ONCE(armed)) {
		bool is_failure = !strncmp(text, "fail ", 5);

		note(is_failure ? text + 5 : text);
		if (is_failure)
			over(CHECK_FAILED);
	}
	return size;
}

static ssize_t control_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	char text[24];
	int length = scnprintf(text, sizeof(text), "%llu\n", pageout_orders.seed);

	return simple_read_from_buffer(to, size, at, text, length);
}

static const struct proc_ops control = {
	.proc_read = control_read,
	.proc_write = control_write,
};

static int __init pageout_schedule_init(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&watchdog, hung, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&watchdog, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	watchdog.function = hung;
#endif
	atomic_notifier_chain_register(&panic_notifier_list, &on_panic);
	return proc_create("pageout_schedule", 0600, NULL, &control) ? 0 : -ENOMEM;
}
late_initcall(pageout_schedule_init);
