/*
 * The workload of a program that is not in C: a static binary or a shell script, which runs in a
 * process of its own. It says what it does on descriptor 3, in lines of words, and waits for the
 * answer to each on descriptor 4; lab.sh has the words.
 */
#include "pageout_lab.h"

#include "declared.h"
#include "fail.h"
#include "options.h"

#include <ctype.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAYS 3
#define HEARS 4
#define HIGH 10 /* descriptors from here on are in nobody's way */

struct child {
	pid_t pid;
	FILE *says;
	int hears;
};

/* The folder of the program's files, beside this one. */
static const char *folder(void)
{
	static char path[4096];
	char self[4000] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		fail("cannot read", "/proc/self/exe");
	snprintf(path, sizeof(path), "%s/w", dirname(self));
	return path;
}

static void run(char *const *command)
{
	execv(command[0], command);
	fail("cannot run", command[0]);
}

/* The test machine has no shell but busybox, whose programs are links to it. */
static void install_shell(void)
{
	char *const command[] = { "/bin/busybox", "--install", "-s", "/bin", NULL };
	pid_t pid;

	if (!access("/bin/sh", X_OK) || access(command[0], X_OK))
		return;
	pid = fork();
	if (!pid)
		run(command);
	if (pid < 0 || waitpid(pid, NULL, 0) < 0)
		fail("cannot run", command[0]);
}

/* A variable of each field: LAB_SIZE of size, in bytes. */
static void set_variables(void)
{
	setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin", false);
	for (const struct declared_field *field = declared_fields; field->name; field++) {
		char name[64], size[32];
		const char *value = lab_text(field->name);

		snprintf(name, sizeof(name), "LAB_%s", field->name);
		for (char *c = name; *c; c++)
			*c = *c == '-' ? '_' : toupper((unsigned char)*c);
		if (field->is_size) {
			snprintf(size, sizeof(size), "%zu", lab_size(field->name));
			value = size;
		}
		setenv(name, value, true);
	}
}

/* Puts a descriptor where the program looks for it. */
static void put(int from, int at)
{
	int high = fcntl(from, F_DUPFD_CLOEXEC, HIGH);

	if (high < 0 || dup2(high, at) < 0)
		fail("cannot make", "a descriptor");
}

static void become_program(int says, int hears)
{
	char path[4200];
	char *const command[] = { path, NULL };

	snprintf(path, sizeof(path), "./%s", declared_program);
	put(hears, HIGH);
	put(says, SAYS);
	put(HIGH, HEARS);
	close(HIGH);
	signal(SIGPIPE, SIG_DFL);
	if (chdir(folder()))
		fail("cannot enter", folder());
	run(command);
}

static struct child start(void)
{
	struct child child;
	int says[2], hears[2];

	if (pipe2(says, O_CLOEXEC) || pipe2(hears, O_CLOEXEC))
		fail("cannot make", "a pipe");
	child.pid = fork();
	if (child.pid < 0)
		fail("cannot fork for", declared_program);
	if (!child.pid)
		become_program(says[1], hears[0]);
	close(says[1]);
	close(hears[0]);
	child.hears = hears[1];
	child.says = fdopen(says[0], "r");
	if (!child.says)
		fail("cannot read from", declared_program);
	return child;
}

static uint64_t number_of(const char *line, const char *word)
{
	uint64_t number;

	if (!word || !parse_number(word, &number))
		fail_with("%s said `%s`: the second word is no number", declared_program, line);
	return number;
}

/* Does what a line says; false if it asks for a sample and there is none. */
static bool obey(const char *line)
{
	char words[512];
	char *rest = words, *word, *number;

	snprintf(words, sizeof(words), "%s", line);
	word = strsep(&rest, " ");
	if (!strcmp(word, "sample") && !rest) {
		if (declared_run)
			fail_with("%s asks for a sample: each run of it is one", declared_program);
		return lab_sample();
	}
	if (!rest)
		fail_with("%s said `%s`, which is no message of a workload", declared_program, line);
	if (!strcmp(word, "begin"))
		return lab_begin(rest), true;
	lab_check(strcmp(word, "wrong"), "%s", rest);
	lab_require(strcmp(word, "fail"), "%s", rest);
	number = strsep(&rest, " ");
	if (!strcmp(word, "end") && rest)
		lab_end(rest, number_of(line, number));
	else if (!strcmp(word, "units") && rest)
		lab_units(rest, number_of(line, number));
	else if (!strcmp(word, "count") && rest)
		lab_count(rest, number_of(line, number));
	else
		fail_with("%s said `%s`, which is no message of a workload", declared_program, line);
	return true;
}

/* Runs the program to its end, and does what it says. */
static void run_program(void)
{
	struct child child = start();
	char *line = NULL;
	size_t room = 0;
	int status;

	while (getline(&line, &room, child.says) > 0) {
		line[strcspn(line, "\n")] = '\0';
		/* A program that is gone reads no answer. */
		(void)!write(child.hears, obey(line) ? "1\n" : "0\n", 2);
	}
	free(line);
	fclose(child.says);
	close(child.hears);
	if (waitpid(child.pid, &status, 0) < 0)
		fail("cannot wait for", declared_program);
	if (WIFSIGNALED(status))
		fail_with("%s was ended by signal %d", declared_program, WTERMSIG(status));
	if (WEXITSTATUS(status))
		fail_with("%s ended with status %d", declared_program, WEXITSTATUS(status));
}

void workload(void)
{
	install_shell();
	set_variables();
	signal(SIGPIPE, SIG_IGN);
	if (!declared_run) {
		run_program();
		return;
	}
	while (lab_sample()) {
		lab_begin(declared_run);
		run_program();
		lab_end(declared_run, 1);
	}
}
