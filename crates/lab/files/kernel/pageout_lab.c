// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/pageout_lab: what a test of page aging needs and no interface shows.
 *
 *   count PID ADDR LEN               counts the raw page-table entries of a range
 *   helpers PID ADDR LEN CALLS SEED  compares the young helpers with a model on random states
 *   sample                           tells an emulator's plugin that a sample is over
 *
 * Write one command, then read its answer. "Raw" means as stored: the getters of an architecture
 * may gather bits over a contiguous block, and this file is there to see past them.
 */
#include <linux/hugetlb.h>	/* x86 names it in flush_tlb_range */
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pagewalk.h>
#include <linux/pid.h>
#include <linux/proc_fs.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include <asm/tlbflush.h>

#include "internal.h"

#ifdef CONFIG_ARM64_CONTPTE
#define BLOCK CONT_PTES
#else
#define BLOCK 1
#define pte_cont(pte) false
#define pte_mkcont(pte) (pte)
#define pte_mknoncont(pte) (pte)
#endif

/*
 * Which batched helpers there are is the makefile's to say: a generic inline function is no macro
 * that could be asked for, and one that is not asked for would not be tested.
 */
#if !defined(HAVE_CLEAR_FLUSH_YOUNG_PTES) || !defined(HAVE_TEST_AND_CLEAR_YOUNG_PTES)
#error "HAVE_CLEAR_FLUSH_YOUNG_PTES and HAVE_TEST_AND_CLEAR_YOUNG_PTES: 0 or 1 expected"
#endif
#if defined(clear_flush_young_ptes) && !HAVE_CLEAR_FLUSH_YOUNG_PTES
#error "clear_flush_young_ptes() was not found where the makefile looks"
#endif
#if defined(test_and_clear_young_ptes) && !HAVE_TEST_AND_CLEAR_YOUNG_PTES
#error "test_and_clear_young_ptes() was not found where the makefile looks"
#endif

static DEFINE_MUTEX(lab_lock);
static char answer[768];

static pte_t raw_get(pte_t *ptep)
{
	return READ_ONCE(*ptep);
}

static void raw_set(pte_t *ptep, pte_t pte)
{
	WRITE_ONCE(*ptep, pte);
}

/* count: present, young, dirty and contiguous entries of a range. */

struct counts {
	unsigned long present, young, dirty, contiguous;
};

static int count_table(pmd_t *pmd, unsigned long addr, unsigned long end, struct mm_walk *walk)
{
	struct counts *counts = walk->private;
	spinlock_t *ptl;
	pte_t *start, *ptep;

	start = pte_offset_map_lock(walk->mm, pmd, addr, &ptl);
	if (!start)
		return 0;
	for (ptep = start; addr != end; ptep++, addr += PAGE_SIZE) {
		pte_t pte = raw_get(ptep);

		if (!pte_present(pte))
			continue;
		counts->present++;
		counts->young += !!pte_young(pte);
		counts->dirty += !!pte_dirty(pte);
		counts->contiguous += !!pte_cont(pte);
	}
	pte_unmap_unlock(start, ptl);
	cond_resched();
	return 0;
}

static const struct mm_walk_ops count_ops = {
	.pmd_entry = count_table,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	.walk_lock = PGWALK_RDLOCK,
#endif
};

static int count(struct mm_struct *mm, unsigned long addr, unsigned long len)
{
	struct counts n = {};
	int err;

	mmap_read_lock(mm);
	err = walk_page_range(mm, addr, addr + len, &count_ops, &n);
	mmap_read_unlock(mm);
	if (err)
		return err;
	scnprintf(answer, sizeof(answer), "present %lu young %lu dirty %lu contiguous %lu\n",
		  n.present, n.young, n.dirty, n.contiguous);
	return 0;
}

/*
 * helpers: random states of one folio's entries, on each a call of a batched helper, or of the
 * single one for every entry, and a model beside it.
 */

enum helper {
	CLEAR_FLUSH_YOUNG_PTES,
	TEST_AND_CLEAR_YOUNG_PTES,
	PTEP_CLEAR_FLUSH_YOUNG,
	PTEP_TEST_AND_CLEAR_YOUNG,
	HELPERS,
};

#define MAX_ENTRIES 512		/* of the folio */
#define GUARD (BLOCK > 16 ? BLOCK : 16)	/* entries watched on either side, whole blocks */
#define CALLS_PER_LOCK 64

struct trial {
	struct vm_area_struct *vma;
	unsigned long addr;		/* of the window: the folio's entries and their guards */
	pte_t *window;
	unsigned int size, from, to;	/* entries of the window; where in it the folio's are */
	pte_t saved[MAX_ENTRIES + 2 * GUARD];
	pte_t before[MAX_ENTRIES + 2 * GUARD];
	bool cleared[MAX_ENTRIES + 2 * GUARD];	/* the model: which lose their young bit */
	u64 random;
	unsigned long calls, partial, first_plain, inside, several, wrong;
	unsigned long called[HELPERS];
	char report[200];		/* of the first wrong call */
};

static u64 next_random(struct trial *t)
{
	u64 x = t->random += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static unsigned int below(struct trial *t, unsigned int limit)
{
	return (next_random(t) >> 32) * limit >> 32;
}

/* Each of 64 bits set with a chance of none, a sixteenth, a half or all. */
static u64 random_bits(struct trial *t, unsigned int density)
{
	switch (density) {
	case 0:
		return 0;
	case 1:
		return next_random(t) & next_random(t) & next_random(t) & next_random(t);
	case 2:
		return next_random(t);
	default:
		return ~0ull;
	}
}

/* Blocks folded or not, entries young or not, dirty or not: whatever hardware may leave behind. */
static void randomise(struct trial *t)
{
	unsigned int young_density = below(t, 4), folded_density = 1 + below(t, 3);
	u64 young = 0, dirty = 0;
	bool folded = false;
	unsigned int i;

	for (i = t->from; i < t->to; i++) {
		pte_t pte = pte_mknoncont(t->saved[i]);
		unsigned int bit = (i - t->from) % 64;

		if (i % BLOCK == 0)
			folded = random_bits(t, folded_density) & 1;
		if (!bit) {
			young = random_bits(t, young_density);
			dirty = next_random(t);
		}
		pte = young >> bit & 1 ? pte_mkyoung(pte) : pte_mkold(pte);
		pte = dirty >> bit & 1 ? pte_mkdirty(pte) : pte_mkclean(pte);
		if (folded)
			pte = pte_mkcont(pte);
		t->before[i] = pte;
		raw_set(t->window + i, pte);
	}
}

/* What the call must do: clear its entries, and the whole of each folded block they lie in. */
static bool predict(struct trial *t, unsigned int start, unsigned int nr)
{
	unsigned int i, j, end = start + nr, blocks = 0, last_block = UINT_MAX;
	bool first = pte_cont(t->before[start]), last = pte_cont(t->before[end - 1]);
	bool young = false;

	memset(t->cleared, 0, sizeof(t->cleared));
	for (i = start; i < end; i++) {
		t->cleared[i] = true;
		if (!pte_cont(t->before[i]) || i / BLOCK == last_block)
			continue;
		last_block = i / BLOCK;
		blocks++;
		for (j = 0; j < BLOCK; j++)
			t->cleared[last_block * BLOCK + j] = true;
	}
	for (i = t->from; i < t->to; i++)
		young |= t->cleared[i] && pte_young(t->before[i]);
	t->partial += (first && start % BLOCK) || (last && end % BLOCK);
	t->first_plain += !first && blocks;
	t->inside += !first && !last && blocks;
	t->several += blocks > 1;
	return young;
}

/* A batch of one goes to the batched helper or to the single one. */
static bool is_batched(struct trial *t, unsigned int nr)
{
	return nr > 1 || below(t, 2);
}

static bool clear_flush(struct trial *t, unsigned long addr, pte_t *ptep, unsigned int nr)
{
	bool young = false;

#if HAVE_CLEAR_FLUSH_YOUNG_PTES
	if (is_batched(t, nr)) {
		t->called[CLEAR_FLUSH_YOUNG_PTES]++;
		return clear_flush_young_ptes(t->vma, addr, ptep, nr);
	}
#endif
	t->called[PTEP_CLEAR_FLUSH_YOUNG] += nr;
	for (; nr; nr--, ptep++, addr += PAGE_SIZE)
		young |= !!ptep_clear_flush_young(t->vma, addr, ptep);
	return young;
}

static bool test_and_clear(struct trial *t, unsigned long addr, pte_t *ptep, unsigned int nr)
{
	bool young = false;

#if HAVE_TEST_AND_CLEAR_YOUNG_PTES
	if (is_batched(t, nr)) {
		t->called[TEST_AND_CLEAR_YOUNG_PTES]++;
		return test_and_clear_young_ptes(t->vma, addr, ptep, nr);
	}
#endif
	t->called[PTEP_TEST_AND_CLEAR_YOUNG] += nr;
	for (; nr; nr--, ptep++, addr += PAGE_SIZE)
		young |= !!ptep_test_and_clear_young(t->vma, addr, ptep);
	return young;
}

static void judge(struct trial *t, bool flush, unsigned int start, unsigned int nr,
		  bool predicted, bool young)
{
	unsigned int i;

	for (i = 0; i < t->size; i++) {
		pte_t want = t->cleared[i] ? pte_mkold(t->before[i]) : t->before[i];

		if (pte_val(raw_get(t->window + i)) != pte_val(want))
			break;
	}
	if (i == t->size && young == predicted)
		return;
	if (t->wrong++)
		return;
	if (i == t->size)
		scnprintf(t->report, sizeof(t->report),
			  "call %lu, %s of %u entries at %u: returned %d, not %d",
			  t->calls, flush ? "clear and flush" : "test and clear", nr,
			  start - t->from, young, predicted);
	else
		scnprintf(t->report, sizeof(t->report),
			  "call %lu, %s of %u entries at %u: entry %d was %#llx, became %#llx",
			  t->calls, flush ? "clear and flush" : "test and clear", nr,
			  start - t->from, (int)i - (int)t->from,
			  (u64)pte_val(t->before[i]), (u64)pte_val(raw_get(t->window + i)));
}

static void one_call(struct trial *t)
{
	unsigned int count = t->to - t->from, shape = below(t, 4), start, nr = 1;
	bool flush = below(t, 2), predicted, young;
	unsigned long addr;

	if (shape == 1)
		nr += below(t, min(2 * BLOCK, count));
	else if (shape > 1)
		nr += below(t, count);
	start = t->from + below(t, count - nr + 1);
	addr = t->addr + start * PAGE_SIZE;
	randomise(t);
	predicted = predict(t, start, nr);
	if (flush)
		young = clear_flush(t, addr, t->window + start, nr);
	else
		young = test_and_clear(t, addr, t->window + start, nr);
	t->calls++;
	judge(t, flush, start, nr, predicted, young);
}

/* Under the table's lock: the range must be present entries of one large folio, in whole blocks. */
static int save(struct trial *t, pte_t *ptep, unsigned long addr, unsigned int nr)
{
	unsigned int index = pte_index(addr), i;
	struct folio *folio;
	struct page *page;

	t->from = min(index, GUARD);
	t->to = t->from + nr;
	t->size = min(t->to + GUARD, t->from + PTRS_PER_PTE - index);
	t->window = ptep - t->from;
	t->addr = addr - t->from * PAGE_SIZE;
	for (i = 0; i < t->size; i++)
		t->saved[i] = t->before[i] = raw_get(t->window + i);
	if (!pte_present(t->saved[t->from]))
		return -ENOENT;
	page = vm_normal_page(t->vma, addr, t->saved[t->from]);
	if (!page)
		return -EINVAL;
	folio = page_folio(page);
	if (folio_page_idx(folio, page) + nr > folio_nr_pages(folio))
		return -EINVAL;
	if (index % BLOCK || nr % BLOCK || page_to_pfn(page) % BLOCK)
		return -EINVAL;
	for (i = 0; i < nr; i++) {
		pte_t pte = t->saved[t->from + i];

		if (!pte_present(pte) || pte_pfn(pte) != page_to_pfn(page) + i)
			return -EINVAL;
	}
	return 0;
}

static void restore(struct trial *t)
{
	unsigned int i;

	for (i = 0; i < t->size; i++)
		raw_set(t->window + i, t->saved[i]);
	flush_tlb_range(t->vma, t->addr, t->addr + t->size * PAGE_SIZE);
}

static int some_calls(struct trial *t, pmd_t *pmd, unsigned long addr, unsigned int nr,
		      unsigned long calls)
{
	spinlock_t *ptl;
	pte_t *ptep = pte_offset_map_lock(t->vma->vm_mm, pmd, addr, &ptl);
	int err;

	if (!ptep)
		return -ENOENT;
	err = save(t, ptep, addr, nr);
	if (!err) {
		while (calls--)
			one_call(t);
		restore(t);
	}
	pte_unmap_unlock(ptep, ptl);
	cond_resched();
	return err;
}

/* Only on the caller's own memory: no user access can then meet a state in the making. */
static int helpers(struct mm_struct *mm, unsigned long addr, unsigned long len,
		   unsigned long calls, unsigned long seed)
{
	unsigned long nr = len >> PAGE_SHIFT;
	struct trial *t;
	pmd_t *pmd;
	int err = -EINVAL;

	if (mm != current->mm || !nr || nr > MAX_ENTRIES || pte_index(addr) + nr > PTRS_PER_PTE)
		return -EINVAL;
	t = kvzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	t->random = seed;
	mmap_read_lock(mm);
	t->vma = vma_lookup(mm, addr);
	pmd = mm_find_pmd(mm, addr);
	if (pmd && t->vma && addr + len <= t->vma->vm_end)
		err = 0;
	while (!err && t->calls < calls)
		err = some_calls(t, pmd, addr, nr, min(calls - t->calls, CALLS_PER_LOCK));
	mmap_read_unlock(mm);
	if (!err)
		scnprintf(answer, sizeof(answer),
			  "calls %lu partial %lu first_plain %lu inside %lu several %lu wrong %lu "
			  "clear_flush_young_ptes %lu test_and_clear_young_ptes %lu "
			  "ptep_clear_flush_young %lu ptep_test_and_clear_young %lu\n%s",
			  t->calls, t->partial, t->first_plain, t->inside, t->several, t->wrong,
			  t->called[CLEAR_FLUSH_YOUNG_PTES], t->called[TEST_AND_CLEAR_YOUNG_PTES],
			  t->called[PTEP_CLEAR_FLUSH_YOUNG],
			  t->called[PTEP_TEST_AND_CLEAR_YOUNG], t->report);
	kvfree(t);
	return err;
}

/* sample: does nothing, at an address of its own, which is what a plugin can see. */

void pageout_lab_sample(void);

noinline void pageout_lab_sample(void)
{
	barrier();
}

/* The file. */

static int run(const char *command)
{
	unsigned long addr, len, calls, seed;
	struct task_struct *task;
	struct mm_struct *mm;
	int pid, err;
	bool counting;

	if (!strcmp(command, "sample")) {
		pageout_lab_sample();
		answer[0] = 0;
		return 0;
	}
	counting = sscanf(command, "count %d %lu %lu", &pid, &addr, &len) == 3;

	if (!counting && sscanf(command, "helpers %d %lu %lu %lu %lu",
				&pid, &addr, &len, &calls, &seed) != 5)
		return -EINVAL;
	if (!len || offset_in_page(addr | len) || addr + len <= addr || addr + len > TASK_SIZE)
		return -EINVAL;
	task = find_get_task_by_vpid(pid);
	if (!task)
		return -ESRCH;
	mm = get_task_mm(task);
	put_task_struct(task);
	if (!mm)
		return -ESRCH;
	err = counting ? count(mm, addr, len) : helpers(mm, addr, len, calls, seed);
	mmput(mm);
	return err;
}

static ssize_t lab_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	char command[128];
	int err;

	if (size >= sizeof(command))
		return -EINVAL;
	if (copy_from_user(command, from, size))
		return -EFAULT;
	command[size] = 0;
	mutex_lock(&lab_lock);
	err = run(command);
	mutex_unlock(&lab_lock);
	return err ?: size;
}

static ssize_t lab_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	ssize_t read;

	mutex_lock(&lab_lock);
	read = simple_read_from_buffer(to, size, pos, answer, strlen(answer));
	mutex_unlock(&lab_lock);
	return read;
}

static const struct proc_ops lab_ops = {
	.proc_read = lab_read,
	.proc_write = lab_write,
	.proc_lseek = default_llseek,
};

static int __init lab_init(void)
{
	return proc_create("pageout_lab", 0600, NULL, &lab_ops) ? 0 : -ENOMEM;
}
late_initcall(lab_init);
