/*
 * PID 1 of the test machine: mounts what the benchmark needs, runs each line of /plan, a program in
 * the root directory and its arguments, and ends the machine. Its own lines on the console begin
 * with "lab: ".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define BLOCK 4096
#define MAX_ARGUMENTS 64

/* /xfs.blocks is a list of these: the blocks of the file system's image that are not zero. */
struct block {
	uint64_t offset; /* little endian, as the machines of the lab are */
	char bytes[BLOCK];
};

static void end(void)
{
	fflush(NULL);
	tcdrain(STDOUT_FILENO); /* what a slow kernel has not written to the console yet */
	reboot(RB_AUTOBOOT);
	_exit(1); /* PID 1 gone: the kernel panics, which ends the machine too */
}

static void fail(const char *what)
{
	printf("lab: error: %s: %s\n", what, strerror(errno));
	end();
}

static void mount_at(const char *type, const char *source, const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		fail(path);
	if (mount(source, path, type, 0, NULL))
		fail(path);
}

/* The initrd has no /dev/console, so the kernel started us without descriptors. */
static void open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	if (fd < 0)
		end();
	for (int standard = 0; standard < 3; standard++)
		dup2(fd, standard);
	if (fd > 2)
		close(fd);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static void write_image(const char *from, const char *to)
{
	static struct block block;
	FILE *in = fopen(from, "r");
	int out = open(to, O_WRONLY);

	if (!in)
		fail(from);
	if (out < 0)
		fail(to);
	while (fread(&block, sizeof(block), 1, in) == 1)
		if (pwrite(out, block.bytes, BLOCK, block.offset) != BLOCK)
			fail(to);
	if (ferror(in))
		fail(from);
	fclose(in);
	if (close(out))
		fail(to);
}

static void run(char *line)
{
	char *arguments[MAX_ARGUMENTS + 1] = { NULL }, program[64];
	int n = 0, status;
	pid_t child;

	for (char *word = strtok(line, " \n"); word && n < MAX_ARGUMENTS; word = strtok(NULL, " \n"))
		arguments[n++] = word;
	snprintf(program, sizeof(program), "/%s", n ? arguments[0] : "");
	arguments[0] = program;
	fflush(NULL);
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child) {
		execv(program, arguments);
		printf("lab: error: %s: %s\n", program, strerror(errno));
		fflush(NULL);
		_exit(127);
	}
	if (waitpid(child, &status, 0) < 0)
		fail("wait");
	printf("lab: exit %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(void)
{
	char line[4096];
	FILE *plan;

	mkdir("/dev", 0755);
	if (mount("devtmpfs", "/dev", "devtmpfs", 0, NULL))
		end();
	open_console();
	mount_at("proc", "proc", "/proc");
	mount_at("sysfs", "sysfs", "/sys");
	mount_at("debugfs", "debugfs", "/sys/kernel/debug");
	mount_at("cgroup2", "cgroup2", "/sys/fs/cgroup");
	write_image("/xfs.blocks", "/dev/ram0");
	mount_at("xfs", "/dev/ram0", "/mnt");
	plan = fopen("/plan", "r");
	if (!plan)
		fail("/plan");
	while (fgets(line, sizeof(line), plan))
		run(line);
	printf("lab: done\n");
	end();
}
