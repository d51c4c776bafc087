// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every operation between two NICs, on good and on faulty links. Data is intact, and
 * completions come once and in order.
 */
#include "streams.h"

/* A receive that the first packet of a message takes counts for the SRQ limit. */
static void limit_of_shared_receives(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 7);
	struct nic *nic;
	u32 limit;

	world_make(1, &config);
	connect_two(NIC_QPT_RC, true);
	nic = &side[1].nic;
	for (u32 i = 0; i < 4; i++)
		end_recv(connected[1], i, i << 17, 100000);
	CHECK(nic_srq_set_limit(nic, connected[1]->srqn, 3) == NIC_OK);
	for (u32 i = 0; i < 2; i++) {
		end_send(connected[0], &w, 0, 100000);
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
		CHECK(nic_srq_get_limit(nic, connected[1]->srqn, &limit) == NIC_OK);
		CHECK(limit == (i ? 0 : 3));
	}
	world_free();
}

static void test_clean(void)
{
	world_make(1, &config);
	everything(200);
	print_counters();
	/* Only packets that waited for a receive are retransmitted. */
	CHECK(side[0].nic.hdr->counters.retransmitted <= side[0].nic.hdr->counters.nacks_received);
	world_free();
	limit_of_shared_receives();
}

/* A request that names no SRQ of the target's XRC domain is refused, and fails the connection. */
static void refuse_named(u32 srqn, u8 opcode)
{
	struct vnet_send_wqe w = request(opcode, 5);

	connect_extended();
	connected[0]->named = srqn;
	aim(&w, &side[1], 0);
	end_send(connected[0], &w, 0, 64);
	(void)end_expect(connected[0], 5, VNET_WC_REM_INV_REQ_ERR);
}

static void test_named(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 9);
	struct vnet_cqe cqe;
	struct end *basic;

	world_make(1, &config);
	basic = end_make(&side[1], NIC_QPT_RC, true);
	refuse_named(0, VNET_WR_SEND);
	refuse_named(15, VNET_WR_RDMA_WRITE);
	refuse_named(basic->srqn, VNET_WR_RDMA_READ);

	/* The SRQ is destroyed during a message of many packets. */
	connect_extended();
	end_recv(connected[1], 1, 0, 1000000);
	end_send(connected[0], &w, 0, 1000000);
	while (!connected[1]->rq.hdr->cons)
		pass(1000);
	CHECK(!end_poll(connected[0], &cqe));
	CHECK(nic_srq_destroy(&side[1].nic, connected[1]->srqn) == NIC_OK);
	cqe = end_wait(connected[0]);
	CHECK(cqe.status == VNET_WC_REM_INV_REQ_ERR);
	CHECK(!end_poll(connected[1], &cqe));

	/* The target goes to the error state instead: the partly filled receive is flushed. */
	connect_extended();
	end_recv(connected[1], 2, 0, 1000000);
	end_send(connected[0], &w, 0, 1000000);
	while (!connected[1]->rq.hdr->cons)
		pass(1000);
	end_state(connected[1], NIC_QPS_ERR, NULL);
	(void)end_expect(connected[1], 2, VNET_WC_WR_FLUSH_ERR);
	world_free();
}

static void test_lossy(void)
{
	for (u32 seed = 1; seed <= 6; seed++) {
		world_make(seed, &config);
		faults = (struct link_faults){ 30, 30, 100, 10 };
		everything(60);
		print_counters();
		CHECK(side[0].nic.hdr->counters.retransmitted);
		world_free();
	}
}

/* More busy queue pairs than endpoint frames. */
static void test_frames(void)
{
	struct nic_config few = config;
	struct end *a[24], *b[24];

	few.max_frame = 7;
	world_make(3, &few);
	for (u32 i = 0; i < 24; i++) {
		a[i] = end_make(&side[0], NIC_QPT_RC, false);
		b[i] = end_make(&side[1], NIC_QPT_RC, false);
		end_connect(a[i], b[i]);
	}
	for (u32 round = 0; round < 20; round++) {
		for (u32 i = 0; i < 24; i++) {
			struct vnet_send_wqe w = request(VNET_WR_SEND, round);

			end_recv(b[i], round, HALF + i * 1000, 1000);
			fill(a[i]->side->data + i * 1000, 1000, i + round);
			end_send(a[i], &w, i * 1000, 1000);
		}
		for (u32 i = 0; i < 24; i++) {
			(void)end_expect(a[i], round, VNET_WC_SUCCESS);
			(void)end_expect(b[i], round, VNET_WC_SUCCESS);
			CHECK(filled(b[i]->side->data + HALF + i * 1000, 1000, i + round));
		}
	}
	print_counters();
	CHECK(side[0].nic.hdr->counters.evictions && side[1].nic.hdr->counters.evictions);
	world_free();
}

int main(int argc, char **argv)
{
	static const struct vn_test tests[] = {
		{ "clean", test_clean, OWN_WORLD },
		{ "lossy", test_lossy, OWN_WORLD },
		{ "frames", test_frames, OWN_WORLD },
		{ "named", test_named, OWN_WORLD },
	};

	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
