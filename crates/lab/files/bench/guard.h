#ifndef GUARD_H
#define GUARD_H

/*
 * Whatever happens to the work, what it changed on the machine is put back: the work is a child,
 * and its parent undoes what the child has noted, at the child's end or at a signal.
 */

/* Runs the work in a child; its exit status, or 128 and the signal that ended it or us. */
int guard_run(void (*work)(void *), void *argument);

/* In the work: remembers what the file says now, then writes the text to it. */
void guard_change(const char *path, const char *text);

/* In the work: a text that will be written at the end. */
void guard_write_at_end(const char *path, const char *text);

/* In the work: a cgroup that will be emptied and removed at the end. */
void guard_cgroup(const char *path);

#endif
