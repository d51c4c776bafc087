// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* One doorbell for very many requests, none of them long. */
#include "../faults/side.h"

#define REQUESTS 2048
#define LENGTH (64u << 10)

int main(void)
{
	static struct ibv_send_wr wr[REQUESTS];
	const struct wish wish = { .length = LENGTH, .depth = REQUESTS };
	struct ibv_send_wr *bad;
	struct ibv_sge sge;
	struct side s[2];

	pair_open(s, &wish);
	fill(s[0].buffer, LENGTH, 1);
	sge = side_sge(&s[0], 0, LENGTH);
	for (int i = 0; i < REQUESTS; i++) {
		wr[i].wr_id = (uint64_t)i;
		wr[i].next = i + 1 < REQUESTS ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].send_flags = i + 1 < REQUESTS ? 0 : IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = s[0].peer.addr;
		wr[i].wr.rdma.rkey = s[0].peer.rkey;
	}
	CHECK_EQ(ibv_post_send(s[0].qp, wr, &bad), 0);
	(void)side_expect(&s[0], REQUESTS - 1, IBV_WC_SUCCESS);
	CHECK(is_filled(s[1].buffer, LENGTH, 1));
	pair_close(s);
	/* What is to be copied in all. */
	printf("%llu\n", (unsigned long long)REQUESTS * LENGTH);
	return 0;
}
