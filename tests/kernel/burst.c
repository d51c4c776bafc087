// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posts very many short requests with one doorbell, and prints the number of bytes or requests.
 *
 *   burst copies      writes of 64 KiB
 *   burst empty       writes without data
 *   burst flushed     writes that are flushed
 *   burst receives    receives that are flushed
 */
#include <string.h>

#include "../faults/side.h"

#define COPIES 2048
#define LENGTH (64u << 10)
/* The size of the largest queue. */
#define REQUESTS 16384

static struct ibv_send_wr *writes(const struct side *s, unsigned int n, struct ibv_sge *sge)
{
	struct ibv_send_wr *wr = MADE(calloc(n, sizeof(*wr)));

	for (unsigned int i = 0; i < n; i++) {
		wr[i].wr_id = i;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		wr[i].sg_list = sge;
		wr[i].num_sge = sge ? 1 : 0;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].send_flags = i + 1 < n ? 0 : IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = s->peer.addr;
		wr[i].wr.rdma.rkey = s->peer.rkey;
	}
	return wr;
}

static void post(struct side *s, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	CHECK_EQ(ibv_post_send(s->qp, wr, &bad), 0);
	free(wr);
}

static void copies(void)
{
	const struct wish wish = { .length = LENGTH, .depth = COPIES };
	struct ibv_sge sge;
	struct side s[2];

	pair_open(s, &wish);
	fill(s[0].buffer, LENGTH, 1);
	sge = side_sge(&s[0], 0, LENGTH);
	post(&s[0], writes(&s[0], COPIES, &sge));
	(void)side_expect(&s[0], COPIES - 1, IBV_WC_SUCCESS);
	CHECK(is_filled(s[1].buffer, LENGTH, 1));
	pair_close(s);
	printf("%llu\n", (unsigned long long)COPIES * LENGTH);
}

static void no_copies(bool flushed)
{
	const struct wish wish = { .depth = REQUESTS };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct side s[2];

	pair_open(s, &wish);
	if (flushed)
		CHECK_EQ(ibv_modify_qp(s[0].qp, &attr, IBV_QP_STATE), 0);
	post(&s[0], writes(&s[0], REQUESTS, NULL));
	for (unsigned int i = flushed ? 0 : REQUESTS - 1; i < REQUESTS; i++)
		(void)side_expect(&s[0], i, flushed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
	pair_close(s);
	printf("%d\n", REQUESTS);
}

/* Flushes the responder's receives. */
static void receives(void)
{
	const struct wish wish = { .depth = REQUESTS };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr *bad, wr = { .wr_id = 0 };
	struct side s[2];

	pair_open(s, &wish);
	for (wr.wr_id = 0; wr.wr_id < REQUESTS; wr.wr_id++)
		CHECK_EQ(ibv_post_recv(s[1].qp, &wr, &bad), 0);
	CHECK_EQ(ibv_modify_qp(s[1].qp, &attr, IBV_QP_STATE), 0);
	for (unsigned int i = 0; i < REQUESTS; i++)
		(void)side_expect(&s[1], i, IBV_WC_WR_FLUSH_ERR);
	pair_close(s);
	printf("%d\n", REQUESTS);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "copies")) {
		copies();
	} else if (!strcmp(what, "empty") || !strcmp(what, "flushed")) {
		no_copies(what[0] == 'f');
	} else if (!strcmp(what, "receives")) {
		receives();
	} else {
		fprintf(stderr, "usage: burst copies|empty|flushed|receives\n");
		return 2;
	}
	return 0;
}
