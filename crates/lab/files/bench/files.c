#include "files.h"

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool try_read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got;

	if (fd < 0)
		return false;
	while ((got = read(fd, text + length, size - 1 - length)) > 0)
		length += got;
	close(fd);
	if (got < 0)
		return false;
	while (length && text[length - 1] == '\n')
		length--;
	text[length] = 0;
	return true;
}

void read_text(const char *path, char *text, size_t size)
{
	if (!try_read_text(path, text, size))
		fail("cannot read", path);
}

bool try_write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t wrote;
	int reason;

	if (fd < 0)
		return false;
	wrote = write(fd, text, strlen(text));
	reason = errno;
	close(fd);
	errno = reason;
	return wrote >= 0;
}

void write_text(const char *path, const char *text)
{
	if (!try_write_text(path, text))
		fail("cannot write", path);
}
