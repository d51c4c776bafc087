// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Return to sender between two NICs: the status of datagrams that are refused or not answered.
 * Completions are in order, also on links that lose, duplicate and reorder frames.
 */
#include "vn/vn.h"
#include "world.h"

#define QKEY 0x1234
#define SLOT 256u
#define LENGTH 100u
#define STREAM 400u

static struct end *a, *b;

static void make_world(u32 seed)
{
	world_make(seed, &world_usual);
	ends_return = true;
	a = end_make(&side[0], NIC_QPT_UD, false);
	ends_return = false;
	b = end_make(&side[1], NIC_QPT_UD, false);
	end_to_rts(a);
	end_to_rts(b);
}

static struct vnet_send_wqe datagram(u64 wr_id)
{
	struct vnet_send_wqe w = { .wr_id = wr_id,
				   .opcode = VNET_WR_SEND_IMM,
				   .flags = VNET_WR_SIGNALED,
				   .imm = (u32)wr_id };

	memcpy(w.ud.dgid, side[1].nic.hdr->gid[0], 16);
	w.ud.remote_qpn = b->qpn;
	w.ud.remote_qkey = QKEY;
	return w;
}

static void ends_with(u64 wr_id, u32 status)
{
	struct vnet_cqe cqe = end_wait(a);

	if (cqe.status != status)
		fprintf(stderr, "request %llu: %u, not %u\n", (unsigned long long)wr_id, cqe.status,
			status);
	CHECK(cqe.wr_id == wr_id && cqe.status == status && cqe.opcode == VNET_WC_SEND);
	CHECK(end_qp(a)->state == NIC_QPS_RTS);
}

static void nothing_came(void)
{
	struct vnet_cqe cqe;

	CHECK(!end_poll(b, &cqe));
}

static void comes_back(const struct vnet_send_wqe *w, u32 status)
{
	u64 returned = side[0].nic.hdr->counters.returned;

	memset(a->side->data, 0x5a, LENGTH);
	end_send(a, w, 0, LENGTH);
	ends_with(w->wr_id, status);
	CHECK(a->side->data[0] == 0x5a && a->side->data[LENGTH - 1] == 0x5a);
	CHECK(side[0].nic.hdr->counters.returned == returned + 1);
	nothing_came();
}

static void arrives(u64 wr_id)
{
	struct vnet_send_wqe w = datagram(wr_id);
	struct vnet_cqe cqe;

	end_recv(b, 1000 + wr_id, HALF, SLOT);
	end_send(a, &w, 0, LENGTH);
	ends_with(wr_id, VNET_WC_SUCCESS);
	/* The datagram was delivered before its sender completes. */
	CHECK(end_poll(b, &cqe));
	CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == 1000 + wr_id && cqe.imm == wr_id);
}

/* -------------------------------------------------------------------- reasons */

static void test_reasons(void)
{
	struct vnet_send_wqe w;

	make_world(1);
	w = datagram(1);
	w.ud.remote_qpn = 0x123456;
	comes_back(&w, VNET_WC_REM_OP_ERR);
	w = datagram(2);
	w.ud.remote_qkey++;
	comes_back(&w, VNET_WC_REM_ACCESS_ERR);
	w = datagram(3);
	comes_back(&w, VNET_WC_RNR_RETRY_EXC_ERR);
	arrives(4);
	/* The far NIC waits a limited time for a receive for this one. */
	w = datagram(5);
	comes_back(&w, VNET_WC_RNR_RETRY_EXC_ERR);
	end_recv(b, 6, HALF, LENGTH + VNET_GRH_SIZE - 1);
	w = datagram(6);
	comes_back(&w, VNET_WC_REM_INV_REQ_ERR);
	end_reset(b);
	comes_back(&w, VNET_WC_REM_OP_ERR);
	end_state(b, NIC_QPS_INIT, NULL);
	comes_back(&w, VNET_WC_REM_OP_ERR);
	CHECK(nic_qp_destroy(&side[1].nic, b->qpn) == NIC_OK);
	comes_back(&w, VNET_WC_REM_OP_ERR);
	world_free();
}

static u32 *qkey_of(const struct end *e)
{
	struct nic *nic = &e->side->nic;

	return &nic->qp[nic_qpn_index(nic, e->qpn)].attr.qkey;
}

/* A request with a controlled Q_Key sends the queue pair's own Q_Key. */
static void test_own_key(void)
{
	struct vnet_send_wqe w;

	make_world(5);
	w = datagram(1);
	*qkey_of(b) = w.ud.remote_qkey = 0x80010000;
	comes_back(&w, VNET_WC_REM_ACCESS_ERR);
	*qkey_of(a) = 0x80010000;
	end_recv(b, 1001, HALF, SLOT);
	end_send(a, &w, 0, LENGTH);
	ends_with(1, VNET_WC_SUCCESS);
	world_free();
}

/* The receive itself is invalid: it fails, and the message is lost. */
static void test_bad_receive(void)
{
	struct vnet_send_wqe w;

	make_world(2);
	b->side->key += 2;
	end_recv(b, 7, HALF, SLOT);
	w = datagram(1);
	end_send(a, &w, 0, LENGTH);
	ends_with(1, VNET_WC_REM_OP_ERR);
	CHECK(end_wait(b).status == VNET_WC_LOC_PROT_ERR);
	b->side->key -= 2;
	world_free();
}

/* A queue pair without return to sender completes with success as usual. */
static void test_others(void)
{
	struct vnet_send_wqe w;

	make_world(3);
	a = end_make(&side[0], NIC_QPT_UD, false);
	end_to_rts(a);
	w = datagram(1);
	w.ud.remote_qkey++;
	end_send(a, &w, 0, LENGTH);
	ends_with(1, VNET_WC_SUCCESS);
	CHECK(!side[0].nic.hdr->counters.returned);
	world_free();
}

/* --------------------------------------------------------------- silent peers */

/* A request does not complete before its fate is known; silence is never success. */
static void test_silence(void)
{
	struct vnet_send_wqe w;
	struct vnet_cqe cqe;

	make_world(4);
	arrives(1);
	faults.lose = 1000;
	end_recv(b, 8, HALF, SLOT);
	w = datagram(2);
	end_send(a, &w, 0, LENGTH);
	pass(500000000);
	CHECK(!end_poll(a, &cqe));
	faults.lose = 0;
	ends_with(2, VNET_WC_SUCCESS);
	CHECK(end_poll(b, &cqe) && cqe.wr_id == 8);

	faults.lose = 1000;
	w = datagram(3);
	comes_back(&w, VNET_WC_RETRY_EXC_ERR);
	/* A NIC that never completes the handshake, and an invalid address. */
	faults.lose = 0;
	arrives(4);
	w = datagram(5);
	w.ud.dgid[0] = 0x12;
	comes_back(&w, VNET_WC_RETRY_EXC_ERR);
	world_free();

	make_world(5);
	faults.lose = 1000;
	w = datagram(6);
	comes_back(&w, VNET_WC_RETRY_EXC_ERR);
	faults.lose = 0;
	arrives(7);
	world_free();
}

/*
 * A queue of datagrams to a silent NIC: only the first one waits for the full `unreachable`
 * time. Otherwise datagrams to other NICs would be delayed for minutes.
 */
static void test_lonely(void)
{
	struct vnet_send_wqe w;
	u64 begin;

	make_world(20);
	faults.lose = 1000;
	begin = now_ns;
	for (u32 i = 0; i < 12; i++) {
		w = datagram(i);
		end_send(a, &w, 0, LENGTH);
	}
	for (u32 i = 0; i < 12; i++)
		ends_with(i, VNET_WC_RETRY_EXC_ERR);
	/* 3 s, then half of that, and so on; not 12 times 3 s. */
	CHECK(now_ns - begin > 3000000000 && now_ns - begin < 9000000000);
	/* The row recovers when the peer answers again. */
	faults.lose = 0;
	arrives(100);
	CHECK(!side[0].nic.row[0].giveups);
	world_free();
}

/* The far NIC restarts: a datagram to its earlier incarnation is lost. */
static void test_new_life(void)
{
	struct vnet_send_wqe w;
	struct vnet_cqe cqe;

	make_world(6);
	arrives(1);
	end_recv(b, 9, HALF, SLOT);
	faults.lose = 1000;
	w = datagram(2);
	end_send(a, &w, 0, LENGTH);
	nic_link_renew(&side[1].nic, nic_load(&side[1].nic.hdr->incarnation) + 1000);
	faults.lose = 0;
	ends_with(2, VNET_WC_RETRY_EXC_ERR);
	nothing_came();
	w = datagram(3);
	end_send(a, &w, 0, LENGTH);
	ends_with(3, VNET_WC_SUCCESS);
	CHECK(end_poll(b, &cqe) && cqe.wr_id == 9);
	world_free();
}

/*
 * The process that delivered the datagram died: the datagram counts as accepted, so it is not
 * delivered twice, and the sender is not told that it arrived.
 */
static void test_death_within(void)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	const struct vnet_frame_op *op =
		(const struct vnet_frame_op *)(bytes + sizeof(struct vnet_frame));
	struct vnet_send_wqe w;
	struct nic_rx *rx;

	make_world(7);
	arrives(1);
	end_recv(b, 9, HALF, SLOT);
	faults.lose = 1000;
	w = datagram(2);
	end_send(a, &w, 0, LENGTH);
	CHECK(last_frame(1, bytes) > sizeof(struct vnet_frame) + sizeof(*op));
	rx = &side[1].nic.row[0].rx[op->channel];
	rx->seq = nic_le32(op->seq);
	rx->answer_seq = rx->seq - 1;
	faults.lose = 0;
	ends_with(2, VNET_WC_RETRY_EXC_ERR);
	nothing_came();
	world_free();
}

/* ---------------------------------------------------------------------- order */

/* Every third to an unknown QPN, every fifth with a wrong Q_Key, some to this NIC itself. */
static u32 post_one(u32 i, const struct end *near)
{
	struct vnet_send_wqe w = datagram(i);
	u32 status = VNET_WC_SUCCESS;

	if (i % 3 == 1) {
		w.ud.remote_qpn = 0x123456;
		status = VNET_WC_REM_OP_ERR;
	} else if (i % 5 == 2) {
		w.ud.remote_qkey++;
		status = VNET_WC_REM_ACCESS_ERR;
	} else if (i % 7 == 3) {
		memcpy(w.ud.dgid, side[0].nic.hdr->gid[0], 16);
		w.ud.remote_qpn = near->qpn;
		status = VNET_WC_RNR_RETRY_EXC_ERR;
	}
	end_send(a, &w, 0, LENGTH);
	return status;
}

/* Completions are in order, each with its own status, and each status is true. */
static void test_stream(u32 lose)
{
	static u32 status[STREAM], came[STREAM];
	u32 told = 0, posted = 0;
	struct vnet_cqe cqe;
	struct end *near;

	make_world(8 + lose);
	near = end_make(&side[0], NIC_QPT_UD, false);
	end_to_rts(near);
	memset(came, 0, sizeof(came));
	faults = (struct link_faults){
		.lose = lose, .twice = lose, .reorder = 3 * lose, .spoil = lose / 2
	};
	for (u32 i = 0; i < 200; i++)
		end_recv(b, i, HALF + i * SLOT, SLOT);
	while (told < STREAM) {
		while (posted < STREAM && posted - told < 200) {
			status[posted] = post_one(posted, near);
			posted++;
		}
		cqe = end_wait(a);
		CHECK(cqe.wr_id == told && cqe.status == status[told]);
		while (end_poll(b, &cqe)) {
			CHECK(cqe.status == VNET_WC_SUCCESS && cqe.imm < STREAM);
			came[cqe.imm]++;
			end_recv(b, cqe.wr_id, HALF + (u32)cqe.wr_id * SLOT, SLOT);
		}
		CHECK(came[told] == (status[told] == VNET_WC_SUCCESS));
		told++;
	}
	faults = (struct link_faults){ 0 };
	pass(1000000000);
	nothing_came();
	for (u32 i = 0; i < STREAM; i++)
		CHECK(came[i] == (status[i] == VNET_WC_SUCCESS));
	world_free();
}

int main(void)
{
	test_reasons();
	test_own_key();
	test_bad_receive();
	test_others();
	test_silence();
	test_lonely();
	test_new_life();
	test_death_within();
	test_stream(0);
	test_stream(50);
	return 0;
}
