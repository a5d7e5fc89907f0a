#ifndef PLACE_H
#define PLACE_H

/* Where a workload works: files go into the directory; the cgroup is its own, and not there yet. */
extern const char *place_dir, *place_cgroup;

#endif
