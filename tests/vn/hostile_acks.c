// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid acknowledgements from a peer that has the key and the row's secret. Invalid values are
 * replaced by valid ones, and an acknowledgement of a retired packet completes nothing.
 */
#include "forge.h"

/* An acknowledgement from side 1 for the packet on side 0's channel 0. */
static void make_answer(u8 code, u64 result)
{
	memset(space, 0, sizeof(*head) + sizeof(*ack));
	sign_for(0, head);
	head->kind = VNET_FRAME_ACK;
	head->nacks = 1;
	ack->seq = nic_to_le32(row_of(0)->tx[0].seq);
	ack->timestamp = nic_to_le32(row_of(0)->tx[0].timestamp);
	ack->code = code;
	ack->result = nic_to_le64(result);
}

static void answers(void)
{
	u32 length = sizeof(*head) + sizeof(*ack);

	head->crc = 0;
	nic_frame_set_crc(space, length);
	deliver_from(0, 1, space, length);
	nic_receive_end(&side[0].nic);
}

static void send_lost(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);

	faults.lose = 1000;
	end_send(connected[0], &w, 0, 64);
	CHECK(row_of(0)->busy == 1);
}

/* Invalid values in acknowledgements are replaced by valid ones. */
static void test_answers(void)
{
	static const u64 statuses[] = { VNET_WC_SUCCESS, VNET_WC_STATUS_MAX, 0x100000000ull };
	struct vnet_cqe cqe;
	u32 i;

	/* RETURN_ERROR with an invalid completion status. */
	for (i = 0; i < 3; i++) {
		begin_connected(41, NIC_QPT_RC);
		send_lost();
		make_answer(VNET_RETURN_ERROR, statuses[i]);
		answers();
		CHECK(end_wait(connected[0]).status == VNET_WC_REM_OP_ERR);
		world_free();
	}
	/* An RNR NACK with a wait above the maximum. */
	begin_connected(41, NIC_QPT_RC);
	send_lost();
	make_answer(VNET_NACK_RNR, ~0ull >> 1);
	answers();
	CHECK(row_of(0)->tx[0].due <= now_ns + 700 * MS);
	/* RNR retries are limited by rnr_retry. */
	end_qp(connected[0])->attr.rnr_retry = 2;
	for (i = 0; i < 10 && !end_poll(connected[0], &cqe); i++) {
		pass(i ? 10 * MS : 700 * MS);
		make_answer(VNET_NACK_RNR, MS);
		answers();
	}
	CHECK(i < 10 && cqe.status == VNET_WC_RNR_RETRY_EXC_ERR);
	world_free();
}

/* The second acknowledgement of a packet that was sent on two channels completes nothing. */
static void test_late_answer(void)
{
	struct nic_endpoint *ep;
	struct nic_tx *tx;
	struct vnet_cqe cqe;

	send_lost();
	ep = endpoint_of(connected[0]);
	tx = &row_of(0)->tx[0];
	/* As if another channel had carried the packet, and it were retired. */
	tx->psn--;
	make_answer(VNET_ACK_DONE, 0);
	answers();
	CHECK(!end_poll(connected[0], &cqe) && !ep->done && ep->una != ep->next);
}

/* One frame refuses two requests: the first completes with its status, the second is flushed. */
static void test_first_failure(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);
	u32 length = sizeof(*head) + 2 * sizeof(*ack);

	faults.lose = 1000;
	end_send(connected[0], &w, 0, 64);
	w.wr_id = 4;
	end_send(connected[0], &w, 0, 64);
	CHECK(row_of(0)->busy == 3);
	make_answer(VNET_RETURN_ERROR, VNET_WC_REM_ACCESS_ERR);
	head->nacks = 2;
	ack[1] = ack[0];
	ack[1].channel = 1;
	ack[1].result = nic_to_le64(VNET_WC_REM_OP_ERR);
	for (u32 i = 0; i < 2; i++) {
		ack[i].seq = nic_to_le32(row_of(0)->tx[i].seq);
		ack[i].timestamp = nic_to_le32(row_of(0)->tx[i].timestamp);
	}
	head->crc = 0;
	nic_frame_set_crc(space, length);
	deliver_from(0, 1, space, length);
	(void)end_expect(connected[0], 3, VNET_WC_REM_ACCESS_ERR);
	CHECK(end_wait(connected[0]).status == VNET_WC_WR_FLUSH_ERR);
}

/* A channel does not retransmit a packet that is already retired. */
static void test_retired(void)
{
	u64 again;

	send_lost();
	row_of(0)->tx[0].psn--;
	again = counters(0)->retransmitted;
	pass(100 * MS);
	CHECK(!row_of(0)->busy && counters(0)->retransmitted == again);
}

/* Returned datagrams complete with a status that is valid for them. */
static void test_returned(void)
{
	static const u64 statuses[] = { 0x100, VNET_WC_SUCCESS, VNET_WC_WR_FLUSH_ERR,
					VNET_WC_RNR_RETRY_EXC_ERR };
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);

	for (u32 i = 0; i < 4; i++) {
		ends_return = true;
		begin_connected(41, NIC_QPT_UD);
		ends_return = false;
		aim_datagram(&w, connected[1]);
		faults.lose = 1000;
		end_send(connected[0], &w, 0, 64);
		CHECK(row_of(0)->busy == 1);
		make_answer(VNET_RETURN_DROPPED, statuses[i]);
		answers();
		CHECK(end_wait(connected[0]).status ==
		      (i == 3 ? VNET_WC_RNR_RETRY_EXC_ERR : VNET_WC_REM_OP_ERR));
		world_free();
	}
}

int main(int argc, char **argv)
{
	static const struct vn_test tests[] = {
		{ "answers", test_answers, OWN_WORLD },
		{ "late-answer", test_late_answer, NIC_QPT_RC },
		{ "first-failure", test_first_failure, NIC_QPT_RC },
		{ "retired", test_retired, NIC_QPT_RC },
		{ "returned", test_returned, OWN_WORLD },
	};

	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
