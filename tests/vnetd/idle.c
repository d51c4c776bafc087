// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of an idle daemon: it uses no processor time, and ends after its idle time. No client fails
 * because of that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

static int start(const char *idle_exit)
{
	char option[64];
	char *more[] = { option, NULL };

	snprintf(option, sizeof(option), "--idle-exit=%s", idle_exit);
	return vnetd_run(more);
}

/* The daemon stays while a client has an open file, or has NIC memory mapped. */
static void stay_for_a_while(void)
{
	struct vnet_msg_opened opened;
	struct welcome welcome;
	int sock, file;

	sock = client_enter(&welcome);
	usleep(300000);
	expect(vnetd_pid());
	file = client_open(VNET_UVERBS_FIRST_MINOR, &opened);
	close(sock);
	usleep(300000);
	expect(vnetd_pid());
	close(file);
	usleep(300000);
	expect(vnetd_pid());
}

static void it_stays_while_somebody_is_there(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		stay_for_a_while();
		_exit(0);
	}
	expect(waitpid(pid, &status, 0) == pid && status == 0);
}

static void it_goes_when_nobody_is(void)
{
	double begin = now();

	/* vnetd_pid() connects, which starts the idle time anew, so it is called rarely. */
	do
		usleep(400000);
	while (vnetd_pid() && now() < begin + 10);
	expect(!vnetd_pid());
}

/* Voluntary context switches: how often the process woke up to wait again. */
static long wake_ups(pid_t pid)
{
	char path[64], line[256];
	long count = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	expect(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1)
			break;
	fclose(file);
	expect(count >= 0);
	return count;
}

static void it_sleeps_while_clients_do(void)
{
	struct vnet_msg_opened opened;
	struct welcome welcome;
	int sock, file;
	long before, woke;
	pid_t pid;

	vnetd_start();
	sock = client_enter(&welcome);
	file = client_open(VNET_UVERBS_FIRST_MINOR, &opened);
	pid = vnetd_pid();
	usleep(300000);
	before = wake_ups(pid);
	sleep(3);
	woke = wake_ups(pid) - before;
	if (woke > 1)
		fail("it woke up %ld times in three idle seconds", woke);
	close(file);
	close(sock);
}

/* Connects like a client, and starts the daemon if necessary, until HELLO is answered. */
static bool come_in(void)
{
	for (int i = 0; i < 50; i++) {
		struct welcome welcome;
		int error, sock = vnetd_connect();

		if (sock < 0) {
			expect(errno == ENOENT || errno == ECONNREFUSED);
			expect(start("0.003") == 0);
			continue;
		}
		error = hello(sock, 0, 0, -1, &welcome);
		close(sock);
		if (error >= 0)
			return error == 0;
		expect(error == -EPIPE || error == -ECONNRESET);
	}
	return false;
}

static void visitor(int seed, double until)
{
	srandom((unsigned int)seed);
	do {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(come_in() ? 0 : 1);
		if (waitpid(pid, &status, 0) != pid || status)
			_exit(1);
		usleep((useconds_t)(random() % 12000));
	} while (now() < until);
	_exit(0);
}

/* Clients come and go at the moment when the daemon is about to end. */
static void nobody_is_lost_when_it_goes(double seconds)
{
	enum { VISITORS = 4 };
	double until = now() + seconds;
	int failures = 0;

	for (int i = 0; i < VISITORS; i++)
		if (fork() == 0)
			visitor(i, until);
	for (int i = 0; i < VISITORS; i++) {
		int status;

		if (wait(&status) < 0 || status)
			failures++;
	}
	expect(failures == 0);
}

int main(void)
{
	const char *soak = getenv("VNET_SOAK");

	expect(start("0.2") == 0);
	it_stays_while_somebody_is_there();
	it_goes_when_nobody_is();
	it_sleeps_while_clients_do();
	vnetd_kill(15);
	nobody_is_lost_when_it_goes(soak && *soak == '1' ? 60 : 4);
	return 0;
}
