// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests that the program rewrites after it has posted them, or that are invalid. Also the
 * requester's limits of outstanding packets.
 */
#include "requester/requester.h"
#include "forge.h"

/* ------------------------------------------------------------ rewritten requests */

static void *slot_of(const struct end *e, u32 index)
{
	return e->sq.slots + ((u64)(index & e->sq.mask) << e->sq.shift);
}

static void set_opcode(const struct end *e, u32 index, u8 opcode)
{
	((struct vnet_send_wqe *)slot_of(e, index))->opcode = opcode;
}

static void set_length(const struct end *e, u32 index, u32 length)
{
	struct vnet_sge *sge = (struct vnet_sge *)((u8 *)slot_of(e, index) + VNET_WQE_HDR_SIZE);

	sge->length = length;
}

/* The program rewrites a request before its retransmission: the request fails. */
static void test_again(void)
{
	for (u32 i = 0; i < 2; i++) {
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 9);

		begin_connected(41, NIC_QPT_RC);
		memset(side[1].data, 0, 4096);
		aim(&w, &side[1], 0);
		memset(side[0].data, 0xee, 1000);
		faults.lose = 1000;
		end_send(connected[0], &w, 0, 1000);
		CHECK(row_of(0)->busy);
		faults.lose = 0;
		if (i)
			set_length(connected[0], connected[0]->sq_prod - 1, 100);
		else
			set_opcode(connected[0], connected[0]->sq_prod - 1, VNET_WR_SEND);
		CHECK(end_wait(connected[0]).status == VNET_WC_LOC_QP_OP_ERR);
		CHECK(!is_written());
		world_free();
	}
}

static u32 rewrite;

/* Called when the read's data is on its way to side 0. */
static void on_data(u32 to, const void *frame, u32 length)
{
	const struct vnet_frame *f = frame;

	if (to != 0 || f->kind != VNET_FRAME_ACK || !f->payload_len)
		return;
	if (rewrite)
		set_length(connected[0], connected[0]->sq_prod - 1, 100);
	else
		set_opcode(connected[0], connected[0]->sq_prod - 1, VNET_WR_RDMA_WRITE);
}

/* The program rewrites a read before its data arrives: the data is not written anywhere. */
static void test_read_data(void)
{
	for (rewrite = 0; rewrite < 2; rewrite++) {
		struct vnet_send_wqe w = request(VNET_WR_RDMA_READ, 9);

		begin_connected(41, NIC_QPT_RC);
		memset(side[1].data, 0xee, 1000);
		memset(side[0].data, 0, 1000);
		aim(&w, &side[1], 0);
		on_frame = on_data;
		end_send(connected[0], &w, 0, 1000);
		CHECK(end_wait(connected[0]).status == VNET_WC_LOC_PROT_ERR);
		on_frame = NULL;
		CHECK(!side[0].data[0] && !side[0].data[999]);
		world_free();
	}
}

/* The program shortens a request of which more bytes were already transmitted. */
static void test_half_sent(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 9);

	aim(&w, &side[1], 0);
	side[0].nic.hdr->settings.adaptive = 1;
	row_of(0)->credit = 2 << 8;
	end_send(connected[0], &w, 0, 1000000);
	CHECK(endpoint_of(connected[0])->cut);
	/* All transmitted packets arrive. */
	set_length(connected[0], connected[0]->sq_prod - 1, 100);
	CHECK(end_wait(connected[0]).status == VNET_WC_LOC_QP_OP_ERR);
}

/* ---------------------------------------------------------- invalid requests */

/* A producer index that is further ahead than the ring has slots. */
static void test_index(void)
{
	connected[0]->sq.hdr->prod += 100000;
	nic_send_doorbell(&side[0].nic, connected[0]->qpn);
	CHECK(end_qp(connected[0])->state == NIC_QPS_ERR);
	CHECK(!row_of(0)->busy);
}

/* An operation that the transport type does not support is not transmitted. */
static void test_transport(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_READ, 5);

	world_make(44, &config);
	connect_two(NIC_QPT_UC, false);
	stream_sends(connected[0], connected[1], 4, 1, false);
	aim(&w, &side[1], 0);
	end_qp(connected[0])->attr.max_rd_atomic = 8;
	end_send(connected[0], &w, 0, 64);
	CHECK(!row_of(0)->busy);
	CHECK(end_wait(connected[0]).status == VNET_WC_LOC_QP_OP_ERR);
	world_free();
}

/* One SGE more than the queue's limit, in a slot that has room for it. */
static void test_sges(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);
	struct vnet_sge *sge;

	begin_connected(41, NIC_QPT_RC);
	end_recv(connected[1], 1, 0, 64);
	sge = (struct vnet_sge *)(connected[1]->rq.slots +
				  ((u64)((connected[1]->rq_prod - 1) & connected[1]->rq.mask)
				   << connected[1]->rq.shift) +
				  VNET_RECV_HDR_SIZE);
	sge[1] = sge[2] = sge[0];
	((struct vnet_recv_wqe *)sge - 1)->num_sge = 3;
	end_send(connected[0], &w, 0, 64);
	CHECK(end_wait(connected[1]).status == VNET_WC_LOC_QP_OP_ERR);
	world_free();

	begin_connected(41, NIC_QPT_RC);
	end_recv(connected[1], 1, 0, 4096);
	connected[0]->sq.hdr->prod++;
	sge = (struct vnet_sge *)((u8 *)slot_of(connected[0], connected[0]->sq_prod) +
				  VNET_WQE_HDR_SIZE);
	w.num_sge = 3;
	memcpy(slot_of(connected[0], connected[0]->sq_prod), &w, sizeof(w));
	for (u32 i = 0; i < 3; i++)
		sge[i] = (struct vnet_sge){ .addr = (u64)(unsigned long)side[0].data,
					    .length = 8,
					    .lkey = side[0].key };
	nic_send_doorbell(&side[0].nic, connected[0]->qpn);
	CHECK(end_wait(connected[0]).status == VNET_WC_LOC_QP_OP_ERR);
	world_free();
}

/* LOCAL_INV of an unbound memory window of another protection domain fails. */
static void test_others_window(void)
{
	struct vnet_send_wqe w = request(VNET_WR_LOCAL_INV, 3);
	const u32 key = 8u << NIC_KEY_TAG_BITS;

	CHECK(nic_mr_create(&side[0].nic, &(struct nic_mr_params){ .key = key,
								   .kind = NIC_MR_WINDOW_2,
								   .pdn = 2 }) == NIC_OK);
	w.imm = key;
	end_send(connected[0], &w, 0, 0);
	CHECK(end_wait(connected[0]).status == VNET_WC_MW_BIND_ERR);
}

/* Key operations are executed by the queue pair's own process or the agent only. */
static void test_own_keys(void)
{
	struct nic *nic = &side[0].nic;
	struct vnet_send_wqe w = request(VNET_WR_LOCAL_INV, 3);
	const u32 key = 8u << NIC_KEY_TAG_BITS;
	struct vnet_cqe cqe;

	CHECK(nic_mr_create(nic, &(struct nic_mr_params){ .key = key,
							  .kind = NIC_MR_WINDOW_2,
							  .pdn = 1 }) == NIC_OK);
	w.imm = key;
	memcpy(slot_of(connected[0], connected[0]->sq_prod), &w, sizeof(w));
	connected[0]->sq.hdr->prod++;
	end_qp(connected[0])->space = 5;
	nic->space = 6;
	(void)nic_qp_run(nic, end_qp(connected[0]), 16);
	CHECK(!end_poll(connected[0], &cqe));
	nic->space = NIC_SPACE_POINTER;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
}

/* --------------------------------------------- limits of outstanding packets */

/* The requester limits outstanding atomics to NIC_RESULTS, and packets to NIC_WINDOW. */
static void test_under_way(void)
{
	struct vnet_send_wqe w;

	begin_connected(41, NIC_QPT_RC);
	faults.lose = 1000;
	for (u32 i = 0; i < 2 * NIC_RESULTS; i++) {
		w = request(VNET_WR_ATOMIC_FETCH_ADD, i);
		aim(&w, &side[1], 0);
		w.rdma.compare_add = 1;
		end_send(connected[0], &w, HALF, 8);
	}
	CHECK(endpoint_of(connected[0])->next - endpoint_of(connected[0])->una == NIC_RESULTS);
	world_free();
	begin_connected(41, NIC_QPT_RC);
	side[0].nic.hdr->settings.adaptive = 0;
	side[0].nic.hdr->settings.channels = VNET_WIRE_CHANNELS;
	row_of(0)->window = ~0u;
	faults.lose = 1000;
	for (u32 i = 0; i < 2 * NIC_WINDOW; i++) {
		w = request(VNET_WR_SEND, i);
		end_send(connected[0], &w, 0, 64);
	}
	CHECK(endpoint_of(connected[0])->next - endpoint_of(connected[0])->una <= NIC_WINDOW);
	world_free();
}

static u32 first_psn;

/* Loses every transmission of side 0's packet `first_psn`. */
static void lose_first(u32 to, const void *frame, u32 length)
{
	const struct vnet_frame *f = frame;
	const struct vnet_frame_op *o;

	o = (const struct vnet_frame_op *)((const struct vnet_frame_ack *)(f + 1) + f->nacks);
	faults.lose =
		to == 1 && f->kind == VNET_FRAME_DATA && nic_le32(o->psn) == first_psn ? 1000 : 0;
}

/* Acknowledged packets behind a lost one do not extend the window. */
static void test_wide(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 3);
	const struct nic_endpoint *ep;

	ep = endpoint_of(connected[0]);
	side[0].nic.hdr->settings.adaptive = 0;
	row_of(0)->payload = 1024;
	row_of(0)->window = ~0u;
	first_psn = ep->next;
	aim(&w, &side[1], 0);
	on_frame = lose_first;
	end_send(connected[0], &w, 0, 300 * 1024);
	for (u32 i = 0; i < 1000; i++) {
		pass(20000);
		CHECK(ep->una == first_psn && ep->next - ep->una <= NIC_WINDOW);
	}
	CHECK(ep->next - ep->una == NIC_WINDOW);
	on_frame = NULL;
	faults.lose = 0;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
}

/* The outstanding bytes do not exceed the window that the peer announced. */
static void test_bytes(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);

	side[0].nic.hdr->settings.adaptive = 0;
	row_of(0)->window = 4096;
	faults.lose = 1000;
	for (u32 i = 0; i < 10; i++)
		end_send(connected[0], &w, 0, 1500);
	CHECK(row_of(0)->unacked == 2 && row_of(0)->unacked_bytes == 3000);
}

int main(int argc, char **argv)
{
	static const struct vn_test tests[] = {
		{ "again", test_again, OWN_WORLD },
		{ "read-data", test_read_data, OWN_WORLD },
		{ "half-sent", test_half_sent, NIC_QPT_RC },
		{ "index", test_index, NIC_QPT_RC },
		{ "transport", test_transport, OWN_WORLD },
		{ "sges", test_sges, OWN_WORLD },
		{ "others-window", test_others_window, NIC_QPT_RC },
		{ "own-keys", test_own_keys, NIC_QPT_RC },
		{ "under-way", test_under_way, OWN_WORLD },
		{ "wide", test_wide, NIC_QPT_RC },
		{ "bytes", test_bytes, NIC_QPT_RC },
	};

	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
