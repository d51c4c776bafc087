// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * InfiniBand ports: queue pairs and datagrams that are addressed by LID only. On one NIC and
 * between two NICs, and with unknown LIDs.
 */
#include "address/address.h"
#include "vn/vn.h"
#include "world.h"

#define LID(i) ((u16)((i) + 1))
#define NOBODY 0x1234
#define GROUP 0xc123
#define QKEY 0x1234

static void make_world(void)
{
	world_make(1, &world_usual);
	for (u32 i = 0; i < 2; i++)
		side[i].nic.hdr->lid = LID(i);
}

/* -------------------------------------------------- mapping of LIDs to GIDs */

static void test_map(void)
{
	static const u16 unicast[] = { 1, 2, 0xbfff }, others[] = { 0, 0xc000, 0xfffe, 0xffff };
	u8 gid[16], real[16] = { 0xfe, 0x80, [8] = 0x02, [15] = 7 };

	for (u32 i = 0; i < 3; i++) {
		nic_lid_gid(unicast[i], gid);
		CHECK(nic_gid_lid(gid) == unicast[i] && nic_lid_is_unicast(unicast[i]));
		CHECK(!nic_is_group_gid(gid));
	}
	for (u32 i = 0; i < 4; i++) {
		nic_lid_gid(others[i], gid);
		CHECK(!nic_gid_lid(gid) && !nic_lid_is_unicast(others[i]));
	}
	CHECK(!nic_gid_lid(real));

	make_world();
	nic_lid_gid(LID(0), gid);
	CHECK(nic_is_own_gid(&side[0].nic, gid) && !nic_is_own_gid(&side[1].nic, gid));
	side[0].nic.hdr->lid = 0;
	CHECK(!nic_is_own_gid(&side[0].nic, gid));
	world_free();
}

/* --------------------------------------------------------------- connections */

static void send_one(struct end *a, struct end *b)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 5);
	struct vnet_cqe cqe;

	end_recv(b, 6, HALF, 3000);
	memset(a->side->data, 0x5a, 2000);
	end_send(a, &w, 0, 2000);
	(void)end_expect(a, 5, VNET_WC_SUCCESS);
	cqe = end_expect(b, 6, VNET_WC_SUCCESS);
	CHECK(cqe.byte_len == 2000);
	CHECK(!(cqe.flags & (VNET_WC_GRH | VNET_WC_LID)) && cqe.src_qp == a->qpn);
	CHECK(b->side->data[HALF] == 0x5a && b->side->data[HALF + 1999] == 0x5a);
}

static void test_connected(u8 type)
{
	struct end *a, *b, *c;

	make_world();
	pair_make(&a, &b, type);
	send_one(a, b);
	send_one(b, a);

	a = end_make(&side[0], type, false);
	c = end_make(&side[0], type, false);
	end_connect(a, c);
	send_one(a, c);
	world_free();
}

/* A request to a LID that no port has fails with RETRY_EXC. */
static void test_nobody(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 7);
	struct end *a, *b;

	make_world();
	a = end_make(&side[0], NIC_QPT_RC, false);
	b = end_make(&side[1], NIC_QPT_RC, false);
	side[1].nic.hdr->lid = NOBODY;
	end_connect(a, b);
	end_send(a, &w, 0, 8);
	(void)end_expect(a, 7, VNET_WC_RETRY_EXC_ERR);
	world_free();
}

static enum nic_result connect_to(struct end *e, u16 dlid, bool global)
{
	struct nic_qp_attr attr = { .port = 1,
				    .access = 0xf,
				    .path_mtu = 5,
				    .dest_qpn = 9,
				    .dlid = dlid,
				    .is_global = global };
	const u32 to_init = 1 | 8 | 16 | 32, to_rtr = 1 | 128 | 256 | 1 << 20 | 1 << 12;
	struct nic *nic = &e->side->nic;

	attr.dgid[0] = 0xfe;
	CHECK(nic_qp_modify(nic, e->qpn, &attr, 1, 0, NIC_QPS_RESET) == NIC_OK);
	CHECK(nic_qp_modify(nic, e->qpn, &attr, to_init, 0, NIC_QPS_INIT) == NIC_OK);
	return nic_qp_modify(nic, e->qpn, &attr, to_rtr, 0, NIC_QPS_RTR);
}

static void test_addresses(void)
{
	struct end *e;

	make_world();
	e = end_make(&side[0], NIC_QPT_UC, false);
	CHECK(connect_to(e, LID(1), false) == NIC_OK);
	CHECK(connect_to(e, LID(1), true) == NIC_OK);
	CHECK(connect_to(e, NOBODY, false) == NIC_OK);
	CHECK(connect_to(e, 0, false) == NIC_EINVAL);
	CHECK(connect_to(e, 0, true) == NIC_EINVAL);
	CHECK(connect_to(e, GROUP, false) == NIC_EINVAL);
	CHECK(connect_to(e, 0xffff, false) == NIC_EINVAL);
	/* On an Ethernet port a LID is not an address. */
	side[0].nic.hdr->lid = 0;
	CHECK(connect_to(e, LID(1), false) == NIC_EINVAL);
	CHECK(connect_to(e, 0, true) == NIC_OK);
	world_free();
}

/* ----------------------------------------------------------------- datagrams */

static struct vnet_send_wqe datagram(const struct end *to, u16 dlid)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);

	w.ud.remote_qpn = to->qpn;
	w.ud.remote_qkey = QKEY;
	w.ud.sl = 5;
	w.ud.dlid = dlid;
	w.ud.no_grh = 1;
	return w;
}

static void send_datagram(struct end *a, const struct vnet_send_wqe *w)
{
	end_send(a, w, 0, 100);
	(void)end_expect(a, w->wr_id, VNET_WC_SUCCESS);
}

/* Checks the completion and the GRH of a datagram. */
static void take_datagram(struct end *a, struct end *b, bool grh)
{
	u8 *header = b->side->data + HALF;
	struct vnet_cqe cqe = end_wait(b);

	CHECK(cqe.status == VNET_WC_SUCCESS && cqe.flags & VNET_WC_LID);
	CHECK(cqe.byte_len == (140 | (u32)a->side->nic.hdr->lid << VNET_CQE_LID_SHIFT));
	CHECK(cqe.src_qp == (a->qpn | 5u << VNET_CQE_SL_SHIFT));
	CHECK(!(cqe.flags & VNET_WC_GRH) == !grh);
	CHECK(header[6] == (grh ? 0x1b : 0));
	CHECK(!memcmp(header + 8, a->side->nic.hdr->gid[0], 16) == grh);
}

static void exchange(struct end *a, struct end *b)
{
	struct vnet_send_wqe w = datagram(b, (u16)b->side->nic.hdr->lid);

	end_recv(b, 1, HALF, 200);
	send_datagram(a, &w);
	take_datagram(a, b, false);
	/* Even with a GRH, the LID selects the destination. */
	w.ud.no_grh = 0;
	w.ud.dgid[0] = 0xfe;
	w.ud.dgid[15] = 99;
	end_recv(b, 2, HALF, 200);
	send_datagram(a, &w);
	take_datagram(a, b, true);
}

static void test_datagrams(void)
{
	static const u16 lost[] = { 0, NOBODY, GROUP, 0xffff };
	struct end *a, *b, *c;
	struct vnet_cqe cqe;

	make_world();
	a = end_make(&side[0], NIC_QPT_UD, false);
	b = end_make(&side[1], NIC_QPT_UD, false);
	c = end_make(&side[0], NIC_QPT_UD, false);
	end_connect(a, b);
	for (u32 i = NIC_QPS_INIT; i <= NIC_QPS_RTS; i++)
		end_state(c, (u8)i, a);
	exchange(a, b);
	exchange(b, a);
	exchange(a, c);

	end_recv(b, 4, HALF, 200);
	for (u32 i = 0; i < 4; i++) {
		struct vnet_send_wqe w = datagram(b, lost[i]);

		send_datagram(a, &w);
	}
	pass(10000000);
	CHECK(!end_poll(b, &cqe));
	CHECK(side[0].nic.hdr->counters.drop_address == 4);
	world_free();
}

/* Frames with invalid datagram fields are dropped. */
static void test_frames(void)
{
	static u64 frame[VNET_WIRE_MAX_FRAME / 8];
	struct vnet_frame *head = (struct vnet_frame *)frame;
	struct vnet_frame_op *op = (struct vnet_frame_op *)(head + 1);
	const struct nic_proof proof = { .local = true };
	struct nic_arrived_frame out;
	struct end *a, *b;
	u32 length;

	make_world();
	pair_make(&a, &b, NIC_QPT_UD);
	exchange(a, b);
	length = last_frame(1, frame);
	CHECK(head->kind == VNET_FRAME_DATA && !head->nacks && nic_le32(op->sl) == 5);
	CHECK(nic_frame_parse(&side[1].nic, frame, length, &proof, &out));
	op->flags |= VNET_OP_NO_GRH | VNET_OP_GRH_IPV4;
	head->crc = 0;
	head->crc = nic_to_le32(plat_crc32c(0, frame, length));
	CHECK(!nic_frame_parse(&side[1].nic, frame, length, &proof, &out));
	op->flags &= (u8)~VNET_OP_GRH_IPV4;
	op->sl = nic_to_le32(16);
	head->crc = 0;
	head->crc = nic_to_le32(plat_crc32c(0, frame, length));
	CHECK(!nic_frame_parse(&side[1].nic, frame, length, &proof, &out));
	CHECK(side[1].nic.hdr->counters.bad_field == 2);
	world_free();
}

int main(void)
{
	test_map();
	test_connected(NIC_QPT_RC);
	test_connected(NIC_QPT_UC);
	test_nobody();
	test_addresses();
	test_datagrams();
	test_frames();
	return 0;
}
