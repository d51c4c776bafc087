// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that descriptors and memory of the daemon and of this process stop growing in long use.
 *
 * `level WHAT [PERCENT]`, in percent of the full size (VNET_SOAK_PERCENT sets it, too):
 *
 *   at-once   1,000 connections of rdma_cm at the same time, several times
 *   in-a-row  100,000 connections of rdma_cm, one after the other
 *   contexts  100,000 contexts and completion channels, opened and closed
 *   qps       2,000 queue pairs, some of which are recreated all the time, for an hour
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "peers.h"

static double percent = 1;

static int part_of(int whole)
{
	int part = (int)(whole * percent / 100);

	return part < 1 ? 1 : part;
}

/* ---------------------------------------------------------------------- resources */

struct level {
	int descriptors[2];
	/* In KiB. */
	long memory[2];
};

static int count_descriptors(pid_t pid)
{
	char path[64];
	int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	EXPECT(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Private memory only: NIC memory is shared, and its size is fixed. */
static long private_memory(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	EXPECT(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	fclose(file);
	EXPECT(kib >= 0);
	return kib;
}

static void measure(struct level *level)
{
	const pid_t pid[2] = { getpid(), daemon_pid() };

	for (int i = 0; i < 2; i++) {
		level->descriptors[i] = count_descriptors(pid[i]);
		level->memory[i] = private_memory(pid[i]);
	}
}

/* The daemon learns of closed files by hang-ups, so its descriptors may decrease later. */
static bool has_settled(const struct level *before)
{
	struct level now = { 0 };

	measure(&now);
	return now.descriptors[0] <= before->descriptors[0] &&
	       now.descriptors[1] <= before->descriptors[1];
}

/* Permitted growth in KiB, whatever the number of uses, because of the allocator. */
#define MOST_GROWTH 1024

static void expect_level(const struct level *before)
{
	static const char *const whose[2] = { "this process", "the daemon" };
	struct level now = { 0 };

	AWAIT(has_settled(before));
	measure(&now);
	for (int i = 0; i < 2; i++) {
		printf("%s: descriptors %d, then %d; memory %ld KiB, then %ld\n", whose[i],
		       before->descriptors[i], now.descriptors[i], before->memory[i],
		       now.memory[i]);
		fflush(stdout);
		EXPECT(now.memory[i] <= before->memory[i] + before->memory[i] / 10 + MOST_GROWTH);
	}
}

/* ------------------------------------------------------------------- connections */

static void end_one(struct peers *peers, struct rdma_cm_id *client, struct rdma_cm_id *server)
{
	EXPECT(!rdma_disconnect(client));
	EXPECT(!peers_heard(peers->server_channel, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT(!rdma_disconnect(server));
	EXPECT(!peers_heard(peers->client_channel, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT(!rdma_destroy_id(client));
	EXPECT(!rdma_destroy_id(server));
}

static void at_once(void)
{
	enum { ROUNDS = 6 };
	int many = part_of(1000);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
	struct rdma_cm_id **id = calloc((size_t)many * 2, sizeof(struct rdma_cm_id *));
	struct level level = { 0 };
	struct peers peers;

	EXPECT(id);
	peers_listen(&peers, RDMA_PS_TCP, 1000);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < many; i++) {
			peers_join(&peers);
			id[2 * i] = peers.client;
			id[2 * i + 1] = peers.server;
		}
		for (int i = 0; i < many; i++)
			end_one(&peers, id[2 * i], id[2 * i + 1]);
		if (round == ROUNDS / 2)
			measure(&level);
	}
	expect_level(&level);
	peers.client = peers.server = NULL;
	peers_end(&peers);
	free(id);
}

static void in_a_row(void)
{
	int many = part_of(100000);
	struct level level = { 0 };
	struct peers peers;

	peers_listen(&peers, RDMA_PS_TCP, 10);
	for (int i = 0; i < many; i++) {
		if (i == many / 2)
			measure(&level);
		peers_join(&peers);
		end_one(&peers, peers.client, peers.server);
	}
	peers.client = peers.server = NULL;
	expect_level(&level);
	peers_end(&peers);
}

/* ----------------------------------------------------------------------- contexts */

static void contexts(void)
{
	int many = part_of(100000);
	struct level level = { 0 };

	for (int i = 0; i < many; i++) {
		struct ibv_context *context = open_first();
		struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
		struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, channel, 0);

		EXPECT(channel && cq);
		EXPECT(!ibv_destroy_cq(cq) && !ibv_destroy_comp_channel(channel));
		EXPECT(!ibv_close_device(context));
		if (i == many / 2)
			measure(&level);
	}
	expect_level(&level);
}

/* -------------------------------------------------------------------- queue pairs */

static void qps(void)
{
	static struct pair pair[1000];
	int many = (int)(sizeof(pair) / sizeof(pair[0]));
	time_t begin = time(NULL), seconds = part_of(3600), now;
	bool measured = false;
	struct level level = { 0 };
	int replaced = 0;

	for (int i = 0; i < many; i++)
		pair_make_small(&pair[i], 4);
	do {
		for (int i = 0; i < many; i++)
			expect_traffic(&pair[i]);
		for (int i = 0; i < many; i += 2) {
			int which = rand() % many;

			pair_end(&pair[which]);
			pair_make_small(&pair[which], 4);
			replaced++;
		}
		now = time(NULL);
		/*
		 * Memory is stable only after the allocator has seen such a mixture for some
		 * rounds.
		 */
		if (!measured && now >= begin + seconds / 2 && replaced > 5 * many) {
			measured = true;
			measure(&level);
		}
	} while (now < begin + seconds || !measured);
	expect_level(&level);
	for (int i = 0; i < many; i++)
		pair_end(&pair[i]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} what[] = {
		{ "at-once", at_once },
		{ "in-a-row", in_a_row },
		{ "contexts", contexts },
		{ "qps", qps },
	};
	struct rlimit files;
	const char *setting = getenv("VNET_SOAK_PERCENT");

	if (setting)
		percent = atof(setting);
	else if (argc > 2)
		percent = atof(argv[2]);
	/* Differs from the servers' numbers. */
	peers_qpn = 1000000;
	EXPECT(percent > 0 && percent <= 100);
	EXPECT(!getrlimit(RLIMIT_NOFILE, &files));
	files.rlim_cur = files.rlim_max;
	EXPECT(!setrlimit(RLIMIT_NOFILE, &files));
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]) && argc > 1; i++) {
		if (strcmp(argv[1], what[i].name) != 0)
			continue;
		what[i].run();
		return 0;
	}
	fprintf(stderr, "usage: level at-once|in-a-row|contexts|qps [PERCENT]\n");
	return 2;
}
