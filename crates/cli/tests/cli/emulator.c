/*
 * Pretends to be an emulator with a kernel that has points: answers a debugger as the remote
 * protocol of gdb has it. The words in the kernel's image say how its runs end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Addresses, as the map of symbols has them. */
#define ORDERS	 0xffffffff81000000ULL
#define FOUND	 0xffffffff82000000ULL
#define FUNCTION 0xffffffff83000000ULL
#define HOOK	 0xffffffff84000000ULL

/* Words of the kernel's object. */
#define MAX_TURNS 8192
enum { LAYOUT, CPU, SEED, RATE, LIMIT, LISTED = 47, LIST };
enum { VERDICT, POINTS, HASH, TURNS, EVENTS, CHECKS, TIME, TURN };
enum { PASSED = 1, CHECK_FAILED, PANICKED };
#define EVENT (TURN + 6 * MAX_TURNS)

static uint64_t orders[LIST + 4 * MAX_TURNS] = { [LAYOUT] = 2 }, found[EVENT + 15];
static uint8_t code[0x20];
static char image[256];
static int debugger;

static int image_has(const char *word)
{
	return !!strstr(image, word);
}

/* The words of a run; those of the real kernel come from its workload. */
static void run(void)
{
	uint64_t listed = orders[LISTED], turns = listed > 3 ? 3 : listed, seed = orders[SEED];
	int races = image_has("races") || image_has("worse");
	int fails = image_has("always") || (races && listed && seed % 4 == 3), gives_up;

	memset(found, 0, sizeof(found));
	found[POINTS] = image_has("pointless") ? 0 : 100;
	found[CHECKS] = !image_has("unchecked");
	found[VERDICT] = fails ? (image_has("worse") ? PANICKED : CHECK_FAILED) : PASSED;
	found[TURNS] = turns;
	for (uint64_t i = 0; i < turns; i++) {
		uint64_t *turn = &found[TURN + 6 * i], *of = &orders[LIST + 4 * i];

		memcpy(turn, of, 4 * sizeof(*of));
		turn[0] = FUNCTION + 0x15;
		turn[4] = turn[5] = 1000 * (i + 1);
	}
	gives_up = !fails && image_has("tired") && seed % 4 == 1;
	if (!fails && !gives_up)
		return;
	found[EVENTS] = 1;
	found[EVENT] = 1;
	found[EVENT + 2] = 5000;
	snprintf((char *)&found[EVENT + 3], 96,
		 gives_up ? "gave up: no memory %d" :
		 image_has("worse") ? "kernel BUG at mm/vmscan.c:%d!" : "stored %d, the disk has 0",
		 (int)seed);
}

static void answer(const char *text)
{
	unsigned char sum = 0;

	for (const char *c = text; *c; c++)
		sum += *c;
	dprintf(debugger, "+$%s#%02x", text, sum);
}

static uint8_t *memory(uint64_t address)
{
	if (address >= FUNCTION)
		return code + (address - FUNCTION) % sizeof(code);
	if (address >= FOUND)
		return (uint8_t *)found + (address - FOUND);
	return (uint8_t *)orders + (address - ORDERS);
}

static void read_memory(const char *packet)
{
	char hex[2 * 1024 + 1], *end;
	uint64_t address = strtoull(packet + 1, &end, 16), length = strtoull(end + 1, NULL, 16);

	for (uint64_t i = 0; i < length; i++)
		sprintf(hex + 2 * i, "%02x", memory(address)[i]);
	answer(hex);
}

static void write_memory(const char *packet)
{
	char *end;
	uint64_t address = strtoull(packet + 1, &end, 16), length = strtoull(end + 1, &end, 16);

	for (uint64_t i = 0; i < length; i++) {
		char digits[] = { end[1 + 2 * i], end[2 + 2 * i], 0 };

		memory(address)[i] = strtoul(digits, NULL, 16);
	}
	answer("OK");
}

static void obey(const char *packet)
{
	switch (*packet) {
	case 'c':
		if (image_has("never")) {
			puts("Kernel panic - not syncing: Oops");
			exit(1);
		}
		if (image_has("stuck") && orders[LIMIT]) /* once it has orders */
			return;
		run();
		return answer("T05thread:01;");
	case 'v':
		return answer("T05thread:01;");
	case 'm':
		return read_memory(packet);
	case 'M':
		return write_memory(packet);
	case 'q':
		if (image_has("full") && strstr(packet, "73617665766d")) /* savevm */
			answer("O4e6f2073706163650a"); /* No space */
		return answer("OK");
	default:
		return answer("OK");
	}
}

static void listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%.*s", (int)strcspn(path, ","), path);
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 1))
		exit(2);
	debugger = accept(listener, NULL, NULL);
}

int main(int count, char **words)
{
	static char packet[1 << 16];
	size_t length = 0;
	int32_t distance = HOOK - (FUNCTION + 0x15);
	FILE *file;
	char c;

	if (count == 2) {
		puts("emulator 1.0");
		return 0;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	file = fopen(getenv("PIDS"), "a");
	fprintf(file, "%d\n", getpid());
	fclose(file);
	code[0x10] = 0xe8;
	memcpy(code + 0x11, &distance, sizeof(distance));
	for (int i = 1; i + 1 < count; i++)
		if (!strcmp(words[i], "-kernel") && (file = fopen(words[i + 1], "r"))) {
			image[fread(image, 1, sizeof(image) - 1, file)] = 0;
			fclose(file);
			orders[LAYOUT] += image_has("other");
		}
	for (int i = 1; i + 1 < count; i++)
		if (!strcmp(words[i], "-chardev"))
			listen_at(strchr(words[i + 1], '=') + 1);
	while (read(debugger, &c, 1) == 1) {
		if (c == 3)
			answer("T02");
		else if (c == '$')
			length = 0;
		else if (c == '#' && (packet[length] = 0, read(debugger, &c, 1) == 1)) {
			if (read(debugger, &c, 1) == 1)
				obey(packet);
			length = 0;
		} else if (c != '+' || length)
			packet[length++] = c;
	}
	return 0;
}
