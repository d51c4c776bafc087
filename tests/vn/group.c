// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast datagrams between two NICs: each attached queue pair receives each datagram once.
 * This includes the sender's NIC, and links that lose, duplicate and reorder frames. A receiver
 * that refuses a datagram or does not answer delays others for a limited time only.
 */
#include "objects/objects.h"
#include "vn/vn.h"
#include "receivers.h"

#define QKEY 0x1234
#define SLOT 256u
#define LENGTH 100u
#define STREAM 400u

static const u8 group[16] = { 0xff, 0x12, [15] = 7 }, other[16] = { 0xff, 0x12, [15] = 8 };

static void attach(struct end *e, const u8 *gid)
{
	CHECK(nic_mcast_attach(&e->side->nic, e->qpn, gid) == NIC_OK);
}

/* The far NIC has two GIDs, so the sender has two rows for it. */
static void make_world(u32 seed)
{
	receivers_make(seed, NIC_QPT_UD);
	memcpy(side[1].nic.hdr->gid[1], side[1].nic.hdr->gid[0], 16);
	side[1].nic.hdr->gid[1][14] = 9;
}

static void meet(void)
{
	nic_peer_call(&side[0].nic, side[1].nic.hdr->gid[0]);
	nic_peer_call(&side[0].nic, side[1].nic.hdr->gid[1]);
	pass(20 * MS);
	CHECK(side[0].nic.hdr->row_high == 2 && side[0].nic.row[0].state == NIC_ROW_UP &&
	      side[0].nic.row[1].state == NIC_ROW_UP);
}

static struct vnet_send_wqe datagram(u64 wr_id)
{
	struct vnet_send_wqe w = { .wr_id = wr_id,
				   .opcode = VNET_WR_SEND_IMM,
				   .flags = VNET_WR_SIGNALED,
				   .imm = (u32)wr_id };

	memcpy(w.ud.dgid, group, 16);
	w.ud.remote_qpn = 0xffffff;
	w.ud.remote_qkey = QKEY;
	return w;
}

static void send_one(u64 wr_id)
{
	struct vnet_send_wqe w = datagram(wr_id);

	memset(sender->side->data, (int)wr_id, LENGTH);
	end_send(sender, &w, 0, LENGTH);
	(void)end_expect(sender, wr_id, VNET_WC_SUCCESS);
}

static void has(struct end *e, u64 wr_id, u32 slot)
{
	const u8 *at = e->side->data + HALF + slot * SLOT;
	struct vnet_cqe cqe = end_wait(e);

	CHECK(cqe.status == VNET_WC_SUCCESS && cqe.imm == wr_id && cqe.src_qp == sender->qpn);
	CHECK(cqe.qp_num == e->qpn && cqe.byte_len == LENGTH + VNET_GRH_SIZE);
	CHECK((cqe.flags & (VNET_WC_GRH | VNET_WC_GRH_IPV4)) == VNET_WC_GRH);
	CHECK(!memcmp(at + 8, side[0].nic.hdr->gid[0], 16) && !memcmp(at + 24, group, 16));
	CHECK(at[VNET_GRH_SIZE] == (u8)wr_id && at[VNET_GRH_SIZE + LENGTH - 1] == (u8)wr_id);
}

/* -------------------------------------------------------------------- pages */

/*
 * A datagram whose receive buffer is not resident is dropped. If the page cannot be brought in,
 * the receive completes with an error.
 */
static void test_pages(void)
{
	struct vnet_cqe cqe;

	pages_miss = 1000000;
	make_world(2);
	meet();
	attach(far[0], group);
	end_recv(far[0], 1, HALF, SLOT);
	pages_gone = 1;
	send_one(1);
	pass(10 * MS);
	CHECK(!end_poll(far[0], &cqe) && pages_missed);
	pages_lost_at = now_ns++;
	send_one(2);
	CHECK(end_wait(far[0]).status == VNET_WC_LOC_PROT_ERR);
	pages_gone = 2;
	pages_lost_at = 0;
	pages_miss = 0;
	world_free();
}

/* ---------------------------------------------------------------- receivers */

/* Each receiver on both NICs gets the datagram once, though two rows lead to the far NIC. */
static void test_all(void)
{
	struct vnet_send_wqe w = datagram(8);

	attach(near, group);
	attach(sender, group);
	for (u32 i = 0; i < 2; i++)
		attach(far[i], group);
	attach(far[2], other);
	for (u32 i = 0; i < 3; i++) {
		end_recv(far[i], i, HALF + i * SLOT, SLOT);
		end_recv(far[i], i, HALF + i * SLOT, SLOT);
	}
	end_recv(near, 9, HALF, SLOT);
	end_recv(near, 9, HALF, SLOT);
	send_one(5);
	has(near, 5, 0);
	for (u32 i = 0; i < 2; i++)
		has(far[i], 5, i);
	end_has_nothing(near);
	for (u32 i = 0; i < 3; i++)
		end_has_nothing(far[i]);
	send_one(6);
	has(near, 6, 0);
	for (u32 i = 0; i < 2; i++)
		has(far[i], 6, i);
	/* No queue pair is attached any more. */
	for (u32 i = 0; i < 2; i++)
		CHECK(nic_mcast_detach(&side[1].nic, far[i]->qpn, group) == NIC_OK);
	CHECK(side[1].nic.hdr->counters.drop_no_qp == 0);
	send_one(7);
	CHECK(side[1].nic.hdr->counters.drop_no_qp == 1);
	/* A datagram to a group GID with the number of a member is not delivered. */
	w.ud.remote_qpn = near->qpn;
	end_recv(near, 9, HALF, SLOT);
	end_send(sender, &w, 0, LENGTH);
	(void)end_wait(sender);
	end_has_nothing(near);
}

/* No receiver on the sender's NIC; and a QPN other than the group's. */
static void test_far_only(void)
{
	struct vnet_send_wqe w = datagram(3);
	struct vnet_cqe cqe;

	make_world(1);
	ends_return = true;
	sender = receiver_make(&side[0], NIC_QPT_UD);
	ends_return = false;
	meet();
	attach(far[0], group);
	end_recv(far[0], 0, HALF, SLOT);
	send_one(5);
	has(far[0], 5, 0);
	/*
	 * It is dropped for lack of a receive, and not returned to a sender that would accept
	 * it.
	 */
	send_one(6);
	CHECK(side[1].nic.hdr->counters.drop_no_receive == 1);
	end_recv(far[0], 0, HALF, SLOT);
	w.ud.remote_qpn = far[0]->qpn;
	end_send(sender, &w, 0, LENGTH);
	cqe = end_wait(sender);
	CHECK(cqe.status == VNET_WC_REM_OP_ERR);
	end_has_nothing(far[0]);
	world_free();
}

/* The source GID was removed: datagrams to a group, and to a queue pair, fail and take no row. */
static void test_no_source(void)
{
	struct vnet_send_wqe w = datagram(3);

	attach(far[0], group);
	end_recv(far[0], 0, HALF, SLOT);
	w.ud.sgid_index = 3;
	for (u32 i = 0; i < 2; i++) {
		sender = receiver_make(&side[0], NIC_QPT_UD);
		end_send(sender, &w, 0, LENGTH);
		CHECK(end_wait(sender).status == VNET_WC_LOC_QP_OP_ERR);
		memcpy(w.ud.dgid, side[1].nic.hdr->gid[0], 16);
		w.ud.remote_qpn = far[0]->qpn;
	}
	end_has_nothing(far[0]);
	CHECK(side[0].nic.hdr->row_high == 2);
}

/* A receiver that refuses the datagram is skipped, and the next one gets it. */
static void test_refused(void)
{
	attach(far[0], group);
	attach(far[1], group);
	attach(far[2], group);
	end_recv(far[1], 1, HALF, LENGTH + VNET_GRH_SIZE - 1);
	end_recv(far[2], 2, HALF + 2 * SLOT, SLOT);
	end_qp(far[0])->attr.qkey++;
	send_one(5);
	has(far[2], 5, 2);
	end_has_nothing(far[0]);
	end_has_nothing(far[1]);
	CHECK(side[1].nic.hdr->counters.drop_qkey == 1 &&
	      side[1].nic.hdr->counters.drop_length == 1);
	end_reset(far[0]);
	end_recv(far[2], 2, HALF + 2 * SLOT, SLOT);
	send_one(6);
	has(far[2], 6, 2);
	CHECK(side[1].nic.hdr->counters.drop_no_qp == 1);
}

/* A locked receiver delays the datagram, up to a limit; nobody receives it twice. */
static void test_busy(void)
{
	struct nic_qp *qp;
	struct vnet_send_wqe w;

	for (u32 i = 0; i < 3; i++) {
		attach(far[i], group);
		end_recv(far[i], i, HALF + i * SLOT, SLOT);
		end_recv(far[i], i, HALF + i * SLOT, SLOT);
		end_recv(far[i], i, HALF + i * SLOT, SLOT);
	}
	qp = end_qp(far[1]);
	for (u32 i = 0; i < 2; i++) {
		if (i)
			qp->rq.lock = 99;
		else
			qp->sq_lock = 99;
		w = datagram(5 + i);
		memset(side[0].data, (int)(5 + i), LENGTH);
		end_send(sender, &w, 0, LENGTH);
		pass(20 * MS);
		has(far[0], 5 + i, 0);
		end_has_nothing(far[1]);
		end_has_nothing(far[2]);
		qp->rq.lock = 0;
		qp->sq_lock = 0;
		has(far[1], 5 + i, 1);
		has(far[2], 5 + i, 2);
		CHECK(end_wait(sender).wr_id == 5 + i);
	}
	qp->sq_lock = 99;
	send_one(7);
	qp->sq_lock = 0;
	has(far[0], 7, 0);
	has(far[2], 7, 2);
	end_has_nothing(far[1]);
}

/* -------------------------------------------------------------- silent peers */

/*
 * No row gets an answer: outstanding requests complete, and later ones complete at once. The copy
 * that the silent NIC does not get is counted once, however many rows lead to it.
 */
static void silent(u64 longest, u32 ways)
{
	u64 since = now_ns, dropped;

	faults.lose = 1000;
	send_one(5);
	CHECK(now_ns - since < longest);
	for (u64 i = 0; i < NIC_MAX_GIVEUPS * ways; i++)
		send_one(6);
	since = now_ns;
	dropped = side[0].nic.hdr->counters.unreachable;
	send_one(7);
	CHECK(now_ns - since < MS);
	CHECK(side[0].nic.hdr->counters.unreachable == dropped + 1);
	end_has_nothing(far[0]);
	faults.lose = 0;
	/* The peer is probed, and then receives again. */
	for (u64 i = 0; i < 20; i++) {
		send_one(8);
		pass(100 * MS);
	}
	end_recv(far[0], 0, HALF, SLOT);
	send_one(9);
	has(far[0], 9, 0);
	end_has_nothing(far[0]);
}

static void test_silent(void)
{
	make_world(1);
	attach(far[0], group);
	nic_peer_call(&side[0].nic, side[1].nic.hdr->gid[0]);
	silent(400 * MS, 1);
	world_free();

	make_world(2);
	meet();
	/* The fate of a copy does not change the request's status, even with return to sender. */
	ends_return = true;
	sender = receiver_make(&side[0], NIC_QPT_UD);
	ends_return = false;
	attach(far[0], group);
	silent(1500 * MS, 2);
	world_free();
}

/* A silent NIC's missing copy is counted once, though the copy to the next NIC is tried often. */
static void test_counted_once(void)
{
	struct vnet_send_wqe w = datagram(5);
	struct nic_row *row;

	row = side[0].nic.row;
	row[0].address.bytes[0] = 3;
	row[0].incarnation++;
	row[0].giveups = NIC_MAX_GIVEUPS;
	row[1].lock = 99;
	end_send(sender, &w, 0, LENGTH);
	pass(10 * MS);
	row[1].lock = 0;
	CHECK(end_wait(sender).status == VNET_WC_SUCCESS);
	CHECK(side[0].nic.hdr->counters.unreachable == 1);
}

/* ------------------------------------------------------------------ bad links */

static void test_stream(u32 seed, bool loopback)
{
	static u8 got[4][STREAM];
	struct end *all[4] = { far[0], far[1], far[2], near };
	u32 posted = 0, done = 0;
	struct vnet_cqe cqe;

	memset(got, 0, sizeof(got));
	make_world(seed);
	meet();
	all[0] = far[0], all[1] = far[1], all[2] = far[2], all[3] = near;
	for (u32 i = 0; i < (loopback ? 4 : 3); i++)
		attach(all[i], group);
	faults = (struct link_faults){ .lose = 50, .twice = 100, .reorder = 200, .spoil = 20 };
	while (done < STREAM) {
		while (posted < STREAM && posted - done < 100) {
			struct vnet_send_wqe w = datagram(posted);

			for (u32 i = 0; i < 4; i++)
				end_recv(all[i], posted, HALF + i * SLOT, SLOT);
			end_send(sender, &w, 0, LENGTH);
			posted++;
		}
		(void)end_expect(sender, done, VNET_WC_SUCCESS);
		done++;
		for (u32 i = 0; i < 4; i++) {
			while (end_poll(all[i], &cqe)) {
				CHECK(cqe.status == VNET_WC_SUCCESS && cqe.imm < STREAM);
				CHECK(!got[i][cqe.imm]++);
			}
		}
	}
	pass(100 * MS);
	for (u32 i = 0; i < 4; i++) {
		CHECK(!end_poll(all[i], &cqe));
		for (u32 k = 0; k < STREAM; k++)
			CHECK(got[i][k] == (i < 3 || loopback));
	}
	world_free();
}

/* --------------------------------------------------------------------- death */

/*
 * The sender's executor dies before it has noted the copy that it took a channel for: the copy
 * is sent once.
 */
static void test_death(void)
{
	struct nic *here = &side[0].nic;
	struct nic_row *row;
	struct nic_endpoint *ep;
	struct nic_packet packet = { .length = LENGTH + VNET_GRH_SIZE,
				     .opcode = VNET_WR_SEND_IMM,
				     .unordered = true,
				     .group = true };
	struct nic_qp *qp;

	attach(far[0], group);
	end_recv(far[0], 0, HALF, SLOT);
	end_recv(far[0], 0, HALF, SLOT);
	end_recv(far[0], 0, HALF, SLOT);
	send_one(5);
	has(far[0], 5, 0);
	row = here->row[0].busy ? &here->row[1] : &here->row[0];
	qp = end_qp(sender);
	ep = nic_endpoint_at(here, qp);
	CHECK(ep && ep->qpn == sender->qpn);
	packet.qpn = sender->qpn;
	packet.sq_index = ep->sq_next;
	packet.psn = ep->next;
	CHECK(nic_tx_take(here, row, &packet, now_ns));
	qp->sq_lock = 99;
	row->lock = 99;
	nic_recover(here, 99, 99);
	CHECK(!qp->sq_lock && !row->lock && !row->busy);
	send_one(6);
	has(far[0], 6, 0);
	/* The copy was noted but not made: nobody receives it, and the request completes. */
	ep->last[ep->sq_next % NIC_WINDOW] = ep->next;
	ep->cut = nic_group_mark(ep->sq_next, 99);
	send_one(7);
	pass(500 * MS);
	end_has_nothing(far[0]);
}

/* One of two rows to a NIC is dead: copies use the other one until the first one recovers. */
static void test_dead_way(void)
{
	struct nic_row *row;

	attach(far[0], group);
	end_recv(far[0], 0, HALF, SLOT);
	end_recv(far[0], 0, HALF, SLOT);
	row = &side[0].nic.row[0];
	row->giveups = NIC_MAX_GIVEUPS;
	send_one(5);
	has(far[0], 5, 0);
	pass(500 * MS);
	CHECK(!row->giveups);
	send_one(6);
	has(far[0], 6, 0);
	end_has_nothing(far[0]);
}

static void in_world(u32 seed, void (*test)(void))
{
	make_world(seed);
	meet();
	test();
	world_free();
}

int main(void)
{
	in_world(1, test_all);
	test_pages();
	test_far_only();
	in_world(1, test_no_source);
	in_world(1, test_refused);
	in_world(1, test_busy);
	test_silent();
	in_world(1, test_counted_once);
	for (u32 seed = 1; seed <= 10; seed++)
		test_stream(seed, seed & 1);
	in_world(1, test_death);
	in_world(1, test_dead_way);
	return 0;
}
