// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fills every table of the device until the verb fails. The verb returns the documented errno,
 * existing objects continue to work, and there is room again once objects are destroyed.
 *
 *   exhaustion objects|tables|descriptors|channels|daemon|clients
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exhaustion.h"
#include "side.h"

#define MOST 300000

static void *object[MOST];
static struct side bystander[2];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static struct ibv_device_attr limits;
static char memory[4096];

/* Checks that existing queue pairs work. */
static void check_bystander(void)
{
	for (uint64_t n = 0; n < 10; n++)
		pair_send(bystander, 4096);
	CHECK_EQ(side_state(&bystander[0]), IBV_QPS_RTS);
}

/* -------------------------------------------------------------------- objects */

static void *make_pd(void)
{
	return ibv_alloc_pd(context);
}

static int end_pd(void *made)
{
	return ibv_dealloc_pd(made);
}

static void *make_cq(void)
{
	return ibv_create_cq(context, 1, NULL, NULL, 0);
}

static void *make_large_cq(void)
{
	return ibv_create_cq(context, limits.max_cqe, NULL, NULL, 0);
}

static int end_cq(void *made)
{
	return ibv_destroy_cq(made);
}

static void *make_qp(void)
{
	return make_rc_qp(pd, cq, 1);
}

static void *make_large_qp(void)
{
	return ibv_create_qp(pd, &(struct ibv_qp_init_attr){
					 .qp_type = IBV_QPT_UD,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { .max_send_wr = (uint32_t)limits.max_qp_wr,
						  .max_send_sge = (uint32_t)limits.max_sge,
						  .max_recv_wr = (uint32_t)limits.max_qp_wr,
						  .max_recv_sge = (uint32_t)limits.max_sge },
				 });
}

static int end_qp(void *made)
{
	return ibv_destroy_qp(made);
}

static void *make_srq(void)
{
	return ibv_create_srq(pd, &(struct ibv_srq_init_attr){
					  .attr = { .max_wr = 1, .max_sge = 1 },
				  });
}

static int end_srq(void *made)
{
	return ibv_destroy_srq(made);
}

static void *make_mr(void)
{
	return ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
}

static int end_mr(void *made)
{
	return ibv_dereg_mr(made);
}

static void *make_mw(void)
{
	return ibv_alloc_mw(pd, IBV_MW_TYPE_2);
}

static int end_mw(void *made)
{
	return ibv_dealloc_mw(made);
}

static void *make_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = bystander[0].peer.gid },
	};

	return ibv_create_ah(pd, &attr);
}

static int end_ah(void *made)
{
	return ibv_destroy_ah(made);
}

static void *make_channel(void)
{
	return ibv_create_comp_channel(context);
}

static int end_channel(void *made)
{
	return ibv_destroy_comp_channel(made);
}

static struct ibv_device *device;

static void *make_context(void)
{
	return ibv_open_device(device);
}

static int end_context(void *made)
{
	return ibv_close_device(made);
}

static void empty(const struct kind *kind, int count)
{
	while (count--)
		CHECK_EQ(kind->end(object[count]), 0);
}

static int fill_up(const struct kind *kind)
{
	int count = 0;

	for (;;) {
		errno = 0;
		object[count] = kind->make();
		if (!object[count])
			break;
		if (++count == MOST)
			FAIL("%s: there is no end of them", kind->name);
	}
	if (errno != kind->error)
		FAIL("%s: after %d errno is %d (%s), not %d", kind->name, count, errno,
		     strerror(errno), kind->error);
	return count;
}

void exhaust(const struct kind *kind)
{
	uint64_t since = now_ns();
	int first = fill_up(kind);

	if (first < kind->room)
		FAIL("%s: room for %d, not for %d", kind->name, first, kind->room);
	check_bystander();
	/* Objects that are destroyed in the middle make room for others. */
	for (int i = first / 2; i < first && i < first / 2 + 10; i++) {
		CHECK_EQ(kind->end(object[i]), 0);
		object[i] = kind->make();
		CHECK(object[i]);
	}
	CHECK(!kind->make());
	empty(kind, first);
	for (unsigned int i = 0; i < rounds(0, 3); i++) {
		CHECK_EQ(fill_up(kind), first);
		empty(kind, first);
	}
	check_bystander();
	note("%s: %d, in %.1f s", kind->name, first, (double)(now_ns() - since) / 1e9);
}

/* Upper limit of the objects that the bystander and this test themselves use. */
#define TAKEN 16

static void tables(void)
{
	const struct exhausted e = { context, pd, cq };

	exhaust_tables(&e);
}

static void objects(void)
{
	const struct kind kinds[] = {
		{ "memory regions", make_mr, end_mr, limits.max_mr - TAKEN, ENOMEM },
		{ "memory windows", make_mw, end_mw, limits.max_mw - TAKEN, ENOMEM },
		{ "protection domains", make_pd, end_pd, limits.max_pd - TAKEN, ENOMEM },
		{ "completion queues", make_cq, end_cq, limits.max_cq - TAKEN, ENOMEM },
		{ "queue pairs", make_qp, end_qp, limits.max_qp - TAKEN, ENOMEM },
		{ "shared receive queues", make_srq, end_srq, limits.max_srq - TAKEN, ENOMEM },
		{ "address handles", make_ah, end_ah, limits.max_ah - TAKEN, ENOMEM },
		{ "queue memory, by CQs", make_large_cq, end_cq, 4, ENOMEM },
		{ "queue memory, by QPs", make_large_qp, end_qp, 4, ENOMEM },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		exhaust(&kinds[i]);
}

/* ---------------------------------------------------------------- descriptors */

static void limit_descriptors(rlim_t limit)
{
	struct rlimit rlimit;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &rlimit), 0);
	rlimit.rlim_cur = limit;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &rlimit), 0);
}

static void descriptors(void)
{
	const struct kind kinds[] = {
		{ "completion channels", make_channel, end_channel, 8, EMFILE },
		{ "contexts", make_context, end_context, 4, EMFILE },
	};

	/* The descriptors of the preload library have numbers above this limit. */
	limit_descriptors(64);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		exhaust(&kinds[i]);
	limit_descriptors(1024);
	check_bystander();
}

/* The limit is that of the daemon's descriptors, which the script exhausted_daemon has lowered. */
static void daemon_descriptors(void)
{
	const struct kind kinds[] = {
		{ "channels that the daemon can serve", make_channel, end_channel, 4, EMFILE },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		exhaust(&kinds[i]);
}

/* The limit is that of the NIC's table of channels, not of descriptors. */
static void channels(void)
{
	const struct kind kind = { "channels of the NIC", make_channel, end_channel, 900, ENOMEM };
	struct rlimit rlimit;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &rlimit), 0);
	limit_descriptors(rlimit.rlim_max < 4096 ? rlimit.rlim_max : 4096);
	exhaust(&kind);
}

/* -------------------------------------------------------------------- clients */

#define CLIENTS 1100

/* Opens the device, reports 0 or errno, and stays until the pipe `stay` is closed. */
static void client_body(int report, int stay)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int how = list && list[0] && ibv_open_device(list[0]) ? 0 : errno;

	CHECK_EQ(write(report, &how, sizeof(how)), sizeof(how));
	(void)!read(stay, &how, 1);
	_exit(0);
}

static int start_clients(int stay[2])
{
	int report[2], opened = 0, how;
	pid_t pid;

	CHECK_EQ(pipe(report), 0);
	for (int i = 0; i < CLIENTS; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			close(stay[1]);
			client_body(report[1], stay[0]);
		}
		CHECK_EQ(read(report[0], &how, sizeof(how)), sizeof(how));
		if (!how) {
			opened++;
			continue;
		}
		/* vnetd refuses the process as a client, so the process sees no device. */
		CHECK_EQ(how, ENOSYS);
		break;
	}
	close(report[0]);
	close(report[1]);
	return opened;
}

static void clients(void)
{
	int stay[2], opened;

	CHECK_EQ(pipe(stay), 0);
	opened = start_clients(stay);
	if (opened < 900 || opened >= CLIENTS)
		FAIL("%d clients", opened);
	check_bystander();
	close(stay[1]);
	while (wait(NULL) > 0)
		;
	close(stay[0]);
	await_status(".clients | map(select(.state == \"alive\")) | length", "1");
	check_bystander();
	note("%d clients", opened);
}

/* ------------------------------------------------------------------------ main */

static void begin(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(list && list[0]);
	device = list[0];
	pair_open(bystander, NULL);
	context = MADE(ibv_open_device(device));
	CHECK_EQ(ibv_query_device(context, &limits), 0);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	CHECK(pd && cq);
	mr = MADE(ibv_reg_mr(pd, memory, sizeof(memory), 0));
	check_bystander();
}

static void end(void)
{
	check_bystander();
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(context), 0);
	pair_close(bystander);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*body)(void);
	} parts[] = {
		{ "objects", objects },           { "tables", tables },
		{ "descriptors", descriptors },   { "channels", channels },
		{ "daemon", daemon_descriptors }, { "clients", clients },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(argv[1], parts[i].name) != 0)
			continue;
		begin();
		parts[i].body();
		end();
		return 0;
	}
	FAIL("usage: exhaustion objects|tables|descriptors|channels|daemon|clients");
}
