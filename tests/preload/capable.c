// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checks whether this process may create a raw packet queue pair and bind an rdma_cm id to a low
 * port.
 *
 * `capable yes|no`: the queue pair needs CAP_NET_RAW, and port 99 needs CAP_NET_BIND_SERVICE.
 */
#define _GNU_SOURCE
#include "check.h"

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

static void expect_raw(bool may)
{
	struct ibv_context *context = open_first();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RAW_PACKET,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp *qp;

	EXPECT(pd && cq);
	errno = 0;
	qp = ibv_create_qp(pd, &attr);
	EXPECT(may ? qp != NULL : !qp && errno == EPERM);
	EXPECT(!qp || !ibv_destroy_qp(qp));
	EXPECT(!ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) && !ibv_close_device(context));
}

static void expect_port(bool may)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(99) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	EXPECT(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	errno = 0;
	EXPECT(rdma_bind_addr(id, (struct sockaddr *)&address) == (may ? 0 : -1));
	EXPECT(may || errno == EACCES);
	EXPECT(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

int main(int argc, char **argv)
{
	bool may = argc > 1 && !strcmp(argv[1], "yes");

	expect_raw(may);
	expect_port(may);
	return 0;
}
