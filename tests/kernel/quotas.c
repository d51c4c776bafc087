// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests the quotas of users in the tables of a device: peers of connections, multicast memberships
 * and device memory. A user takes as much as possible; others still get some, and root the rest.
 * Runs as root, on a device with a given key, so that all addresses can be peers.
 *
 *   quotas UID OTHER-UID
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

#include "../faults/side.h"

/* Limits of a device; a user alone may have half. */
#define ROWS 64
#define MEMBERS 256
#define MEMORY (1ul << 20)
#define PAGE 4096ul

struct taker {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	/* Connections, and a datagram queue pair for memberships. */
	struct ibv_qp *connection[ROWS + 1], *datagrams;
	unsigned int connections, members;
	struct ibv_dm *memory;
};

static struct ibv_qp *make_qp(struct taker *t, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = t->cq, .recv_cq = t->cq, .cap = { 1, 1, 1, 1, 0 }
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	struct ibv_qp *qp = MADE(ibv_create_qp(t->pd, &init));

	CHECK_EQ(ibv_modify_qp(qp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
		 0);
	return qp;
}

static void taker_open(struct taker *t)
{
	*t = (struct taker){ .context = open_device() };
	t->pd = MADE(ibv_alloc_pd(t->context));
	t->cq = MADE(ibv_create_cq(t->context, 16, NULL, NULL, 0));
	t->datagrams = make_qp(t, IBV_QPT_UD);
}

/* ---------------------------------------------------------------------- peers */

/* Peer n is ::ffff:192.168.77.(100 + n); no NIC is there. Returns 0 or errno. */
static int try_connect(struct ibv_qp *qp, unsigned int n)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 2,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = 1, .hop_limit = 9 } },
	};
	union ibv_gid *gid = &attr.ah_attr.grh.dgid;
	char text[64];

	snprintf(text, sizeof(text), "::ffff:192.168.77.%u", 100 + n);
	CHECK_EQ(inet_pton(AF_INET6, text, gid->raw), 1);
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

/* Connects to peers from `first` on, until that fails with ENOMEM. */
static void take_peers(struct taker *t, unsigned int first)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	int error;

	for (;;) {
		CHECK(t->connections <= ROWS);
		qp = make_qp(t, IBV_QPT_RC);
		error = try_connect(qp, first + t->connections);
		if (error)
			break;
		t->connection[t->connections++] = qp;
	}
	CHECK_EQ(error, ENOMEM);
	/* The failure changes nothing, and a known peer can have further connections. */
	CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.qp_state, IBV_QPS_INIT);
	CHECK_EQ(try_connect(qp, first), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
}

/* ---------------------------------------------------------------- memberships */

static int try_join(struct taker *t, unsigned int n)
{
	union ibv_gid gid = { .raw = { 0xff, 0x0e, [14] = (uint8_t)(n >> 8), (uint8_t)n } };

	return ibv_attach_mcast(t->datagrams, &gid, 0);
}

static void take_members(struct taker *t)
{
	int error;

	do {
		CHECK(t->members <= MEMBERS);
		error = try_join(t, t->members++);
	} while (!error);
	t->members--;
	CHECK_EQ(error, ENOMEM);
}

/* --------------------------------------------------------------- device memory */

static struct ibv_dm *try_memory(struct taker *t, size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	errno = 0;
	return ibv_alloc_dm(t->context, &attr);
}

/* Takes what is left; one page more is refused. */
static void take_memory(struct taker *t, size_t length)
{
	t->memory = try_memory(t, length);
	CHECK(t->memory);
	CHECK(!try_memory(t, PAGE));
	CHECK_EQ(errno, ENOMEM);
}

static size_t told_memory(struct taker *t)
{
	struct ibv_device_attr_ex attr;

	CHECK_EQ(ibv_query_device_ex(t->context, NULL, &attr), 0);
	return attr.max_dm_size;
}

/* ----------------------------------------------------------------------- users */

static void become(const char *uid)
{
	uid_t user = (uid_t)atoi(uid);

	CHECK(user);
	CHECK_EQ(setresuid(user, user, user), 0);
}

/* Takes its share, until the test ends. */
static void greedy(int sock, void *arg)
{
	struct taker t;

	become(arg);
	taker_open(&t);
	take_peers(&t, 0);
	CHECK_EQ(t.connections, ROWS / 2);
	take_members(&t);
	CHECK_EQ(t.members, MEMBERS / 2);
	CHECK_EQ(told_memory(&t), MEMORY / 2);
	take_memory(&t, MEMORY / 2);
	meet(sock);
	meet(sock);
}

static void modest(int sock, void *arg)
{
	struct taker t;

	become(arg);
	taker_open(&t);
	CHECK_EQ(try_connect(make_qp(&t, IBV_QPT_RC), ROWS), 0);
	CHECK_EQ(try_join(&t, 0), 0);
	t.memory = try_memory(&t, PAGE);
	CHECK(t.memory);
	CHECK_EQ(ibv_free_dm(t.memory), 0);
}

/* Root has no quotas: only the tables limit it. */
static void unlimited(int sock, void *arg)
{
	struct taker t;

	taker_open(&t);
	take_peers(&t, ROWS / 2);
	CHECK_EQ(t.connections, ROWS / 2);
	take_members(&t);
	CHECK_EQ(t.members, MEMBERS / 2);
	CHECK_EQ(told_memory(&t), MEMORY);
	take_memory(&t, MEMORY / 2);
}

int main(int argc, char **argv)
{
	struct helper first, second;

	CHECK_EQ(argc, 3);
	helper_start(&first, "greedy", greedy, argv[1]);
	meet(first.sock);
	helper_start(&second, "modest", modest, argv[2]);
	helper_join(&second);
	helper_start(&second, "unlimited", unlimited, NULL);
	helper_join(&second);
	meet(first.sock);
	helper_join(&first);
	return 0;
}
