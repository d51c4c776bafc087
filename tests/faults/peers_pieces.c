// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Gather and scatter lists with empty or invalid SGEs, and the GRH of datagrams. */
#include "peers_defects.h"

/* ------------------------------------------------ an SGE skipped, and data slid */

/* Lists of 32 bytes in total, with empty SGEs. */
static const struct piece gathers[][PEER_PIECES] = {
	{ { 0, 8, 0 }, { 0, 0, 0 }, { 100, 8, 0 }, { 0, 0, 0 }, { 200, 16, 0 } },
	{ { 0, 0, 0 }, { 0, 0, 0 }, { 300, 32, 0 } },
	{ { 400, 31, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 500, 1, 0 }, { 0, 0, 0 } },
	/* The lkey of an empty SGE is not checked. */
	{ { 600, 5, 0 }, { 0, 0, 77 }, { 700, 27, 0 }, { 0, 0, 1u << 31 } },
};

static unsigned int make_sges(const struct piece *pieces, struct ibv_sge *sges)
{
	for (unsigned int i = 0; i < PEER_PIECES; i++) {
		sges[i] = side_sge(&here, pieces[i].offset, pieces[i].length);
		sges[i].lkey += pieces[i].key_offset;
	}
	return PEER_PIECES;
}

/* Copies the bytes that the list describes. */
static void collect(const struct piece *pieces, const uint8_t *bytes, uint8_t *out)
{
	for (unsigned int i = 0; i < PEER_PIECES; i++) {
		if (pieces[i].length)
			memcpy(out, bytes + pieces[i].offset, pieces[i].length);
		out += pieces[i].length;
	}
}

static void check_slide(const struct piece *from, const struct piece *to)
{
	struct ibv_sge sges[PEER_PIECES];
	uint8_t sent[32], got[32];
	struct ibv_send_wr wr =
		request(IBV_WR_SEND, sges, (int)make_sges(from, sges), 0, here.peer.rkey);

	fill(here.buffer, PEER_BYTES, 1);
	peer_set(0, PEER_BYTES, UNTOUCHED);
	peer_receive(2, to, PEER_PIECES);
	wr.send_flags = IBV_SEND_SIGNALED;
	post_here(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	CHECK_EQ(peer_expect(2, IBV_WC_SUCCESS).byte_len, 32);
	collect(from, here.buffer, sent);
	collect(to, peer_look(0, PEER_BYTES), got);
	CHECK(!memcmp(sent, got, sizeof(sent)));
	CHECK(all_are(peer_look(800, 224), 224, UNTOUCHED));
}

static void check_slide_one_sided(const struct piece *list)
{
	struct ibv_sge sges[PEER_PIECES];
	uint8_t sent[32], got[32];
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, sges, (int)make_sges(list, sges),
					here.peer.addr, here.peer.rkey);

	fill(here.buffer, PEER_BYTES, 2);
	collect(list, here.buffer, sent);
	wr.send_flags = IBV_SEND_SIGNALED;
	post_here(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(peer_look(0, 32), sent, sizeof(sent)));
	memset(here.buffer, 0, PEER_BYTES);
	wr.opcode = IBV_WR_RDMA_READ;
	post_here(&wr);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	collect(list, here.buffer, got);
	CHECK(!memcmp(sent, got, sizeof(sent)));
}

/* An SGE with an invalid lkey. Data before it may be written, but none from it on. */
static void check_bad_piece(unsigned int which)
{
	struct piece list[] = { { 0, 8, 0 }, { 100, 8, 0 }, { 200, 8, 0 } };
	struct ibv_sge sges[3], all = side_sge(&here, 0, 24);
	struct ibv_send_wr wr = request(IBV_WR_SEND, &all, 1, 0, 0);

	list[which].key_offset = 1u << 20;
	peer_set(0, PEER_BYTES, UNTOUCHED);
	peer_receive(2, list, 3);
	post_here(&wr);
	(void)side_expect(&here, 1, IBV_WC_REM_OP_ERR);
	(void)peer_expect(2, IBV_WC_LOC_PROT_ERR);
	for (unsigned int i = which; i < 3; i++)
		CHECK(all_are(peer_look(100 * i, 8), 8, UNTOUCHED));
	peer_anew(&here);

	for (unsigned int i = 0; i < 3; i++)
		sges[i] = side_sge(&here, 100 * i, 8);
	sges[which].lkey += 1u << 20;
	memset(here.buffer, UNTOUCHED, PEER_BYTES);
	wr = request(IBV_WR_RDMA_READ, sges, 3, here.peer.addr, here.peer.rkey);
	check_fails("read to a bad piece", &wr, IBV_WC_LOC_PROT_ERR);
	for (unsigned int i = which; i < 3; i++)
		CHECK(all_are(here.buffer + 100 * i, 8, UNTOUCHED));
	wr.opcode = IBV_WR_RDMA_WRITE;
	peer_set(0, PEER_BYTES, UNTOUCHED);
	check_fails("write from a bad piece", &wr, IBV_WC_LOC_PROT_ERR);
	CHECK(all_are(peer_look(8 * which, 24), 24, UNTOUCHED));
}

void slid_data(void)
{
	peer_open(&here, &(struct wish){ .sge = PEER_PIECES });
	for (size_t from = 0; from < COUNT(gathers); from++) {
		for (size_t to = 0; to < COUNT(gathers); to++)
			check_slide(gathers[from], gathers[to]);
		check_slide_one_sided(gathers[from]);
	}
	for (unsigned int which = 0; which < 3; which++)
		check_bad_piece(which);
	peer_close(&here);
}

/* ----------------------------------------------- memory of others in the GRH */

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/* One's complement sum of an IPv4 header with its checksum. */
static uint32_t ones_sum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	return (sum & 0xffff) + (sum >> 16);
}

/* Size of UDP, BTH, DETH and ICRC. */
#define ROCE_OVERHEAD 32

static void check_ipv4(const uint8_t *grh, const union ibv_gid *gid, uint32_t length)
{
	uint32_t total = 20 + ROCE_OVERHEAD + length;
	uint8_t want[20] = {
		0x45,    0,      (uint8_t)(total >> 8), (uint8_t)total, 0, 0, 0x40, 0, 9, 17,
		grh[30], grh[31]
	};

	memcpy(want + 12, gid->raw + 12, 4);
	memcpy(want + 16, gid->raw + 12, 4);
	CHECK(all_are(grh, 20, 0));
	CHECK(!memcmp(grh + 20, want, sizeof(want)));
	CHECK_EQ(ones_sum(grh + 20), 0xffff);
}

static void check_ipv6(const uint8_t *grh, const union ibv_gid *gid, uint32_t length)
{
	uint32_t payload = ROCE_OVERHEAD + length;
	uint8_t want[40] = { 0x60, 0, 0, 0, (uint8_t)(payload >> 8), (uint8_t)payload, 17, 9 };

	memcpy(want + 8, gid->raw, 16);
	memcpy(want + 24, gid->raw, 16);
	CHECK(!memcmp(grh, want, sizeof(want)));
}

static void check_grh(uint8_t sgid_index, uint32_t length)
{
	/* In one SGE, split within the GRH, and with the data in another SGE. */
	static const struct piece lists[][3] = {
		{ { 0, 1000, 0 }, { 0, 0, 0 }, { 0, 0, 0 } },
		{ { 0, 13, 0 }, { 13, 14, 0 }, { 27, 973, 0 } },
		{ { 0, 40, 0 }, { 40, 960, 0 }, { 0, 0, 0 } },
	};
	struct ibv_ah *ah = address_handle(sgid_index);
	struct ibv_sge sge = side_sge(&here, 0, length);
	struct ibv_send_wr wr = datagram(ah, &sge);
	const uint8_t *grh;
	union ibv_gid gid;

	CHECK_EQ(ibv_query_gid(here.context, 1, sgid_index, &gid), 0);
	for (size_t i = 0; i < COUNT(lists); i++) {
		peer_set(0, PEER_BYTES, UNTOUCHED);
		peer_receive(2, lists[i], 3);
		fill(here.buffer, length, (uint32_t)i);
		post_here(&wr);
		(void)side_expect(&here, 1, IBV_WC_SUCCESS);
		CHECK_EQ(peer_expect(2, IBV_WC_SUCCESS).byte_len, 40 + length);
		grh = peer_look(0, PEER_BYTES);
		if (is_ipv4(&gid))
			check_ipv4(grh, &gid, length);
		else
			check_ipv6(grh, &gid, length);
		CHECK(is_filled(grh + 40, length, (uint32_t)i));
		CHECK(all_are(grh + 40 + length, PEER_BYTES - 40 - length, UNTOUCHED));
	}
	CHECK_EQ(ibv_destroy_ah(ah), 0);
}

void memory_in_grh(void)
{
	static const uint32_t lengths[] = { 0, 1, 39, 40, 41, 500 };
	struct ibv_port_attr port;
	union ibv_gid gid, zero = { .raw = { 0 } };

	peer_open(&here, &(struct wish){ .type = IBV_QPT_UD });
	CHECK_EQ(ibv_query_port(here.context, 1, &port), 0);
	for (int index = 0; index < port.gid_tbl_len && index < 255; index++) {
		if (ibv_query_gid(here.context, 1, index, &gid) ||
		    !memcmp(&gid, &zero, sizeof(gid)))
			continue;
		for (size_t i = 0; i < COUNT(lengths); i++)
			check_grh((uint8_t)index, lengths[i]);
	}
	peer_close(&here);
}
