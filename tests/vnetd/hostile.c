// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of clients that violate the protocol, and of a shortage of descriptors. The daemon must
 * keep serving others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

static uint64_t seed;

static uint32_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

static bool hangs_up_on(const void *message, size_t length)
{
	int sock = vnetd_connect();
	bool hung;

	expect(sock >= 0);
	expect(send(sock, message, length, MSG_NOSIGNAL) == (ssize_t)length);
	hung = hung_up(sock);
	close(sock);
	return hung;
}

static void malformed_messages_end_the_connection(void)
{
	static char large[VNET_MSG_MAX + 4096];
	struct vnet_msg msg = { .type = VNET_MSG_HELLO, .length = sizeof(msg) };

	expect(hangs_up_on("", 0));
	expect(hangs_up_on("abc", 3));
	expect(hangs_up_on(&msg, sizeof(msg)));
	msg.length = 4096;
	expect(hangs_up_on(&msg, sizeof(msg)));
	msg.type = 0;
	msg.length = sizeof(msg);
	expect(hangs_up_on(&msg, sizeof(msg)));
	msg.type = ~0u;
	expect(hangs_up_on(&msg, sizeof(msg)));
	/* These need HELLO first. */
	msg.type = VNET_MSG_LEAVE;
	expect(hangs_up_on(&msg, sizeof(msg)));
	memset(large, 0xff, sizeof(large));
	expect(hangs_up_on(large, sizeof(large)));
	msg.type = VNET_MSG_WRITE;
	msg.length = sizeof(large);
	memcpy(large, &msg, sizeof(msg));
	expect(hangs_up_on(large, sizeof(large)));
	vnetd_serves();
}

/* A random message of any type but VNET_MSG_STOP. */
static void random_message(char *bytes, size_t length)
{
	struct vnet_msg msg = { .length = (uint32_t)length };

	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)random_number();
	do
		msg.type = random_number() % (VNET_MSG_COUNTERS + 2);
	while (msg.type == VNET_MSG_STOP);
	if (random_number() % 16 == 0)
		msg.length = random_number();
	memcpy(bytes, &msg, length < sizeof(msg) ? length : sizeof(msg));
}

static void random_messages_harm_nobody(int rounds)
{
	struct welcome welcome, again;
	int home = client_enter(&welcome);
	int sock = -1;

	for (int i = 0; i < rounds; i++) {
		char bytes[512];
		size_t length = random_number() % sizeof(bytes);
		bool greeted = random_number() % 4;

		if (sock < 0) {
			sock = vnetd_connect();
			expect(sock >= 0);
			if (greeted)
				expect(hello(sock, welcome.msg.space, welcome.msg.cookie, -2,
					     &again) == 0);
		}
		random_message(bytes, length);
		if (send(sock, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
		    (recv(sock, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0 && errno != EAGAIN)) {
			close(sock);
			sock = -1;
		}
	}
	if (sock >= 0)
		close(sock);
	vnetd_serves();
	close(home);
}

/* One process cannot use up all client slots. */
static void nobody_takes_all_slots(void)
{
	struct welcome welcome;
	int error = 0;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 2000 && !error; i++)
			error = hello(vnetd_connect(), 0, 0, -1, &welcome);
		pause();
	}
	usleep(300000);
	vnetd_serves();
	kill(pid, SIGKILL);
	expect(waitpid(pid, NULL, 0) == pid);
}

/*
 * A client that sends requests and never reads the replies is disconnected, and delays no other
 * client.
 */
static void who_does_not_read_is_dropped(void)
{
	struct vnet_msg msg = { .type = VNET_MSG_STATUS, .length = sizeof(msg) };
	struct vnet_msg_adopt which = {
		.msg = { .type = VNET_MSG_WHICH, .length = sizeof(which) },
	};
	struct welcome welcome;
	int sock = client_enter(&welcome);
	int one = 1024;

	setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &one, sizeof(one));
	/* Replies with and without descriptors. */
	for (int i = 0; i < 1000000; i++) {
		const void *next = i % 2 ? (void *)&which : (void *)&msg;
		size_t length = i % 2 ? sizeof(which) : sizeof(msg);

		if (send(sock, next, length, MSG_NOSIGNAL) < 0) {
			expect(errno == EPIPE || errno == ECONNRESET);
			break;
		}
		expect(i < 999999);
	}
	close(sock);
	vnetd_serves();
}

static int count_descriptors(pid_t pid)
{
	char command[64];
	FILE *pipe;
	int count;

	snprintf(command, sizeof(command), "ls /proc/%d/fd | wc -l", pid);
	pipe = popen(command, "r");
	expect(pipe && fscanf(pipe, "%d", &count) == 1);
	pclose(pipe);
	return count;
}

struct descriptors {
	pid_t pid;
	int count;
};

static bool has_no_more(void *arg)
{
	struct descriptors *most = arg;

	return count_descriptors(most->pid) <= most->count;
}

static void unasked_descriptors_are_closed(void)
{
	struct vnet_msg_adopt adopt = {
		.msg = { .type = VNET_MSG_ADOPT, .length = sizeof(adopt) },
		.nonce = 1,
	};
	struct vnet_msg_call call = {
		.msg = { .type = VNET_MSG_WRITE, .length = sizeof(call) },
	};
	struct descriptors before = { .pid = vnetd_pid() };
	struct vnet_msg_opened opened;
	struct welcome welcome;
	int fds[60], sock, file;

	for (int i = 0; i < 60; i++)
		fds[i] = STDERR_FILENO;
	/* The count includes connections of earlier tests that the daemon has not closed yet. */
	before.count = count_descriptors(before.pid);
	sock = client_enter(&welcome);
	file = client_open(VNET_UVERBS_FIRST_MINOR, &opened);
	for (int i = 0; i < 100; i++) {
		struct vnet_msg_result result;

		expect(send_message(sock, &call, sizeof(call), fds, i % 2 ? 60 : 1));
		expect(recv(sock, &result, sizeof(result), 0) == sizeof(result));
		expect(send_message(file, &adopt, sizeof(adopt), fds, i % 2 ? 60 : 1));
	}
	close(sock);
	close(file);
	/*
	 * This process stays a client, for which the daemon keeps four descriptors: pidfd, memory,
	 * page map and map.
	 */
	before.count += 4;
	expect(wait_until(has_no_more, &before));
}

/* ------------------------------------------------------- out of descriptors */

static void nobody_is_stuck_when_descriptors_run_out(void)
{
	enum { MANY = 300 };
	struct rlimit few = { .rlim_cur = 64, .rlim_max = 64 };
	struct rlimit saved;
	int sock[MANY];
	double start;

	vnetd_kill(SIGTERM);
	getrlimit(RLIMIT_NOFILE, &saved);
	if (saved.rlim_cur < MANY + 64)
		skip("a limit of %ld descriptors is too low", (long)saved.rlim_cur);
	few.rlim_max = saved.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	vnetd_start();
	setrlimit(RLIMIT_NOFILE, &saved);
	/* The daemon has raised its limit to the hard limit. */
	few.rlim_max = 64;
	expect(prlimit(vnetd_pid(), RLIMIT_NOFILE, &few, NULL) == 0);

	for (int i = 0; i < MANY; i++)
		sock[i] = vnetd_connect();
	/* Connections without a free descriptor are refused, and do not wait. */
	expect(sock[MANY - 1] < 0 || hung_up(sock[MANY - 1]));
	for (int i = 0; i < MANY; i++)
		if (sock[i] >= 0)
			close(sock[i]);
	for (start = now(); now() < start + 5; usleep(10000)) {
		struct welcome welcome;
		int again = vnetd_connect();
		int error = again < 0 ? -errno : hello(again, 0, 0, -1, &welcome);

		close(again);
		if (!error)
			return;
	}
	fail("nobody is served after descriptors ran out");
}

int main(int argc, char **argv)
{
	const char *soak = getenv("VNET_SOAK");
	int rounds = soak && *soak == '1' ? 3000000 : 100000;

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)(now() * 1e6);
	seed |= 1;
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	vnetd_start();
	malformed_messages_end_the_connection();
	unasked_descriptors_are_closed();
	random_messages_harm_nobody(rounds);
	nobody_takes_all_slots();
	who_does_not_read_is_dropped();
	nobody_is_stuck_when_descriptors_run_out();
	return 0;
}
