// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls every verb with every kind of invalid argument that its man page names. The verb
 * returns the right errno, nothing changes, and other processes are not affected.
 *
 *   invalid_arguments objects|queues|posts
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "invalid.h"

struct bench bench;

static struct side bystander[2];
static char state_before[4096];
static unsigned int judged;

/* ------------------------------------------------------------------- judging */

void spoil(void *argument, const struct wrong *wrong)
{
	void *member = (uint8_t *)argument + wrong->at;

	switch (wrong->size) {
	case 1:
		*(uint8_t *)member = (uint8_t)wrong->value;
		break;
	case 2:
		*(uint16_t *)member = (uint16_t)wrong->value;
		break;
	case 4:
		*(uint32_t *)member = (uint32_t)wrong->value;
		break;
	case 8:
		*(uint64_t *)member = wrong->value;
		break;
	default:
		FAIL("%s: a member of %zu bytes", wrong->what, wrong->size);
	}
}

int wanted(const struct wrong *wrong, int is)
{
	return in_kernel() && wrong->early && is == wrong->early ? is : wrong->want;
}

void judge(const char *verb, const char *what, int is, int want)
{
	judged++;
	if (is != want)
		FAIL("%s, %s: %d (%s), not %d (%s)", verb, what, is, strerror(is), want,
		     strerror(want));
}

/* Counts objects only: the traffic of bystanders changes counters. */
static const char holdings[] =
	"(.files | length), (.devices[0] | .qps, .cqs, .srqs, .mrs | length)";

static void check_bystander(void)
{
	for (uint64_t n = 0; n < 4; n++) {
		fill(bystander[0].buffer, 4096, (uint32_t)n);
		pair_send(bystander, 4096);
		CHECK(is_filled(bystander[1].buffer, 4096, (uint32_t)n));
	}
}

void look_around(const char *verbs)
{
	check_bystander();
	await_status(holdings, state_before);
	note("%s: %u answers", verbs, judged);
	judged = 0;
}

/* --------------------------------------------------------------------- bench */

static void open_bench(void)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 16, .max_sge = 2 } };

	pair_open(bystander, NULL);
	side_open(&bench.other, &(struct wish){ .events = true, .srq = true });
	bench.context = open_device();
	CHECK_EQ(ibv_query_device(bench.context, &bench.limits), 0);
	CHECK_EQ(ibv_query_gid(bench.context, 1, 0, &bench.gid), 0);
	bench.pd = ibv_alloc_pd(bench.context);
	bench.channel = ibv_create_comp_channel(bench.context);
	bench.cq = ibv_create_cq(bench.context, 64, NULL, NULL, 0);
	CHECK(bench.pd && bench.channel && bench.cq);
	bench.srq = ibv_create_srq(bench.pd, &srq);
	bench.length = 8192;
	bench.memory = mmap(NULL, bench.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	CHECK(bench.memory != MAP_FAILED);
	bench.mr =
		ibv_reg_mr(bench.pd, bench.memory, bench.length, SIDE_ACCESS | IBV_ACCESS_MW_BIND);
	CHECK(bench.srq && bench.mr);
	snprintf(state_before, sizeof(state_before), "%s", ask_status(holdings));
}

static void close_bench(void)
{
	CHECK_EQ(ibv_dereg_mr(bench.mr), 0);
	CHECK_EQ(ibv_destroy_srq(bench.srq), 0);
	CHECK_EQ(ibv_destroy_cq(bench.cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(bench.channel), 0);
	CHECK_EQ(ibv_dealloc_pd(bench.pd), 0);
	CHECK_EQ(ibv_close_device(bench.context), 0);
	munmap(bench.memory, bench.length);
	side_close(&bench.other);
	pair_close(bystander);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *part;
		void (*body)(void);
	} families[] = {
		{ "objects", invalid_device }, { "objects", invalid_domains },
		{ "objects", invalid_memory }, { "objects", invalid_windows },
		{ "queues", invalid_cqs },     { "queues", invalid_srqs },
		{ "queues", invalid_qps },     { "queues", invalid_changes },
		{ "queues", invalid_xrc },     { "queues", invalid_groups },
		{ "queues", invalid_frames },  { "posts", invalid_posts },
		{ "posts", invalid_builders },
	};
	bool known = false;

	for (size_t i = 0; argc == 2 && i < COUNT(families); i++) {
		if (strcmp(argv[1], families[i].part) != 0)
			continue;
		if (!known)
			open_bench();
		known = true;
		families[i].body();
	}
	if (!known)
		FAIL("usage: invalid_arguments objects|queues|posts");
	close_bench();
	return 0;
}
