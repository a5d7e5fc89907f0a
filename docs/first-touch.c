/* workload.toml
name = "first-touch"
about = "First touch of anonymous memory, and giving it back."
whole = "unmap"
field = [
    { name = "size", size = ["2MiB", "1GiB"], default = "64MiB" },
    { name = "huge", choices = ["never", "always"], default = "never" },
]
metric = [{ name = "touch", per = "4K page" }, { name = "unmap", per = "4K page" }]
*/
#include "pageout_lab.h"
#include <string.h>
#include <sys/mman.h>

static char *map(size_t size)
{
    int advice = strcmp(lab_text("huge"), "never") ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    lab_check(at != MAP_FAILED && !madvise(at, size, advice), "no memory for it");
    return at;
}

void workload(void)
{
    size_t size = lab_size("size");
    char *at = map(size);

    munmap(memset(at, 1, size), size); /* once before: the allocator's lists are long then */
    while (lab_sample()) {
        at = map(size);
        lab_begin("touch");
        for (size_t i = 0; i < size; i += 4096)
            at[i] = 1;
        lab_end("touch", size / 4096);
        lab_begin("unmap");
        munmap(at, size);
        lab_end("unmap", size / 4096);
    }
}
