// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that the daemon survives random bytes in NIC memory, or ends by its own decision. A client
 * writes them and wakes the daemon. The next daemon must start with fresh memory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/memory.h"
#include "client.h"

static uint64_t seed;

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Returns a value that a table may contain, or a random one. */
static uint64_t random_value(uint32_t owner)
{
	switch (random_number() % 6) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return owner;
	case 3:
		return random_number() % 16;
	case 4:
		return random_number() % 8192 | (random_number() % 4) << 32;
	default:
		return random_number();
	}
}

struct target {
	struct nic_header *hdr;
	uint8_t *base;
	uint32_t owner;
	int kick;
};

/* Overwrites some words in [from, to). */
static void overwrite(const struct target *t, uint64_t from, uint64_t to, int words)
{
	while (words--) {
		uint64_t at = from + random_number() % (to - from) / 4 * 4;
		uint64_t value = random_value(t->owner);

		memcpy(t->base + at, &value, random_number() % 2 ? 4 : 8);
	}
}

/* Overwrites words near the start of a table, where objects are, or anywhere in it. */
static void overwrite_table(const struct target *t, uint64_t from, uint64_t to)
{
	uint64_t end = random_number() % 2 ? from + 8192 : to;

	overwrite(t, from, end < to ? end : to, (int)(random_number() % 200));
}

static void scribble(const struct target *t)
{
	const struct nic_header *hdr = t->hdr;

	overwrite_table(t, hdr->off_qp, hdr->off_cq);
	overwrite_table(t, hdr->off_cq, hdr->off_srq);
	overwrite_table(t, hdr->off_srq, hdr->off_mr);
	overwrite_table(t, hdr->off_mr, hdr->off_channel);
	overwrite_table(t, hdr->off_channel, hdr->off_client);
	overwrite_table(t, hdr->off_queue, hdr->off_queue + (1 << 20));
	/* The pending bitmap and events, so that the daemon processes them. */
	overwrite_table(t, hdr->off_pending, hdr->off_queue);
	overwrite(t, offsetof(struct nic_header, grace_epoch), sizeof(*hdr), 4);
	t->hdr->pending_summary = random_number();
	t->hdr->async_any = 1;
}

static void kick(const struct target *t)
{
	uint64_t one = 1;

	if (write(t->kick, &one, sizeof(one)) < 0)
		fail("a kick failed");
}

/* Runs in a child process. The daemon must recover from its death. */
static void __attribute__((noreturn)) vandal(int rounds)
{
	struct vnet_msg_opened opened;
	struct welcome welcome;
	struct target t;

	client_enter(&welcome);
	client_open(VNET_UVERBS_FIRST_MINOR, &opened);
	t.hdr = mmap(NULL, welcome.msg.memory_size[0], PROT_READ | PROT_WRITE, MAP_SHARED,
		     welcome.fd[0], 0);
	expect(t.hdr != MAP_FAILED);
	t.base = (uint8_t *)t.hdr;
	t.owner = welcome.msg.owner;
	t.kick = welcome.fd[1];
	for (int i = 0; i < rounds; i++) {
		scribble(&t);
		kick(&t);
		usleep(500);
	}
	raise(SIGKILL);
	_exit(1);
}

/* True if the daemon has logged the reason why it ended. */
static bool ended_by_itself(pid_t pid)
{
	char path[4096], line[1024], wanted[64];
	bool ended = false;
	FILE *log;

	snprintf(path, sizeof(path), "%s/default/vnetd.log", getenv("VNET_RUNTIME_DIR"));
	snprintf(wanted, sizeof(wanted), "vnetd[%d]: ends:", pid);
	log = fopen(path, "r");
	while (log && fgets(line, sizeof(line), log))
		ended = ended || strstr(line, wanted);
	if (log)
		fclose(log);
	return ended;
}

static void one_round(void)
{
	pid_t daemon, pid;

	vnetd_start();
	daemon = vnetd_pid();
	pid = fork();
	if (pid == 0)
		vandal((int)(random_number() % 20) + 1);
	expect(waitpid(pid, NULL, 0) == pid);
	/* The daemon recovers from the death of the client. */
	usleep(2000);
	if (vnetd_pid() == daemon)
		request_plain(vnetd_connect(), VNET_MSG_STATUS, NULL);
	if (vnetd_pid() == daemon)
		vnetd_kill(SIGTERM);
	expect(ended_by_itself(daemon));
}

int main(int argc, char **argv)
{
	const char *soak = getenv("VNET_SOAK");
	int rounds = soak && *soak == '1' ? 3000 : 60;

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)(now() * 1e6);
	seed |= 1;
	for (int i = 0; i < rounds; i++) {
		/* Each round can be repeated with its seed. */
		fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
		one_round();
		random_number();
	}
	vnetd_start();
	vnetd_serves();
	return 0;
}
