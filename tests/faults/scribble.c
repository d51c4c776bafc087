// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes random bytes anywhere in NIC memory, under traffic, as any client process can. Clients
 * may fail; the script hostile_memory checks the daemon.
 *
 *   scribble PLACE     header, qp, cq, srq, mr, channel, client, bits, queue, all
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bystanders.h"
#include "nicmap.h"

struct area {
	const char *name;
	uint64_t offset;
	uint64_t length;
	/* Size of an entry. Writes prefer the first 64 entries. */
	uint64_t entry;
};

static struct area find_area(const struct nic_map *map, const char *name)
{
	const struct nic_header *h = map->hdr;
	const struct area areas[] = {
		{ "header", 0, sizeof(*h), sizeof(*h) },
		{ "qp", h->off_qp, h->off_cq - h->off_qp, sizeof(struct nic_qp) },
		{ "cq", h->off_cq, h->off_srq - h->off_cq, sizeof(struct nic_cq) },
		{ "srq", h->off_srq, h->off_mr - h->off_srq, sizeof(struct nic_srq) },
		{ "mr", h->off_mr, h->off_channel - h->off_mr, sizeof(struct nic_mr) },
		{ "channel", h->off_channel, h->off_client - h->off_channel,
		  sizeof(struct nic_channel) },
		{ "client", h->off_client, h->off_pending - h->off_client, NIC_CLIENT_SIZE },
		{ "bits", h->off_pending, h->off_queue - h->off_pending, 64 },
		{ "queue", h->off_queue, 1 << 20, 4096 },
		{ "all", 0, h->off_queue + (1 << 20), 1 << 16 },
	};

	for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++)
		if (!strcmp(areas[i].name, name))
			return areas[i];
	FAIL("there is no place %s", name);
}

/* A small number, a large one, a multiple of 4096, or any. */
static uint64_t any_value(void)
{
	switch (random_below(4)) {
	case 0:
		return random_below(64);
	case 1:
		return UINT64_MAX - random_below(64);
	case 2:
		return (uint64_t)random_below(1 << 20) << 12;
	default:
		return random_number();
	}
}

static void scribble_word(const struct nic_map *map, const struct area *area)
{
	uint64_t first = area->entry * 64 < area->length ? area->entry * 64 : area->length;
	uint64_t within = random_below(4) ? first : area->length;
	uint64_t at = area->offset + (uint64_t)(((random_number() >> 16) % within) & ~7ull);
	uint64_t value = any_value();
	size_t size = 1u << random_below(4);

	memcpy(map->base + at, &value, size);
}

/* Posts requests that wait, so that the NIC processor has work. */
static void open_waiting(struct side s[2])
{
	pair_open(s, &(struct wish){ .events = true });
	CHECK_EQ(ibv_req_notify_cq(s[1].cq, 0), 0);
	for (int i = 0; i < 8; i++) {
		(void)side_try_post(&s[0], IBV_WR_SEND, 1, 0, 100, IBV_SEND_SIGNALED);
		(void)side_try_post(&s[0], IBV_WR_RDMA_WRITE, 1, 0, 100, IBV_SEND_SIGNALED);
	}
}

static void scribble(const char *place)
{
	unsigned int n = 1u << random_below(12);
	struct side s[2], srq[2];
	struct nic_map map;
	struct area area;
	struct ibv_wc wc;

	open_waiting(s);
	pair_open(srq, &(struct wish){ .srq = true, .type = IBV_QPT_UD });
	nic_map_find(&map);
	area = find_area(&map, place);
	for (unsigned int i = 0; i < n; i++) {
		scribble_word(&map, &area);
		if (i % 64)
			continue;
		(void)side_try_post(&s[1], IBV_WR_SEND, 1, 0, 8, IBV_SEND_SIGNALED);
		(void)ibv_poll_cq(s[0].cq, 1, &wc);
	}
	/* Half of the time, leave all objects to the daemon's recovery. */
	if (random_below(2))
		_exit(0);
	(void)ibv_destroy_qp(s[0].qp);
	(void)ibv_destroy_qp(s[1].qp);
	(void)ibv_destroy_cq(s[1].cq);
	(void)ibv_dereg_mr(s[0].mr);
}

int main(int argc, char **argv)
{
	struct bystanders bystanders;
	uint64_t seed;
	pid_t pid;

	if (argc != 2)
		FAIL("usage: scribble PLACE");
	seed_random();
	seed = random_number();
	bystanders_start(&bystanders);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		continue_random(seed);
		scribble(argv[1]);
		_exit(0);
	}
	/* The child may hang in a verb, because it has destroyed the device's state. */
	for (uint64_t since = now_ns(); !waitpid(pid, NULL, WNOHANG);)
		if (is_past(since, 2000000000ull)) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			break;
		}
	bystanders_abandon(&bystanders);
	return 0;
}
