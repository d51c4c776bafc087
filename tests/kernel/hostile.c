// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that does its worst to a device in the kernel: random bytes in all
 * that it can map (rings, their headers, the doorbell page), doorbells of all
 * kinds for its own queues and others'. Beside it, two processes exchange data
 * and check it, and nobody's memory is written that was not registered.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vnet-abi.h"
#include "../faults/bystanders.h"

#define MAX_MAPS 64
#define OPERATIONS 3000
/* A provider that reads nonsense may look for its end for ever. */
#define HOSTILE_SECONDS 10

static struct bystanders bystanders;

struct hostile {
	/* Two of its own, connected with each other. */
	struct guarded g[2];
	/* What of the device is mapped. */
	struct map {
		uint8_t *at;
		size_t length;
	} map[MAX_MAPS];
	unsigned int maps;
	int doorbell;
};

static bool toss(unsigned int one_in)
{
	return !random_below(one_in);
}

/* ------------------------------------------------------------ what there is */

static void find_maps(struct hostile *h)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[512];

	CHECK(file);
	while (fgets(line, sizeof(line), file) && h->maps < MAX_MAPS) {
		if (!strstr(line, "/uverbs") || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		h->map[h->maps].at = (uint8_t *)from;
		h->map[h->maps++].length = to - from;
	}
	fclose(file);
	CHECK(h->maps >= 6);
}

static void find_doorbell(struct hostile *h)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[128];
	ssize_t n;

	CHECK(dir);
	h->doorbell = -1;
	while ((entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		if (strstr(target, "[vnet-doorbell]"))
			h->doorbell = atoi(entry->d_name);
	}
	closedir(dir);
	CHECK(h->doorbell >= 0);
}

/* --------------------------------------------------------------- bad things */

static struct side *any_side(struct hostile *h)
{
	return &h->g[random_below(2)].s;
}

static uint32_t any_number(struct hostile *h)
{
	switch (random_below(4)) {
	case 0:
		/* Others', by the way that numbers are made. */
		return any_side(h)->qp->qp_num - 8 + random_below(16);
	case 1:
		return random_below(64);
	case 2:
		return (uint32_t)random_number();
	default:
		return any_side(h)->qp->qp_num;
	}
}

static void scribble(struct hostile *h)
{
	const struct map *map = &h->map[random_below(h->maps)];
	/* Where most is decided: headers, and the first slots. */
	size_t within = toss(2) ? 256 : toss(2) ? 4096 : map->length;
	size_t n = 1 + random_below(32), at = random_below((uint32_t)within);

	if (at + n <= map->length)
		random_bytes(map->at + at, n);
}

/* An index that runs ahead, or back, a little. */
static void move_index(struct hostile *h)
{
	uint32_t *index =
		(uint32_t *)(void *)h->map[random_below(h->maps)].at + 16 * random_below(4);

	__atomic_fetch_add(index, random_below(toss(4) ? 100000 : 5) - 1, __ATOMIC_SEQ_CST);
}

/* Its own index may be nonsense: then there is no room. */
static void receive_anything(struct side *s)
{
	struct ibv_sge sge = side_sge(s, random_below(1000), random_below(64000));
	struct ibv_recv_wr wr = { .wr_id = random_number(), .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	(void)ibv_post_recv(s->qp, &wr, &bad);
}

static void post_anything(struct hostile *h)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct side *s = any_side(h);

	if (toss(3))
		receive_anything(s);
	else
		(void)side_try_post(s, opcodes[random_below(7)], random_number(),
				    8 * random_below(100), toss(2) ? 8 : random_below(60000),
				    (unsigned int)random_number() & 15);
}

static void ring(struct hostile *h)
{
	(void)ioctl(h->doorbell, VNET_DOORBELL_SEND + random_below(5), any_number(h));
}

/* The generic way. */
static void ring_by_write(struct hostile *h)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send post;
	} command = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(command) / 4,
			.out_words = 1,
		},
		.post = {
			.response = (uintptr_t)&command,
			.qp_handle = toss(3) ? any_number(h) : any_side(h)->qp->handle,
			.wr_count = toss(8) ? (uint32_t)random_number() : 0,
			.sge_count = toss(8) ? (uint32_t)random_number() : 0,
			.wqe_size = toss(8) ? (uint32_t)random_number() :
					      sizeof(struct ib_uverbs_send_wr),
		},
	};

	if (toss(3))
		command.hdr.command = toss(2) ? IB_USER_VERBS_CMD_POST_RECV :
						IB_USER_VERBS_CMD_POST_SRQ_RECV;
	(void)!write(any_side(h)->context->cmd_fd, &command, sizeof(command));
}

static void connect_again(struct hostile *h)
{
	struct address a[2] = { side_address(&h->g[0].s), side_address(&h->g[1].s) };

	for (int i = 0; i < 2; i++)
		(void)side_try_anew(&h->g[i].s, &a[1 - i]);
}

static void do_harm(struct hostile *h)
{
	struct ibv_wc wc;

	switch (random_below(7)) {
	case 0:
		scribble(h);
		break;
	case 1:
		move_index(h);
		break;
	case 2:
		ring(h);
		break;
	case 3:
		ring_by_write(h);
		break;
	case 4:
		(void)ibv_poll_cq(any_side(h)->cq, 1, &wc);
		break;
	default:
		post_anything(h);
		break;
	}
}

static void be_hostile(void)
{
	/* Failures shall come at once. */
	struct wish wish = { .timeout = 1, .retry_cnt = 1, .rnr_retry = 1, .max_inline = 256 };
	struct hostile h = { .maps = 0 };

	alarm(HOSTILE_SECONDS);
	for (int i = 0; i < 2; i++)
		guarded_open(&h.g[i], &wish);
	find_maps(&h);
	find_doorbell(&h);
	for (unsigned int i = 0; i < OPERATIONS; i++) {
		if (i % 32 == 0)
			connect_again(&h);
		do_harm(&h);
	}
	/* Not around its own memory either. */
	for (int i = 0; i < 2; i++)
		guarded_check(&h.g[i]);
}

/* ------------------------------------------------------------------- rounds */

/* It may crash: that is its own business. */
static bool run_hostile(void)
{
	uint64_t since = now_ns(), seed = random_number();
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		set_role("hostile");
		continue_random(seed);
		be_hostile();
		_exit(0);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		bystanders_check(&bystanders);
		if (is_past(since, 3 * HOSTILE_SECONDS * 1000000000ull))
			FAIL("the hostile process (seed %#llx) hangs", (unsigned long long)seed);
	}
	bystanders_check(&bystanders);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		FAIL("the hostile process (seed %#llx) found something", (unsigned long long)seed);
	return WIFSIGNALED(status);
}

int main(void)
{
	unsigned int crashed = 0, n = rounds(4, 250);

	seed_random();
	bystanders_start(&bystanders);
	for (unsigned int i = 0; i < n; i++)
		crashed += run_hostile();
	bystanders_stop(&bystanders);
	note("%u hostile processes, of which %u crashed", n, crashed);
	return 0;
}
