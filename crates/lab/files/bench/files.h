#ifndef FILES_H
#define FILES_H

#include <stdbool.h>
#include <stddef.h>

/* A small file's text, without the newline at its end; false if it cannot be read. */
bool try_read_text(const char *path, char *text, size_t size);
void read_text(const char *path, char *text, size_t size);

/* One write call, as the files of proc, sysfs and cgroups want it. False leaves errno. */
bool try_write_text(const char *path, const char *text);
void write_text(const char *path, const char *text);

#endif
