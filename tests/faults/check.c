// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *role = "";

void set_role(const char *name)
{
	role = name;
}

static void say(FILE *out, const char *format, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, args);
	/* One call, so that lines of several processes do not mix. */
	fprintf(out, "%s%s%s\n", role, *role ? ": " : "", text);
	fflush(out);
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(stdout, format, args);
	va_end(args);
}

void die(const char *file, int line, const char *format, ...)
{
	const char *base = strrchr(file, '/');
	char where[600];
	va_list args;

	snprintf(where, sizeof(where), "%s:%d: %s", base ? base + 1 : file, line, format);
	va_start(args, format);
	say(stderr, where, args);
	va_end(args);
	_exit(1);
}

void check_equal(const char *file, int line, const char *what, int64_t is, int64_t want)
{
	if (is != want)
		die(file, line, "%s is %lld, not %lld", what, (long long)is, (long long)want);
}

void *check_made(const char *file, int line, const char *what, void *made)
{
	if (!made)
		die(file, line, "%s: errno %d", what, errno);
	return made;
}

unsigned int rounds(unsigned int slice, unsigned int soak)
{
	const char *text = getenv("VNET_SOAK");

	return text && !strcmp(text, "1") ? soak : slice;
}

/* ------------------------------------------------------------- randomness */

static uint64_t state;

void seed_random(void)
{
	const char *text = getenv("VNET_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : now_ns() ^ (uint64_t)getpid() << 40;

	note("seed: VNET_TEST_SEED=%llu", (unsigned long long)seed);
	state = seed;
}

void continue_random(uint64_t seed)
{
	state = seed;
}

/* splitmix64 */
uint64_t random_number(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t random_below(uint32_t limit)
{
	return (uint32_t)((random_number() >> 32) * limit >> 32);
}

void random_bytes(void *dst, size_t length)
{
	uint8_t *byte = dst;

	while (length--)
		*byte++ = (uint8_t)(random_number() >> 56);
}

/* ------------------------------------------------------------------- time */

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

bool is_past(uint64_t since, uint64_t ns)
{
	return now_ns() - since > ns;
}

/* -------------------------------------------------------------- processes */

void helper_start(struct helper *h, const char *name, void (*body)(int sock, void *arg), void *arg)
{
	int pair[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	h->pid = fork();
	CHECK(h->pid >= 0);
	if (h->pid) {
		close(pair[1]);
		h->sock = pair[0];
		return;
	}
	close(pair[0]);
	set_role(name);
	body(pair[1], arg);
	_exit(0);
}

void helper_join(struct helper *h)
{
	int status;

	CHECK(waitpid(h->pid, &status, 0) == h->pid);
	CHECK_EQ(status, 0);
	close(h->sock);
	h->pid = 0;
}

void helper_kill(struct helper *h)
{
	int status;

	CHECK(!kill(h->pid, SIGKILL));
	CHECK(waitpid(h->pid, &status, 0) == h->pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(h->sock);
	h->pid = 0;
}

void tell(int sock, const void *message, size_t length)
{
	CHECK_EQ(send(sock, message, length, MSG_NOSIGNAL), length);
}

void hear(int sock, void *message, size_t length)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };

	CHECK_EQ(poll(&pfd, 1, TIME_LIMIT * 1000), 1);
	CHECK_EQ(recv(sock, message, length, 0), length);
}

void meet(int sock)
{
	char byte = 0;

	tell(sock, &byte, 1);
	hear(sock, &byte, 1);
}

bool in_kernel(void)
{
	const char *text = getenv("VNET_IN_GUEST");

	return text && !strcmp(text, "1");
}

/* ----------------------------------------------------------------- status */

const char *ask_status(const char *question)
{
	static char answer[4096];
	char command[1024];
	size_t length;
	FILE *pipe;

	/* jq and the status command run without the preload library. */
	snprintf(command, sizeof(command),
		 "unset LD_PRELOAD; ${VNET_STATUS:-\"$VNET_TREE/bin/vnet-status\" --json} |"
		 " jq -rc '%s'",
		 question);
	pipe = popen(command, "re");
	CHECK(pipe);
	length = fread(answer, 1, sizeof(answer) - 1, pipe);
	CHECK_EQ(pclose(pipe), 0);
	while (length && answer[length - 1] == '\n')
		length--;
	answer[length] = '\0';
	return answer;
}

void await_status(const char *question, const char *answer)
{
	uint64_t since = now_ns();

	while (strcmp(ask_status(question), answer) != 0)
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("status: %s is %s, not %s", question, ask_status(question), answer);
}
