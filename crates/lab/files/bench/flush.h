#ifndef FLUSH_H
#define FLUSH_H

/*
 * Waits until the kernel has just added up the cgroups' counters, which it keeps a CPU and adds up
 * every two seconds. Classic reclaim decides by the sums (inactive_is_low() in mm/vmscan.c): one
 * that begins now sees no new ones for two seconds, and always decides alike. The cgroup is the
 * one that is measured; it is left alone.
 */
void flush_wait(const char *cgroup);

#endif
